import assert from 'node:assert/strict';
import { Sandbox } from '../../sandbox';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { alarmMessage, post } from '../support/webhook/alarm-message';

for (const version of NODE_RED_VERSIONS) {
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

    const send = async (messageId: string, event: Record<string, unknown>): Promise<void> => {
      const response = await post(nodeRed.url + PATH, alarmMessage(event, { messageId }), PHRASE);
      assert.equal(response.status, 200);
    };
    const idOf = ({ webhook }: Record<string, unknown>): unknown =>
      (webhook as { messageId: string }).messageId;
    const lister = (state: string) => [
      ...entrance('ask', 'list'),
      { id: 'list', type: 'rvm-list-events', z: 'tab', state, x: 0, y: 0, wires: [['rows'], []] },
      probe('rows'),
    ];
    const rows = async (): Promise<{ messageId: string; state: string }[]> => {
      const from = nodeRed.at('rows').length;
      await inject(nodeRed, 'ask', {});
      await nodeRed.until(() => nodeRed.at('rows').length > from, 'the rows');
      return nodeRed.at('rows').at(-1)?.payload as { messageId: string; state: string }[];
    };

    it('let through what is chosen, by a variable too, and list events shows the rest', async () => {
      const webhook = { cameras: '${RVM_TEST_CAMERAS}', classes: 'security' };
      await nodeRed.deploy(webhookFlow({ webhook }, ...lister('filtered')));
      await send('f-1', { cameraId: 'cam-2', cameraRemoteId: 'r-2' });
      await send('f-2', { cameraId: 'cam-1', eventClass: 'health' });
      await send('f-3', { cameraId: 'cam-3' });
      const alarm = await nodeRed.message('alarms', (msg) => idOf(msg) === 'f-3');
      assert.deepEqual((alarm.webhook as { warnings: string[] }).warnings, []);
      const listed = await rows();
      assert.deepEqual(
        listed.map(({ messageId, state }) => [messageId, state]),
        [
          ['f-2', 'filtered'],
          ['f-1', 'filtered'],
        ],
      );
      assert.deepEqual([nodeRed.at('health'), nodeRed.at('problems')], [[], []]);
    });

    it('name in the status what the service does not know, and nothing where it cannot be asked', async () => {
      const { url, apiKey } = sandbox;
      const credentials = { ...sandbox.setStation('north', { scheme: 'http' }), secret: PHRASE };
      const webhook = { cameras: 'nobody', sites: 'Nowhere', rules: 'never seen' };
      await nodeRed.deploy(
        webhookFlow({ cloud: { url, credentials: { apiKey } }, station: { credentials }, webhook }),
      );
      await nodeRed.until(
        () => nodeRed.statuses('webhook').at(-1) === 'unknown site: Nowhere, unknown camera: nobody',
        'the status',
      );
      // Out of reach: the cloud that flows of tests have by default.
      await nodeRed.deploy(webhookFlow({ webhook: { ...webhook, classes: 'securty' } }));
      await nodeRed.until(
        () =>
          /^unknown class: securty(?:, offline since [\d:]+)?$/.test(
            nodeRed.statuses('webhook').at(-1) ?? '',
          ),
        'the status of the class alone',
      );
    });

    it('name a class that nobody knows no more once an event of it has come', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { classes: 'own' } }));
      const isNamed = (): boolean => /unknown class: own/.test(nodeRed.statuses('webhook').at(-1) ?? '');
      await nodeRed.until(isNamed, 'the status of the class');
      await send('f-4', { eventClass: 'own' });
      await nodeRed.until(() => !isNamed(), 'the end of that');
    });

    it('refuse a variable among ids that is not set, by its name', async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { rules: 'a, ${RVM_TEST_NOT_SET}' } }));
      await nodeRed.until(
        () => /RVM_TEST_NOT_SET/.test(nodeRed.statuses('webhook').at(-1) ?? ''),
        'the name of the variable',
      );
    });
  });
}
