import assert from 'node:assert/strict';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { CloudVideo, type JobOptions } from '../../../lib/video/cloud-video';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../lib/video/mp4/clip-writer';
import { openStream } from '../../../lib/video/rtsp/open-stream';
import type { VideoSource } from '../../../lib/video/sessions/session-slots';
import { PictureSource, ScriptedRelay } from '../../support/rtsp/scripted-relay';
import { slowIt } from '../../support/suite/lanes';
import { eventually } from '../../support/time/patience';
import { grantingClient } from '../../support/video/made-stream';
import { LOCAL } from './streams';

const LIVE: RtspWanted = { mode: 'live', camera: 'Gate', quality: 'high', whenOffline: 'fail' };
const HOUR = 3_600_000;

describe('live video of a camera', () => {
  let relay: ScriptedRelay;
  let source: PictureSource;
  let video: CloudVideo;
  let wanted: VideoSource;
  const options: JobOptions = {
    signal: new AbortController().signal,
    deadlineMs: 20_000,
    waitForVideoMs: 10_000,
  };

  beforeEach(async () => {
    relay = await ScriptedRelay.start();
    source = await PictureSource.load();
    const jpeg = { jpeg: Buffer.from('picture'), width: 320, height: 180 };
    const decoder = {
      demand: () => Promise.resolve(),
      picture: () => Promise.resolve(jpeg),
      sheet: () => Promise.resolve(jpeg),
      close: () => Promise.resolve(),
    };
    const open = (url: string, signal: AbortSignal): ReturnType<typeof openStream> =>
      openStream({ url, relays: LOCAL, signal });
    video = new CloudVideo({ sessions: 1, open, decoder });
    wanted = { client: grantingClient([], relay.url), wanted: LIVE };
  });
  afterEach(async () => {
    await video.close();
    await relay.close();
  });

  const playing = (): Promise<void> => eventually(() => relay.methods.includes('PLAY'), 'PLAY');

  for (const [what, off, clock] of [
    ['is right', -2000, 'camera'],
    ['is hours ahead', 5 * HOUR, 'here'],
    ['is years behind', -20 * 365 * 24 * HOUR, 'here'],
  ] as const)
    it(`whose clock ${what} gives a picture with ${clock === 'camera' ? 'its' : 'our'} time`, async () => {
      const making = video.pictures(wanted, { offsets: [0] }, options);
      await playing();
      const before = Date.now();
      relay.send(Buffer.concat([source.report(before + off), source.pictures(2)]));
      const [picture] = await making;
      assert.equal(picture?.clock, clock);
      const time = Date.parse(picture.time);
      if (clock === 'camera') assert.equal(time, before + off);
      else assert.ok(time >= before - 200 && time <= Date.now(), picture.time);
    });

  slowIt('whose RTP clock stands still gives a clip as long as was asked for, in that time', async () => {
    const memory = new ClipMemory();
    const writer = new ClipWriter(memory);
    const making = video.clip(wanted, { until: (from = Infinity) => from + 2000 }, writer, options);
    await playing();
    const began = performance.now();
    const timer = setInterval(() => relay.send(standing(source.pictures(1))), 50);
    const { reason } = await making.finally(() => clearInterval(timer));
    const took = (performance.now() - began) / 1000;
    const { seconds } = await writer.finish();
    assert.equal(reason, undefined);
    assert.ok(Math.abs(seconds - 2) < 0.5, `${seconds} s`);
    assert.ok(Math.abs(took - seconds) < 1, `${took} s for ${seconds} s`);
  });
});

/** The same packets with the same time stamp. */
function standing(packets: Buffer): Buffer {
  for (let at = 0; at < packets.length; at += 4 + packets.readUInt16BE(at + 2))
    packets.writeUInt32BE(4711, at + 8);
  return packets;
}
