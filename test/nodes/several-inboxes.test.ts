import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { QuarantineRow } from '../../nodes/rvm-sidebar/overview';
import { alarmMessage } from '../support/webhook/alarm-message';
import { act, type Reply } from '../support/node-red/inboxes-open';
import { PATH, webhookFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { answered, factsOf, overviewOf, raise, settleById } from '../support/node-red/alarms-through';

function inbox(folder: string): FlowNode {
  return { id: `inbox-${folder}`, type: 'rvm-inbox', name: '', folder };
}

describe('a Node-RED with two inboxes, the first of which is broken', () => {
  /** One attempt, so that what nobody settles is a dead letter after a second. */
  const webhook = { inbox: 'inbox-whole', handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  let nodeRed: NodeRed;
  before(async () => {
    nodeRed = await NodeRed.start();
    // A file that is damaged would be set aside.
    fs.mkdirSync(path.join(nodeRed.userDir, 'broken', 'inbox.sqlite'), { recursive: true });
    const further = [settleById(), ...entrance('order', 'settle'), probe('settled')];
    await nodeRed.deploy(webhookFlow({ webhook }, inbox('broken'), inbox('whole'), ...further));
    await nodeRed.logged(/broken cannot store/);
  });
  after(() => nodeRed.stopAndRemove());

  async function isDead(deliveryId: string): Promise<boolean> {
    return (await overviewOf(nodeRed)).dead.some((row) => row.deliveryId === deliveryId);
  }

  it('settles an event of the other', async () => {
    const id = factsOf(await raise(nodeRed)).deliveryId;
    await inject(nodeRed, 'order', { id });
    await nodeRed.message('settled', (msg) => msg.id === id);
  });

  it('delivers a dead letter of the other again, or discards it, from the sidebar', async () => {
    const { deliveryId } = factsOf(await raise(nodeRed));
    await eventually(() => isDead(deliveryId), 'the dead letter');
    const from = nodeRed.at('alarms').length;
    assert.equal((await act(nodeRed, 'dead-letters', { deliveryId, action: 'retry' })).status, 200);
    await nodeRed.until(() => nodeRed.at('alarms').length > from, 'the event once more');
    await eventually(() => isDead(deliveryId), 'the dead letter once more');
    assert.equal((await act(nodeRed, 'dead-letters', { deliveryId, action: 'discard' })).status, 200);
    assert.equal(await isDead(deliveryId), false);
  });
});

describe('a webhook in that was given another inbox', () => {
  let nodeRed: NodeRed;

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
    nodeRed = await NodeRed.start();
    const inboxes = [inbox('former'), inbox('present')];
    await nodeRed.deploy(webhookFlow({ webhook: { inbox: 'inbox-former' } }, ...inboxes));
    await forge('former', 1);
    await nodeRed.deploy(webhookFlow({ webhook: { inbox: 'inbox-present' } }, ...inboxes));
    await forge('present', 3);
  });
  after(() => nodeRed.stopAndRemove());

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
