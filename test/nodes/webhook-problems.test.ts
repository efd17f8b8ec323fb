import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Problem } from '../../lib/webhook/problem';
import type { Overview } from '../../nodes/rvm-sidebar/overview';
import { act, look } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NodeRed, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { slowIt } from '../support/suite/lanes';

const UNWIRED = { wires: [['alarms'], ['health'], []] };

describe('a problem of webhook in', () => {
  let nodeRed: NodeRed;
  let url: string;

  before(async () => {
    nodeRed = await NodeRed.start();
    url = nodeRed.url + PATH;
  });
  after(() => nodeRed.stopAndRemove());

  const shown = (): string => nodeRed.statuses('webhook').at(-1) ?? '';
  const shows = (text: string | RegExp): Promise<void> =>
    nodeRed.until(() => (typeof text === 'string' ? shown() === text : text.test(shown())), `${text}`);
  const overview = async (): Promise<Overview> =>
    (await look(nodeRed, 'overview')).body as unknown as Overview;
  async function see(): Promise<void> {
    const { lastProblem } = await overview();
    assert.equal((await act(nodeRed, 'problems-seen', { lastProblem })).status, 200);
  }
  const forge = async (count = 1): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      assert.equal((await post(url, alarmMessage(), 'another phrase')).status, 401);
  };
  const good = async (): Promise<void> => {
    assert.equal((await post(url, alarmMessage(), PHRASE)).status, 200);
  };

  for (const [how, webhook] of [
    ['wired', {}],
    ['not wired', UNWIRED],
  ] as const) {
    it(`shows with output 3 ${how} that messages are refused, and once in the log what to do`, async () => {
      await nodeRed.deploy([]);
      await nodeRed.deploy(webhookFlow({ webhook }));
      const from = nodeRed.log.length;
      await forge(40);
      await shows('status.notProven');
      await nodeRed.logged(/enter the Shared Secret Phrase .*unauthentic bad-signature/, from);
      assert.equal(nodeRed.log.slice(from).match(/bad-signature/g)?.length, 1);
    });

    it(`shows with output 3 ${how} no longer that messages are refused once one is proven`, async () => {
      await good();
      await shows(/^last \d/);
    });
  }

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
    const { payload } = await nodeRed.message(
      'problems',
      ({ payload: problem }) => (problem as Problem).reason === 'bad-signature',
    );
    const { text, reason, station } = payload as Problem & { text: string };
    assert.match(text, /^A message was refused because its signature does not fit: enter .*\.$/);
    assert.equal(reason, 'bad-signature');
    assert.equal(station, 'north');
  });

  it('stays red over a deploy of its node, and over one of all', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: UNWIRED }));
    await good();
    await shows(/^last \d/);
    assert.equal((await post(url, 'not JSON', PHRASE)).status, 200);
    await shows('1 problem');
    await nodeRed.deploy(webhookFlow({ webhook: { ...UNWIRED, name: 'changed' } }), 'nodes');
    const from = nodeRed.seen.length;
    await nodeRed.deploy(webhookFlow({ webhook: { ...UNWIRED, name: 'changed' } }));
    await nodeRed.until(() => nodeRed.statuses('webhook', from).length > 0, 'a status of the new node');
    assert.equal(shown(), '1 problem');
  });

  it('stays red while it is only asked for, and not once somebody has seen it', async () => {
    const before = await overview();
    assert.equal(before.hasUnseen, true);
    assert.deepEqual(
      before.problems.map(({ title, text, count }) => [title, text, count]),
      [['changed', 'shared.problem.not-json', 1]],
    );
    await overview();
    assert.equal(shown(), '1 problem');
    await see();
    await nodeRed.until(() => shown() !== '1 problem', 'the status of what was seen');
    const { hasUnseen, problems } = await overview();
    assert.equal(hasUnseen, false);
    assert.equal(problems.length, 1);
  });

  it('stays red where it came after what somebody has seen', async () => {
    const { lastProblem } = await overview();
    await forge();
    await act(nodeRed, 'problems-seen', { lastProblem });
    await shows('status.notProven');
    assert.equal((await overview()).hasUnseen, true);
    await see();
    await nodeRed.until(() => shown() !== 'status.notProven', 'the status of what was seen');
  });

  it('is listed as not proven by the name of the station, with the reason', async () => {
    await nodeRed.deploy([]);
    await nodeRed.deploy(webhookFlow());
    await forge();
    await eventually(
      async () => (await overview()).quarantine.some(({ lastReason }) => lastReason === 'bad-signature'),
      'the reason of what was kept',
    );
    const { quarantine, refused } = await overview();
    assert.deepEqual(
      quarantine.map(({ title, path }) => [title, path]),
      [['North', PATH]],
    );
    assert.deepEqual(refused, []);
  });

  it('is listed as not proven also where the message was none that could be kept', async () => {
    const flow = webhookFlow({ webhook: { id: 'other', name: 'Gate' } });
    await nodeRed.deploy(flow);
    assert.equal((await post(url, alarmMessage())).status, 401);
    const { refused } = await overview();
    assert.deepEqual(
      refused.map(({ title, text, count, lastAddress }) => [title, text, count, lastAddress]),
      [['Gate', 'shared.problem.no-signature', 1, '127.0.0.1']],
    );
  });

  it('does not hide events that wait, nor refused messages', async () => {
    const settle: FlowNode = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };
    const webhook = { id: 'full', ...UNWIRED, handledWhen: 'settled', maxInFlight: 1 };
    await nodeRed.deploy(webhookFlow({ webhook }, settle));
    const last = (): string => nodeRed.statuses('full').at(-1) ?? '';
    await good();
    await good();
    await nodeRed.until(() => last() === '1 problem, backlog 1', 'both');
    await forge();
    await nodeRed.until(() => last() === 'not proven: check the phrase, 1 problem, backlog 1', 'all three');
  });
});

describe('a problem of webhook in, over a restart of Node-RED,', () => {
  let nodeRed: NodeRed;
  const shown = (): string => nodeRed.statuses('webhook').at(-1) ?? '';
  const overview = async (): Promise<Overview> =>
    (await look(nodeRed, 'overview')).body as unknown as Overview;
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
    const url = nodeRed.url + PATH;
    assert.equal((await post(url, 'not JSON', PHRASE)).status, 200);
    assert.equal((await post(url, alarmMessage(), 'another phrase')).status, 401);
  });
  after(() => nodeRed.stopAndRemove());

  it('stays red that nobody has seen', async () => {
    await restart();
    await nodeRed.until(() => shown() === 'not proven: check the phrase, 1 problem', 'both');
    const { problems, hasUnseen } = await overview();
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
    await nodeRed.until(() => shown() === 'not proven: check the phrase, 1 problem', 'both');
  });

  it('is not red once somebody has seen it', async () => {
    const { lastProblem } = await overview();
    assert.equal((await act(nodeRed, 'problems-seen', { lastProblem })).status, 200);
    await eventually(holds('"unseen":0'), 'what was seen, on the disk');
    await restart();
    const { hasUnseen, problems } = await overview();
    assert.deepEqual([hasUnseen, problems.length], [false, 1]);
    assert.doesNotMatch(shown(), /problem|proven/);
  });

  it('is forgotten with its node', async () => {
    await nodeRed.deploy([]);
    await eventually(() => !holds('unseen')(), 'the end of what was kept');
  });
});

describe('a message that was sent ten days ago', () => {
  const HOUR = 60 * 60 * 1000;
  const factsIn = (webhook: unknown): Record<string, unknown> => ({
    ...(webhook as Record<string, unknown> | undefined),
  });
  const sentAgo = (hours: number): Record<string, unknown> =>
    alarmMessage({}, { transmitTime: new Date(Date.now() - hours * HOUR).toISOString() });

  slowIt(
    'raises where nothing is proven of the time, and is told as stale from then on, over a restart',
    async () => {
      let nodeRed = await NodeRed.start();
      try {
        const taken = async (message: Record<string, unknown>): Promise<void> =>
          assert.equal((await post(nodeRed.url + PATH, message, PHRASE)).status, 200);
        const warningsOf = async ({ messageId }: Record<string, unknown>): Promise<unknown> => {
          const msg = await nodeRed.message(
            'alarms',
            ({ webhook }) => factsIn(webhook)['messageId'] === messageId,
          );
          return factsIn(msg.webhook)['warnings'];
        };
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
        const { payload } = await nodeRed.message('problems', ({ topic }) => topic === 'stale');
        assert.equal((payload as Problem).reason, 'too-old');
        const fresh = sentAgo(0);
        await taken(fresh);
        assert.deepEqual(await warningsOf(fresh), []);
        // What was sent a moment before the end may come again.
        const alarms = nodeRed.at('alarms').map(({ webhook }) => factsIn(webhook));
        const odd = alarms.filter(
          (facts) => facts['attempt'] === 1 && facts['messageId'] !== fresh['messageId'],
        );
        assert.deepEqual(odd, []);
        assert.equal(nodeRed.at('problems').filter(({ topic }) => topic === 'stale').length, 1);
      } finally {
        await nodeRed.stopAndRemove();
      }
    },
  );
});
