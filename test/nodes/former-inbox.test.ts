import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { quarantinedRow } from '../../lib/inbox/store/quarantined-row';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { proven } from '../inbox/samples';
import { act, look } from '../support/node-red/inboxes-open';
import { writeFormerFile, type FormerRow } from '../support/inbox/former-file';
import { PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NodeRed, probe } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { alarmMessage, signature } from '../support/webhook/alarm-message';

/** Ids of the nodes, by which version 0.1 knew their events. */
const NORTH = 'webhook';
const SOUTH = 'webhook-south';

let sequence = 0;

function formerRow(endpointId: string, changes: Partial<FormerRow> = {}): FormerRow {
  sequence += 1;
  return {
    ...newMessage(proven({}, { endpointId })),
    sequence,
    deliveryId: randomUUID(),
    copy: 0,
    state: 'received',
    alarm: null,
    isEnd: false,
    ...changes,
  };
}

/** Refused at that time, for the phrase was another one. */
function quarantined(endpointId: string): ReturnType<typeof quarantinedRow> {
  const body = Buffer.from(JSON.stringify(alarmMessage()));
  const authorization = [signature(body, PHRASE)];
  return quarantinedRow({ endpointId, receivedTime: new Date().toISOString(), authorization, body });
}

const idIn = (msg: Record<string, unknown>): unknown => (msg['webhook'] as { deliveryId: string }).deliveryId;

for (const version of NODE_RED_VERSIONS) {
  describe(`the inbox of version 0.1 in Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    const waiting = [formerRow(NORTH), formerRow(NORTH), formerRow(NORTH, { state: 'leased' })];
    const ofSouth = formerRow(SOUTH);
    const dead = formerRow(NORTH, { state: 'dead', again: 'attempts' });

    const deploy = (at: string): Promise<void> => {
      const south = webhookIn({ id: SOUTH, path: '/south', wires: [['south'], [], []] });
      return nodeRed.deploy(webhookFlow({ webhook: { path: at } }, south, probe('south')));
    };

    before(async () => {
      const userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-node-red-'));
      fs.mkdirSync(path.join(userDir, 'remote-monitoring'));
      writeFormerFile(
        path.join(userDir, 'remote-monitoring', 'inbox.sqlite'),
        [...waiting, ofSouth, dead],
        [quarantined(NORTH)],
      );
      nodeRed = await NodeRed.start({ version, userDir });
      await deploy(PATH);
    });
    after(() => nodeRed.stopAndRemove());

    it('gives each event to the flow of its node, under the id that it had', async () => {
      await nodeRed.until(() => nodeRed.at('alarms').length >= waiting.length, 'the events');
      await nodeRed.until(() => nodeRed.at('south').length > 0, 'the event of the other');
      const ids = nodeRed.at('alarms').map(idIn);
      for (const { deliveryId } of waiting) assert.ok(ids.includes(deliveryId), deliveryId);
      assert.deepEqual(nodeRed.at('south').map(idIn), [ofSouth.deliveryId]);
    });

    it('gives the flow what is proven now', async () => {
      await nodeRed.until(() => nodeRed.at('alarms').length > waiting.length, 'the message');
      const { quarantine, abandoned } = (await look(nodeRed, 'overview')).body;
      assert.deepEqual([quarantine, abandoned], [[], []]);
    });

    it('delivers a dead letter again where its node is now', async () => {
      const asked = { action: 'retry', deliveryId: dead.deliveryId };
      assert.equal((await act(nodeRed, 'dead-letters', asked)).status, 200);
      const isBack = (): boolean => nodeRed.at('alarms').map(idIn).includes(dead.deliveryId);
      await nodeRed.until(isBack, 'the dead letter');
    });

    it('has its events go along where the path is changed, and gives none twice', async () => {
      const from = nodeRed.at('alarms').length;
      await deploy(`${PATH}-2`);
      assert.deepEqual((await look(nodeRed, 'overview')).body['abandoned'], []);
      assert.equal(nodeRed.at('alarms').length, from);
      assert.equal(new Set(nodeRed.at('alarms').map(idIn)).size, waiting.length + 2);
    });
  });
}
