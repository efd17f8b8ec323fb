import assert from 'node:assert/strict';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import type { FoundEvents } from '../../nodes/rvm-sidebar/overview';
import { NodeRed } from '../support/node-red/node-red';

/** Far less than all events take together. Megabytes. */
const MEMORY = 256;
const EVENTS = 3200;
const AT_A_TIME = 8;

function isFound(answer: unknown): answer is Pick<FoundEvents, 'matches' | 'events'> {
  return typeof answer === 'object' && answer !== null && 'matches' in answer && 'events' in answer;
}

describe('a search in the sidebar', () => {
  let nodeRed: NodeRed;

  before(async () => {
    nodeRed = await NodeRed.start({ env: { NODE_OPTIONS: `--max-old-space-size=${MEMORY}` } });
    await nodeRed.deploy(webhookFlow());
    const eventType = 'x'.repeat(100_000);
    const sendSome = async (): Promise<void> => {
      for (let sent = 0; sent < EVENTS / AT_A_TIME; sent += 1)
        assert.equal(
          (await post(nodeRed.url + PATH, alarmMessage({ cameraName: 'Gate', eventType }), PHRASE)).status,
          200,
        );
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, sendSome));
  });

  after(() => nodeRed?.stopAndRemove());

  it('that finds more than there is memory for counts all, and shows the newest', async () => {
    const response = await fetch(`${nodeRed.url}/rvm/events?state=all&limit=50&search=gate`);
    const found: unknown = await response.json();
    assert.ok(isFound(found));
    assert.deepEqual([found.matches, found.events.length], [EVENTS, 50]);
  });
});
