import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { Sandbox } from '../../sandbox';
import { readBar, SCALED, expectedSecond } from '../support/rtsp/fixture';
import { receivePictures } from '../support/rtsp/rtsp-client';
import { needs } from '../support/suite/programs';
import { advance, closeSandboxes, control, first, startLoggedIn, stateOf } from './service-client';
import type { Json, JsonAnswer, ServiceClient } from './service-client';
import { WebhookTarget, closeTargets } from './webhook-target';

/** Bytes of a clip, picture or stream decoded to grey pictures of 320x180. @throws where ffmpeg complains */
function decoded(input: Buffer, format: string): Buffer[] {
  const options = `-nostdin -v warning -f ${format} -i pipe:0 -fps_mode passthrough`.split(' ');
  const output = ['-vf', SCALED, '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'];
  const maxBuffer = 256 * 1024 * 1024;
  const { stdout, stderr } = spawnSync('ffmpeg', [...options, ...output], { input, maxBuffer });
  assert.equal(stderr.toString(), '');
  const size = 320 * 180;
  return Array.from({ length: stdout.length / size }, (_, i) => stdout.subarray(i * size, (i + 1) * size));
}

describe('what the cameras of the sandbox see', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let target: WebhookTarget;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
    target = await WebhookTarget.start();
    sandbox.setEndpoint('hook', { station: 'north', url: () => target.url });
  });
  afterEach(async () => {
    await closeSandboxes();
    await closeTargets();
  });

  /** Raises an alarm and moves the clock on until its visit is over; returns its message. */
  async function alarmAt(camera: string): Promise<Json> {
    sandbox.raiseAlarm({ camera });
    const { message } = await target.message();
    await advance(sandbox, 20);
    return message.at('payload');
  }

  /** Asks for recorded video. */
  async function ask(name: string, t: Date): Promise<JsonAnswer> {
    const named = (list: Json[]): Json => first(list.filter((each) => each.at('name').text === name));
    const cameraId = named((await stateOf(sandbox)).at('cameras').list).at('remoteId').text;
    const sources = await client.dataSources(named(await client.devices()));
    const recorded = { cameraId, quality: 'high', t: t.toISOString(), search: 'true' };
    return client.post(sources.at('_links', 'rel/rtsp').text, recorded);
  }

  const firstPicture = ({ body }: JsonAnswer) =>
    receivePictures(body.at('rtspRelayURL').text, { pictures: 1 });

  /** NAL units of the key frame of recorded video. */
  async function keyFrameAt(name: string, time: number): Promise<string> {
    const { pictures } = await firstPicture(await ask(name, new Date(time)));
    return Buffer.concat(pictures[0]?.nals ?? []).toString('base64');
  }

  it('is an intruder at the alarm, and nobody at the same second of another minute', async () => {
    const start = (await alarmAt('SANDBOX Gate 1')).at('eventStartTime').text;
    const alarm = Date.parse(`${start.slice(0, 19)}Z`);
    const slices = async (seconds: number): Promise<number> =>
      (await keyFrameAt('SANDBOX Gate 1', alarm + seconds * 1000)).length;
    // The text tells another minute, so the pictures always differ; how much there is to tell shows the van.
    const [empty, there] = [await slices(-60), await slices(4)];
    assert.ok(there > empty + 500, `${there} and ${empty} characters`);
  });

  it('is recorded for one camera alone', async () => {
    await alarmAt('SANDBOX Gate 1');
    const now = Date.now() + 5000;
    const other = await keyFrameAt('SANDBOX Entrance 1', now);
    assert.ok(other.length < (await keyFrameAt('SANDBOX Gate 1', now)).length);
  });

  describe('in the clip of an alarm', () => {
    async function clipOf(camera: string): Promise<{ url: string; start: number }> {
      const payload = await alarmAt(camera);
      const start = Date.parse(`${payload.at('eventStartTime').text.slice(0, 19)}Z`);
      const { port, pathname } = new URL(payload.at('clipUri').text);
      return { url: `http://127.0.0.1:${port}${pathname}`, start };
    }

    for (const camera of ['SANDBOX North Fence 1', 'SANDBOX Car Park 1', 'SANDBOX Fuel Store 1'])
      it(`there are fifteen seconds around the alarm of ${camera}, in their order, as an MP4 that plays while it loads`, async function () {
        needs(this, 'ffmpeg');
        const { url, start } = await clipOf(camera);
        const response = await fetch(url);
        assert.equal(response.headers.get('content-type'), 'video/mp4');
        const bytes = Buffer.from(await response.arrayBuffer());
        assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'));
        const pictures = decoded(bytes, 'mp4');
        assert.equal(pictures.length, 150);
        for (const [i, picture] of pictures.entries())
          assert.equal(readBar(picture), (expectedSecond(start) + 57 + Math.floor(i / 10)) % 60);
      });

    it('a player may ask for a part', async () => {
      const { url } = await clipOf('SANDBOX Gate 1');
      const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
      for (const [range, part] of [
        ['bytes=0-3', whole.subarray(0, 4)],
        ['bytes=100-', whole.subarray(100)],
        ['bytes=-10', whole.subarray(-10)],
      ] as const) {
        const answer = await fetch(url, { headers: { Range: range } });
        assert.equal(answer.status, 206);
        assert.deepEqual(Buffer.from(await answer.arrayBuffer()), part);
      }
      assert.equal((await fetch(url, { headers: { Range: `bytes=${whole.length}-` } })).status, 416);
    });

    it('needs no more than its link, and the link cannot be guessed', async () => {
      const { url } = await clipOf('SANDBOX Gate 1');
      assert.match(url, /\/clips\/[0-9a-f-]{36}$/);
      assert.equal((await fetch(url.replace(/.{4}$/, '0000'))).status, 404);
      assert.equal((await fetch(url, { method: 'POST' })).status, 405);
    });
  });

  describe('where a recording is late', () => {
    const late = (fault: Record<string, unknown>): Promise<JsonAnswer> =>
      control(sandbox, 'POST', 'faults', { kind: 'recording-late', ...fault });

    it('the service says so with a code until it is there', async () => {
      await late({ camera: 'SANDBOX Gate 1', seconds: 30 });
      const now = new Date();
      const early = await ask('SANDBOX Gate 1', now);
      assert.deepEqual([early.status, early.body.at('code').text], [404, 'NoAvailableStreams']);
      await advance(sandbox, 30);
      assert.equal((await ask('SANDBOX Gate 1', now)).status, 200);
    });

    it('or the relay does', async () => {
      await late({ camera: 'SANDBOX Gate 1', seconds: 30, way: 'not-found' });
      const answer = await ask('SANDBOX Gate 1', new Date());
      assert.equal(answer.status, 200);
      await assert.rejects(firstPicture(answer), { status: 404 });
    });

    it('as it is with South Fence by itself, for some seconds', async () => {
      const answer = await ask('SANDBOX South Fence 1', new Date());
      await assert.rejects(firstPicture(answer), { status: 404 });
      await advance(sandbox, 5);
      assert.equal((await firstPicture(answer)).pictures.length, 1);
    });

    it('an unknown way, or no seconds, are refused', async () => {
      for (const fault of [{ seconds: 3, way: 'never' }, {}]) assert.equal((await late(fault)).status, 400);
    });
  });
});
