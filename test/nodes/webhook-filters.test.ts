import assert from 'node:assert/strict';
import { Sandbox } from '../../sandbox';
import { PHRASE, webhookFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { alarmMessage } from '../support/webhook/alarm-message';
import { answered, arrived, factsOf, node, shows } from '../support/node-red/alarms-through';

for (const version of NODE_RED_VERSIONS)
  describe(`the filters of webhook in on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
      nodeRed = await NodeRed.start({ version, env: { RVM_TEST_CAMERAS: 'cam-1, cam-3' } });
    });
    after(async () => {
      await nodeRed?.stopAndRemove();
      await sandbox?.close();
    });

    const send = async (messageId: string, event: Record<string, unknown>): Promise<void> =>
      assert.equal(await answered(nodeRed, alarmMessage(event, { messageId })), 200);
    const lister = (state: string) => [
      ...entrance('ask', 'list'),
      node('rvm-list-events', { id: 'list', state, wires: [['rows'], []] }),
      probe('rows'),
    ];

    it('let through what is chosen, by a variable too, and list events shows the rest', async () => {
      const webhook = { cameras: '${RVM_TEST_CAMERAS}', classes: 'security' };
      await nodeRed.deploy(webhookFlow({ webhook }, ...lister('filtered')));
      await send('f-1', { cameraId: 'cam-2', cameraRemoteId: 'r-2' });
      await send('f-2', { cameraId: 'cam-1', eventClass: 'health' });
      await send('f-3', { cameraId: 'cam-3' });
      assert.deepEqual(factsOf(await arrived(nodeRed, { messageId: 'f-3' })).warnings, []);
      await inject(nodeRed, 'ask', {});
      const { payload } = await nodeRed.message('rows');
      assert.deepEqual(
        (payload as Record<string, string>[]).map(({ messageId, state }) => [messageId, state]),
        ['f-2', 'f-1'].map((id) => [id, 'filtered']),
      );
      assert.deepEqual([nodeRed.at('health'), nodeRed.at('problems')], [[], []]);
    });

    it('name in the status what the service does not know, and nothing where it cannot be asked', async () => {
      const { url, apiKey } = sandbox;
      const credentials = { ...sandbox.setStation('north', { scheme: 'http' }), secret: PHRASE };
      const webhook = { cameras: 'nobody', sites: 'Nowhere', rules: 'never seen' };
      const cloud = { url, credentials: { apiKey } };
      await nodeRed.deploy(webhookFlow({ cloud, station: { credentials }, webhook }));
      await shows(nodeRed, 'unknown site: Nowhere, unknown camera: nobody');
      // Out of reach: the cloud that flows of tests have by default.
      await nodeRed.deploy(webhookFlow({ webhook: { ...webhook, classes: 'securty' } }));
      await shows(nodeRed, /^unknown class: securty(?:, offline since [\d:]+)?$/);
    });

    it('name a class that nobody knows no more once an event of it has come', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { classes: 'own' } }));
      await shows(nodeRed, /unknown class: own/);
      await send('f-4', { eventClass: 'own' });
      await shows(nodeRed, /^(?!.*unknown class: own)/);
    });

    it('refuse a variable among ids that is not set, by its name', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { rules: 'a, ${RVM_TEST_NOT_SET}' } }));
      await shows(nodeRed, /RVM_TEST_NOT_SET/);
    });
  });
