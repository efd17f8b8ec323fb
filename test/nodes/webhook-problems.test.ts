import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {
  answered,
  arrived,
  factsOf,
  node,
  overviewOf,
  problemOf,
  shows as showsOf,
} from '../support/node-red/alarms-through';
import { act } from '../support/node-red/inboxes-open';
import { PATH, webhookFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { slowIt } from '../support/suite/lanes';

const UNWIRED = { wires: [['alarms'], ['health'], []] };
const shownBy = (nodeRed: NodeRed): string => nodeRed.statuses('webhook').at(-1) ?? '';

/** As somebody does who looks at the sidebar. */
async function see(nodeRed: NodeRed): Promise<void> {
  const { lastProblem } = await overviewOf(nodeRed);
  assert.equal((await act(nodeRed, 'problems-seen', { lastProblem })).status, 200);
}

describe('a problem of webhook in', () => {
  let nodeRed: NodeRed;
  let url: string;
  before(async () => {
    nodeRed = await NodeRed.start();
    url = nodeRed.url + PATH;
  });
  after(() => nodeRed.stopAndRemove());

  const shown = (): string => shownBy(nodeRed);
  const shows = (text: string | RegExp): Promise<void> => showsOf(nodeRed, text);
  const forge = async (count = 1): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
  };
  const good = async (): Promise<void> => assert.equal(await answered(nodeRed), 200);

  for (const [how, webhook] of [
    ['wired', {}],
    ['not wired', UNWIRED],
  ] as const)
    it(`shows with output 3 ${how} that messages are refused until one is proven, and once in the log what to do`, async () => {
      await nodeRed.deploy([]);
      await nodeRed.deploy(webhookFlow({ webhook }));
      const from = nodeRed.log.length;
      await forge(40);
      await shows('status.notProven');
      await nodeRed.logged(/enter the Shared Secret Phrase .*unauthentic bad-signature/, from);
      assert.equal(nodeRed.log.slice(from).match(/bad-signature/g)?.length, 1);
      await good();
      await shows(/^last \d/);
    });

  it('shows refused messages for each reason that a wrong phrase or scheme has', async () => {
    for (const [scheme, message] of [
      ['http', alarmMessage()],
      ['https', alarmMessage({}, { authenticationToken: 'another phrase' })],
    ] as const) {
      await nodeRed.deploy([]);
      await nodeRed.deploy(webhookFlow({ station: { scheme } }));
      assert.equal((await post(url, message)).status, 401);
      await shows('status.notProven');
    }
  });

  it('says in a sentence what happened and what to do', async () => {
    const { text, station } = problemOf(
      await nodeRed.message('problems', (msg) => problemOf(msg).reason === 'bad-signature'),
    );
    assert.match(text, /^A message was refused because its signature does not fit: enter .*\.$/);
    assert.equal(station, 'north');
  });

  it('stays red over a deploy of its node, and over one of all', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: UNWIRED }));
    await good();
    await shows(/^last \d/);
    assert.equal(await answered(nodeRed, 'not JSON'), 200);
    await shows('1 problem');
    await nodeRed.deploy(webhookFlow({ webhook: { ...UNWIRED, name: 'changed' } }), 'nodes');
    const from = nodeRed.seen.length;
    await nodeRed.deploy(webhookFlow({ webhook: { ...UNWIRED, name: 'changed' } }));
    await nodeRed.until(() => nodeRed.statuses('webhook', from).length > 0, 'a status of the new node');
    assert.equal(shown(), '1 problem');
  });

  it('stays red while it is only asked for, and not once somebody has seen it', async () => {
    const before = await overviewOf(nodeRed);
    assert.equal(before.hasUnseen, true);
    assert.deepEqual(
      before.problems.map(({ title, text, count }) => [title, text, count]),
      [['changed', 'shared.problem.not-json', 1]],
    );
    await overviewOf(nodeRed);
    assert.equal(shown(), '1 problem');
    await see(nodeRed);
    await nodeRed.until(() => shown() !== '1 problem', 'the status of what was seen');
    const { hasUnseen, problems } = await overviewOf(nodeRed);
    assert.deepEqual([hasUnseen, problems.length], [false, 1]);
  });

  it('stays red where it came after what somebody has seen', async () => {
    const { lastProblem } = await overviewOf(nodeRed);
    await forge();
    await act(nodeRed, 'problems-seen', { lastProblem });
    await shows('status.notProven');
    assert.equal((await overviewOf(nodeRed)).hasUnseen, true);
    await see(nodeRed);
    await nodeRed.until(() => shown() !== 'status.notProven', 'the status of what was seen');
  });

  it('is listed as not proven by the name of the station, with the reason', async () => {
    await nodeRed.deploy([]);
    await nodeRed.deploy(webhookFlow());
    await forge();
    const isKept = async (): Promise<boolean> =>
      (await overviewOf(nodeRed)).quarantine.some(({ lastReason }) => lastReason === 'bad-signature');
    await eventually(isKept, 'the reason of what was kept');
    const { quarantine, refused } = await overviewOf(nodeRed);
    assert.deepEqual(
      quarantine.map(({ title, path }) => [title, path]),
      [['North', PATH]],
    );
    assert.deepEqual(refused, []);
  });

  it('is listed as not proven also where the message was none that could be kept', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { id: 'other', name: 'Gate' } }));
    assert.equal((await post(url, alarmMessage())).status, 401);
    const { refused } = await overviewOf(nodeRed);
    assert.deepEqual(
      refused.map(({ title, text, count, lastAddress }) => [title, text, count, lastAddress]),
      [['Gate', 'shared.problem.no-signature', 1, '127.0.0.1']],
    );
  });

  it('does not hide events that wait, nor refused messages', async () => {
    const webhook = { id: 'full', ...UNWIRED, handledWhen: 'settled', maxInFlight: 1 };
    await nodeRed.deploy(webhookFlow({ webhook }, node('rvm-settle')));
    await good();
    await good();
    await showsOf(nodeRed, '1 problem, backlog 1', 'full');
    await forge();
    await showsOf(nodeRed, 'not proven: check the phrase, 1 problem, backlog 1', 'full');
  });
});

describe('a problem of webhook in, over a restart of Node-RED,', () => {
  let nodeRed: NodeRed;
  const kept = (): string => path.join(nodeRed.userDir, 'remote-monitoring', 'problems');
  const holds = (part: string) => (): boolean =>
    fs.existsSync(kept()) && fs.readFileSync(kept(), 'utf8').includes(part);

  async function restart(signal?: NodeJS.Signals): Promise<void> {
    const { userDir, port } = nodeRed;
    await nodeRed.stop(signal);
    nodeRed = await NodeRed.start({ userDir, port });
    await nodeRed.until(() => nodeRed.statuses('webhook').length > 0, 'a status');
  }

  before(async () => {
    nodeRed = await NodeRed.start();
    await nodeRed.deploy(webhookFlow({ webhook: UNWIRED }));
    assert.equal(await answered(nodeRed, 'not JSON'), 200);
    assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
  });
  after(() => nodeRed.stopAndRemove());

  it('stays red that nobody has seen', async () => {
    await restart();
    await showsOf(nodeRed, 'not proven: check the phrase, 1 problem');
    const { problems, hasUnseen } = await overviewOf(nodeRed);
    assert.deepEqual(
      problems.map(({ text, count }) => [text, count]),
      [['shared.problem.not-json', 1]],
    );
    assert.equal(hasUnseen, true);
  });

  it('is kept for nobody else to read, and without a secret', () => {
    if (process.platform !== 'win32') assert.equal(fs.statSync(kept()).mode & 0o777, 0o600);
    assert.doesNotMatch(fs.readFileSync(kept(), 'utf8'), /phrase|battery/);
  });

  slowIt('stays red also where Node-RED was killed', async () => {
    await restart('SIGKILL');
    await showsOf(nodeRed, 'not proven: check the phrase, 1 problem');
  });

  it('is not red once somebody has seen it', async () => {
    await see(nodeRed);
    await eventually(holds('"unseen":0'), 'what was seen, on the disk');
    await restart();
    const { hasUnseen, problems } = await overviewOf(nodeRed);
    assert.deepEqual([hasUnseen, problems.length], [false, 1]);
    assert.doesNotMatch(shownBy(nodeRed), /problem|proven/);
  });

  it('is forgotten with its node', async () => {
    await nodeRed.deploy([]);
    await eventually(() => !holds('unseen')(), 'the end of what was kept');
  });
});

describe('a message that was sent ten days ago', () => {
  const HOUR = 60 * 60 * 1000;
  const sentAgo = (hours: number): Record<string, unknown> =>
    alarmMessage({}, { transmitTime: new Date(Date.now() - hours * HOUR).toISOString() });

  slowIt(
    'raises where nothing is proven of the time, and is told as stale from then on, over a restart',
    async () => {
      let nodeRed = await NodeRed.start();
      try {
        const taken = async (message: Record<string, unknown>): Promise<void> =>
          assert.equal(await answered(nodeRed, message), 200);
        const warningsOf = async (message: Record<string, unknown>): Promise<unknown> =>
          factsOf(await arrived(nodeRed, message)).warnings;
        await nodeRed.deploy(webhookFlow());
        const old = sentAgo(240);
        await taken(old);
        assert.deepEqual(await warningsOf(old), ['clock-unconfirmed']);
        for (const fresh of [sentAgo(0), sentAgo(0)]) {
          await taken(fresh);
          assert.deepEqual(await warningsOf(fresh), []);
        }
        await nodeRed.stop();
        const { userDir, port } = nodeRed;
        nodeRed = await NodeRed.start({ userDir, port });
        // What has left once is a repeat, whenever it was sent.
        await taken(old);
        await taken(sentAgo(240));
        const stale = await nodeRed.message('problems', ({ topic }) => topic === 'stale');
        assert.equal(problemOf(stale).reason, 'too-old');
        const fresh = sentAgo(0);
        await taken(fresh);
        assert.deepEqual(await warningsOf(fresh), []);
        // What was sent a moment before the end may come again.
        const alarms = nodeRed.at('alarms').map(factsOf);
        assert.ok(alarms.every((each) => each.attempt > 1 || each.messageId === fresh['messageId']));
        assert.equal(nodeRed.at('problems').filter(({ topic }) => topic === 'stale').length, 1);
      } finally {
        await nodeRed.stopAndRemove();
      }
    },
  );
});
