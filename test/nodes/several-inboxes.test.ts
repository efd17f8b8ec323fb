import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Overview, QuarantineRow } from '../../nodes/rvm-sidebar/overview';
import type { WebhookFacts } from '../../lib/message/event-message';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { act, look, type Reply } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

function inbox(folder: string): FlowNode {
  return { id: `inbox-${folder}`, type: 'rvm-inbox', name: '', folder };
}

async function overview(nodeRed: NodeRed): Promise<Overview> {
  const { body } = await look(nodeRed, 'overview');
  return body as unknown as Overview;
}

describe('a Node-RED with two inboxes, the first of which is broken', () => {
  const settle = {
    id: 'settle',
    type: 'rvm-settle',
    z: 'tab',
    x: 0,
    y: 0,
    delivery: 'id',
    deliveryType: 'msg',
    wires: [['settled'], []],
  };
  /** One attempt, so that what nobody settles is a dead letter after a second. */
  const webhook = { inbox: 'inbox-whole', handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  let nodeRed: NodeRed;

  before(async () => {
    nodeRed = await NodeRed.start();
    // A file that is damaged would be set aside.
    fs.mkdirSync(path.join(nodeRed.userDir, 'broken', 'inbox.sqlite'), { recursive: true });
    const further = [
      inbox('broken'),
      inbox('whole'),
      settle,
      ...entrance('order', 'settle'),
      probe('settled'),
    ];
    await nodeRed.deploy(webhookFlow({ webhook }, ...further));
    await nodeRed.logged(/broken cannot store/);
  });
  after(() => nodeRed.stopAndRemove());

  async function raise(): Promise<string> {
    const message = alarmMessage();
    assert.equal((await post(nodeRed.url + PATH, message, PHRASE)).status, 200);
    const facts = (msg: Record<string, unknown>): Partial<WebhookFacts> => msg.webhook ?? {};
    const event = await nodeRed.message('alarms', (msg) => facts(msg).messageId === message.messageId);
    return String(facts(event).deliveryId);
  }

  async function isDead(deliveryId: string): Promise<boolean> {
    return (await overview(nodeRed)).dead.some((row) => row.deliveryId === deliveryId);
  }

  it('settles an event of the other', async () => {
    const id = await raise();
    await inject(nodeRed, 'order', { id });
    await nodeRed.message('settled', (msg) => msg.id === id);
  });

  it('delivers a dead letter of the other again, or discards it, from the sidebar', async () => {
    const deliveryId = await raise();
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

  const quarantine = async (): Promise<QuarantineRow[]> => (await overview(nodeRed)).quarantine;
  const row = async (folder: string): Promise<QuarantineRow> =>
    (await quarantine()).find((each) => each.inboxTitle === folder) ?? assert.fail(`nothing of ${folder}`);

  async function forge(folder: string, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1)
      assert.equal((await post(nodeRed.url + PATH, alarmMessage(), 'another phrase')).status, 401);
    const held = async () => (await quarantine()).find((each) => each.inboxTitle === folder)?.count;
    await eventually(async () => (await held()) === count, 'what nothing proved');
  }

  async function ask(
    action: 'verify' | 'discard',
    { inbox, endpointId, lastId }: QuarantineRow,
  ): Promise<Reply> {
    return act(nodeRed, 'quarantine', { action, inbox, endpointId, lastId });
  }

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
      [
        [`:${PATH}`, PATH, 1],
        [`:${PATH}`, PATH, 3],
      ],
    );
    assert.notEqual(rows[0]?.inbox, rows[1]?.inbox);
  });

  it('discards nothing where the last message seen is none', async () => {
    const present = await row('present');
    for (const lastId of [1e300, 1.5, '1', null]) {
      const { endpointId, inbox } = present;
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
