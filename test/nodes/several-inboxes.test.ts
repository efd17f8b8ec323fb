import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { QuarantineRow } from '../../nodes/rvm-sidebar/overview';
import { alarmMessage } from '../support/webhook/alarm-message';
import { act, type Reply } from '../support/node-red/inboxes-open';
import { fileInbox, PATH, webhookFlow, PHRASE, webhookIn } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, probes, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import {
  answered,
  factsOf,
  overviewOf,
  raise,
  settleById,
  codeOf,
  node,
  raise as raiseIn,
  shows,
  type Message,
} from '../support/node-red/alarms-through';
import type { EventRow } from '../../lib/inbox/store/stored-message';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';

const inbox = (folder: string): FlowNode => fileInbox(folder, { id: `inbox-${folder}` });

/** As a button of the sidebar does. */
async function deal(nodeRed: NodeRed, deliveryId: string, action: 'retry' | 'discard'): Promise<void> {
  assert.equal((await act(nodeRed, 'dead-letters', { deliveryId, action })).status, 200);
}

describe('a Node-RED with two inboxes, the first of which is broken', () => {
  /** One attempt, so that what nobody settles is a dead letter after a second. */
  const webhook = { inbox: 'inbox-whole', handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  const nodeRed = NodeRed.ofGroup();
  before(async () => {
    // A file that is damaged would be set aside.
    fs.mkdirSync(path.join(nodeRed.userDir, 'broken', 'inbox.sqlite'), { recursive: true });
    const further = [settleById(), ...entrance('order', 'settle'), probe('settled')];
    await nodeRed.deploy(webhookFlow({ webhook }, inbox('broken'), inbox('whole'), ...further));
    await nodeRed.logged(/broken cannot store/);
  });

  const isDead = async (deliveryId: string): Promise<boolean> =>
    (await overviewOf(nodeRed)).dead.some((row) => row.deliveryId === deliveryId);

  it('settles an event of the other', async () => {
    const id = factsOf(await raise(nodeRed)).deliveryId;
    await inject(nodeRed, 'order', { id });
    await nodeRed.message('settled', (msg) => msg.id === id);
  });

  it('delivers a dead letter of the other again, or discards it, from the sidebar', async () => {
    const { deliveryId } = factsOf(await raise(nodeRed));
    await eventually(() => isDead(deliveryId), 'the dead letter');
    await nodeRed.next('alarms', () => deal(nodeRed, deliveryId, 'retry'));
    await eventually(() => isDead(deliveryId), 'the dead letter once more');
    await deal(nodeRed, deliveryId, 'discard');
    assert.equal(await isDead(deliveryId), false);
  });
});

describe('a webhook in that was given another inbox', () => {
  const nodeRed = NodeRed.ofGroup();
  const quarantine = async (): Promise<QuarantineRow[]> => (await overviewOf(nodeRed)).quarantine;
  const row = async (folder: string): Promise<QuarantineRow> =>
    (await quarantine()).find((each) => each.inboxTitle === folder) ?? assert.fail(`nothing of ${folder}`);

  async function forge(folder: string, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1)
      assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
    const held = async () => (await quarantine()).find((each) => each.inboxTitle === folder)?.count;
    await eventually(async () => (await held()) === count, 'what nothing proved');
  }

  const ask = (action: string, { inbox, endpointId, lastId }: QuarantineRow): Promise<Reply> =>
    act(nodeRed, 'quarantine', { action, inbox, endpointId, lastId });

  before(async () => {
    const inboxes = [inbox('former'), inbox('present')];
    await nodeRed.deploy(webhookFlow({ webhook: { inbox: 'inbox-former' } }, ...inboxes));
    await forge('former', 1);
    await nodeRed.deploy(webhookFlow({ webhook: { inbox: 'inbox-present' } }, ...inboxes));
    await forge('present', 3);
  });

  it('has a sum of what nothing proved in each', async () => {
    const rows = [await row('former'), await row('present')];
    assert.deepEqual(
      rows.map(({ endpointId, path: at, count }) => [endpointId, at, count]),
      [1, 3].map((count) => [`:${PATH}`, PATH, count]),
    );
    assert.notEqual(rows[0]?.inbox, rows[1]?.inbox);
  });

  it('discards nothing where the last message seen is none', async () => {
    const { endpointId, inbox } = await row('present');
    for (const lastId of [1e300, 1.5, '1', null]) {
      const { status } = await act(nodeRed, 'quarantine', { action: 'discard', inbox, endpointId, lastId });
      assert.equal(status, 422, String(lastId));
    }
    assert.equal((await row('present')).count, 3);
  });

  it('checks what is in its own inbox again, and says so of the former one', async () => {
    const [former, present] = [await row('former'), await row('present')];
    assert.deepEqual([former.canVerify, present.canVerify], [false, true]);
    assert.deepEqual(await ask('verify', present), { status: 200, body: { accepted: 0 } });
    const { status, body } = await ask('verify', former);
    assert.deepEqual([status, body.code], [422, 'CONFIG_MISSING']);
  });

  it('loses nothing in one where what was seen of the other is discarded', async () => {
    assert.equal((await ask('discard', await row('present'))).status, 200);
    assert.deepEqual(
      (await quarantine()).map(({ inboxTitle, count }) => [inboxTitle, count]),
      [['former', 1]],
    );
    assert.equal((await ask('discard', await row('former'))).status, 200);
    assert.deepEqual(await quarantine(), []);
  });

  it('discards nothing in an inbox that is not open any more', async () => {
    await forge('present', 1);
    const asked = { ...(await row('present')), inbox: 'one before a restart' };
    assert.equal((await ask('discard', asked)).status, 422);
    assert.equal((await row('present')).count, 1);
  });
});

const BRIEF = '/remote-monitoring/brief';

/** What waits for a settlement; behind the other path an event is a dead letter after a second. */
function flow(): FlowNode[] {
  const brief = { id: 'brief', path: BRIEF, redeliverAfter: 1, maxAttempts: 1 };
  return webhookFlow(
    { webhook: { handledWhen: 'settled', redeliverAfter: 60 } },
    webhookIn({ ...brief, handledWhen: 'settled' }),
    ...entrance('order', 'settle'),
    settleById({ action: 'order', actionType: 'msg' }),
    ...entrance('ask', 'list', 'list-open'),
    node('rvm-list-events', { id: 'list', state: 'all', wires: [['listed'], ['unlisted']] }),
    node('rvm-list-events', { id: 'list-open', state: 'open', wires: [['open'], ['none']] }),
    ...probes('settled', 'listed', 'unlisted', 'open', 'none'),
  );
}

for (const version of NODE_RED_VERSIONS)
  describe(`the lists of a Node-RED ${version} whose inbox is broken`, () => {
    const nodeRed = NodeRed.ofGroup({ version });
    let obstacle: string;
    let asked = 0;
    before(async () => {
      obstacle = path.join(nodeRed.userDir, 'remote-monitoring', 'inbox.sqlite');
      fs.mkdirSync(obstacle, { recursive: true });
      await nodeRed.deploy(flow());
      await nodeRed.logged(/cannot store/);
    });

    async function raise(cameraName: string, at = PATH): Promise<string> {
      const { warnings, deliveryId } = factsOf(await raiseIn(nodeRed, { cameraName }, PHRASE, at));
      assert.ok(warnings.includes('not-in-inbox'));
      return deliveryId;
    }

    async function order(action: string, id: string): Promise<void> {
      await inject(nodeRed, 'order', { order: action, id });
      await nodeRed.message('settled', (msg) => msg.id === id);
    }

    /** What both lists give, by the probe that it comes to. */
    async function ask(...probes: string[]): Promise<Message[]> {
      asked += 1;
      const tag = asked;
      await inject(nodeRed, 'ask', { tag });
      return Promise.all(probes.map((each) => nodeRed.message(each, (msg) => msg.tag === tag)));
    }

    const overview = () => overviewOf(nodeRed);
    const shown = (rows: readonly EventRow[]) => rows.map(({ camera, state }) => [camera, state]);
    const isDead = async (deliveryId: string) =>
      (await overview()).dead.some((row) => row.deliveryId === deliveryId);

    it('fail where there is nothing to list, and say so in the sidebar', async () => {
      for (const failed of await ask('unlisted', 'none')) assert.equal(codeOf(failed), 'STORE_FAILED');
      const { events, isPartial, fault } = await overview();
      assert.deepEqual([events, isPartial], [[], true]);
      assert.match(String(fault), /cannot be opened or made/);
    });

    it('have the alarms that came, with what became of them, and say that they are not all', async () => {
      const done = await raise('Settled');
      const rejected = await raise('Rejected');
      const lost = await raise('Lost', BRIEF);
      await raise('Open');
      await order('done', done);
      await order('reject', rejected);
      await eventually(() => isDead(lost), 'the dead letter');
      const expected = [
        ['Open', 'leased'],
        ['Lost', 'dead'],
        ['Rejected', 'dead'],
        ['Settled', 'delivered'],
      ];
      const [listed, open] = await ask('listed', 'open');
      assert.deepEqual(shown(listed?.payload as EventRow[]), expected);
      assert.match(String(listed?.incomplete), /^The inbox cannot store: .*cannot be opened or made/);
      await shows(nodeRed, 'status.storeFailed', 'list');
      assert.deepEqual(shown(open?.payload as EventRow[]), expected.slice(0, 1));
      const { events, dead, isPartial } = await overview();
      assert.deepEqual([shown(events), shown(dead), isPartial], [expected, expected.slice(1, 3), true]);
      assert.partialDeepStrictEqual(events[1], { camera: 'Lost', canRetry: true, proof: 'hmac' });
    });

    it('have dead letters that can be delivered again, and discarded', async () => {
      const [lost, rejected] = (await overview()).dead.map(({ deliveryId }) => deliveryId);
      assert.ok(lost !== undefined && rejected !== undefined);
      await nodeRed.next('alarms', () => deal(nodeRed, lost, 'retry'));
      await eventually(() => isDead(lost), 'the dead letter once more');
      for (const deliveryId of [lost, rejected]) await deal(nodeRed, deliveryId, 'discard');
      assert.deepEqual((await overview()).dead, []);
      assert.equal((await overview()).events.length, 4);
    });

    it('are the same when the inbox works again, and whole', async () => {
      const before = await overview();
      fs.rmdirSync(obstacle);
      await eventually(async () => (await overview()).fault === null, 'an inbox that works');
      const { events, dead, isPartial } = await overview();
      assert.deepEqual([events, dead, isPartial], [before.events, before.dead, false]);
      const [listed] = await ask('listed');
      assert.deepEqual(
        [shown(listed?.payload as EventRow[]), listed?.incomplete],
        [shown(events), undefined],
      );
      await nodeRed.until(() => nodeRed.statuses('list').at(-1) === '', 'no status');
    });
  });
