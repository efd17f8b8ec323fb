import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { WebhookFacts } from '../../lib/message/event-message';
import { runProgram, type ProgramRun } from '../support/inbox/moving';
import { PATH, PHRASE, webhookFlow, sharedFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { SharedServer } from '../support/postgres/shared-server';
import { needs } from '../support/suite/programs';
import { alarmMessage, sendUntilAnswered } from '../support/webhook/alarm-message';

/** What is not settled in time comes again after a minute, and not while a test lasts. */
const SETTLED = { handledWhen: 'settled', redeliverAfter: 60 };
const ALARMS = 3;

describe('Node-RED whose inbox is moved into PostgreSQL', () => {
  let server: SharedServer;
  let userDir: string;
  let url: string;
  let nodeRed: NodeRed | undefined;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-moved-'));
    url = await server.database('alarms');
    nodeRed = await NodeRed.start({ userDir });
    await nodeRed.deploy(webhookFlow({ webhook: SETTLED }));
  });
  afterEach(async () => {
    await nodeRed?.stop();
    fs.rmSync(userDir, { recursive: true, force: true });
  });

  const move = (): Promise<ProgramRun> => {
    const folder = path.join(userDir, 'remote-monitoring');
    return runProgram(['move', '--from', folder, '--tls', 'off'], { RVM_INBOX_URL: url });
  };
  const facts = (): WebhookFacts[] =>
    (nodeRed?.at('alarms') ?? []).map((msg) => (msg as { webhook: WebhookFacts }).webhook);

  it('is asked to be stopped, and has its alarms once more after that, from there alone and under their ids', async () => {
    for (let index = 0; index < ALARMS; index += 1)
      await sendUntilAnswered(`${nodeRed?.url}${PATH}`, alarmMessage(), PHRASE);
    await nodeRed?.until(() => facts().length === ALARMS, 'the alarms');
    const ids = facts().map(({ deliveryId }) => deliveryId);

    const early = await move();
    assert.equal(early.code, 1);
    assert.match(early.error, /Node-RED has the inbox in .+: stop it, and run this again/);

    await nodeRed?.stop();
    const moved = await move();
    assert.equal(moved.code, 0, moved.error);

    nodeRed = await NodeRed.start({ userDir });
    await nodeRed.deploy(sharedFlow(url, { webhook: SETTLED }));
    await nodeRed.until(() => facts().length >= ALARMS, 'the alarms');
    assert.deepEqual(
      facts().map(({ deliveryId, attempt }) => [deliveryId, attempt]),
      ids.map((id) => [id, 2]),
    );
  });
});
