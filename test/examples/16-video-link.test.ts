import assert from 'node:assert/strict';
import { ExampleRun, webhookOf } from '../support/examples/example-run';

const CAMERA = 'SANDBOX Gate 1';
const BESIDE = { alarm: 'alarm', guard: 'guard', 'no-video': 'no video' };

describe('example 16, a video link for verification', () => {
  const run = ExampleRun.ofGroup('16', { beside: BESIDE });

  /** What the guard gets of an alarm. */
  async function textAbout(eventName: string): Promise<string> {
    const { payload } = await run.nodeRed.message('guard', (msg) => String(msg.payload).includes(eventName));
    return String(payload);
  }

  it('sends a text with the address of a page that shows this alarm', async () => {
    await run.raise({ camera: CAMERA, eventName: 'Fence climbed' });
    const text = await textAbout('Fence climbed');
    assert.match(text, /^SANDBOX .*Fence climbed/);
    const [address = ''] = /http:\/\/127\.0\.0\.1:1880\/\S+/.exec(text) ?? [];
    const page = await fetch(run.nodeRed.url + new URL(address).pathname);
    assert.equal(page.status, 200);
    const html = await page.text();
    for (const fact of ['SANDBOX', CAMERA, 'Fence climbed']) assert.ok(html.includes(fact), fact);
  });

  it('sends none for the end of an alarm', async () => {
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Short', seconds: 0 });
    await run.nodeRed.message('alarm', (msg) => webhookOf(msg).phase === 'end');
    await textAbout('Short');
    await run.raise({ camera: CAMERA, eventName: 'Behind it' });
    await textAbout('Behind it');
    const about = run.nodeRed.at('guard').filter(({ payload }) => String(payload).includes('Short'));
    assert.equal(about.length, 1, alarmId);
  });

  it('sends the text all the same where there can be no address, and says why', async () => {
    const changes = { view: { minutes: '0' } };
    const broken = await ExampleRun.start('16', { beside: BESIDE, changes });
    try {
      await broken.raise({ camera: CAMERA, eventName: 'Without address' });
      const { payload } = await broken.nodeRed.message('guard');
      assert.match(String(payload), /Without address.*\nNo video: BAD_INPUT$/s);
      const { error } = await broken.nodeRed.message('no video');
      assert.equal((error as { code: string }).code, 'BAD_INPUT');
    } finally {
      await broken.stop();
    }
  });
});
