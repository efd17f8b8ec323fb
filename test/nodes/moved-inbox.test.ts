import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { WebhookFacts } from '../../lib/message/event-message';
import { runProgram } from '../support/inbox/moving';
import { PATH, PHRASE, webhookFlow, sharedFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { SharedServer } from '../support/postgres/shared-server';
import { needs } from '../support/suite/programs';
import { alarmMessage, post, sendUntilAnswered } from '../support/webhook/alarm-message';

/** What is not settled in time comes again after a minute, and not while a test lasts. */
const SETTLED = { handledWhen: 'settled', redeliverAfter: 60 };
const ALARMS = 3;

describe('Node-RED whose inbox is moved into PostgreSQL', () => {
  let server: SharedServer;
  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  const nodeRed = NodeRed.ofGroup({ fresh: true });
  after(() => server?.remove());

  async function arrived(): Promise<WebhookFacts[]> {
    const facts = (): WebhookFacts[] => nodeRed.at('alarms').map(({ webhook }) => webhook as WebhookFacts);
    await nodeRed.until(() => facts().length >= ALARMS, 'the alarms');
    return facts();
  }

  it('is asked to be stopped, and has its alarms once more after that, from there alone and under their ids', async () => {
    const url = await server.database('alarms');
    const from = path.join(nodeRed.userDir, 'remote-monitoring');
    const move = () => runProgram(['move', '--from', from, '--tls', 'off'], { RVM_INBOX_URL: url });
    await nodeRed.deploy(webhookFlow({ webhook: SETTLED }));
    for (let index = 0; index < ALARMS; index += 1)
      await sendUntilAnswered(nodeRed.url + PATH, alarmMessage(), PHRASE);
    const first = await arrived();

    const early = await move();
    assert.equal(early.code, 1);
    assert.match(early.error, /Node-RED has the inbox in .+: stop it, and run this again/);

    await nodeRed.stop();
    const moved = await move();
    assert.equal(moved.code, 0, moved.error);

    await nodeRed.restart('SIGTERM', { settings: 'safeMode: true,', flowsWait: true });
    await assert.rejects(
      post(nodeRed.url + PATH, alarmMessage(), PHRASE),
      'it is cut, and will be sent again',
    );
    assert.ok(!existsSync(path.join(from, 'inbox.sqlite')));
    await nodeRed.deploy(sharedFlow(url, { webhook: SETTLED }));
    assert.deepEqual(
      (await arrived()).map(({ deliveryId, attempt }) => [deliveryId, attempt]),
      first.map(({ deliveryId }) => [deliveryId, 2]),
    );
  });
});
