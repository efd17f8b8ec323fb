import assert from 'node:assert/strict';
import type { MediaFrame } from '../../../lib/video/media';
import { Authority } from '../../support/network/certificates';
import {
  GStreamerServer,
  needsGStreamerServer,
  decodingFaults,
  elementaryStream,
  MadeRecordings,
  shownTimes,
} from '../../support/rtsp/gstreamer';
import { byteStream, isAudio, isSlice, isVideo, unitsIn } from '../../support/rtp/foreign-streams';
import { needs } from '../../support/suite/programs';
import { Streams, take, takePictures } from './streams';

const LOGIN = { user: 'guard', password: 'word' };
const SECONDS = 3;

describe('a stream of another RTSP server', () => {
  const streams = new Streams();
  const recordings = new MadeRecordings();
  let server: GStreamerServer | undefined;

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe', 'openssl');
    needsGStreamerServer(this);
  });
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  /** A server of one recording; its URL. */
  async function serve(pipeline: string, more: Partial<Parameters<typeof GStreamerServer.start>[0]> = {}) {
    server = await GStreamerServer.start({ mounts: { '/recorded': pipeline }, ...more });
    return server.urlOf('/recorded');
  }

  function pipelineOf(file: string, codec: 'h264' | 'h265' = 'h264', sound = false): string {
    const video = `filesrc location=${file} ! qtdemux name=d d.video_0 ! queue ! ${codec}parse config-interval=-1 ! rtp${codec}pay name=pay0 pt=96`;
    return sound ? `${video} d.audio_0 ! queue ! aacparse ! rtpmp4gpay name=pay1 pt=97` : video;
  }

  const baseline = async (): Promise<string> => pipelineOf(await recordings.make('baseline', SECONDS));

  function relativeTimes(frames: readonly MediaFrame[]): number[] {
    const [first] = frames;
    return frames.map(({ time }) => Math.round((time - (first?.time ?? 0)) * 1000));
  }

  for (const [kind, codec, string] of [
    ['baseline', 'h264', /^avc1\.42[0-9A-F]{4}$/],
    ['bframes', 'h264', /^avc1\.4D[0-9A-F]{4}$/],
    ['h265', 'hevc', /^hvc1\.1\.6\.L\d+\./],
  ] as const)
    it(`has all pictures of the file, at their times, and decodes without a fault: ${kind}`, async () => {
      const file = await recordings.make(kind, SECONDS);
      const url = await serve(pipelineOf(file, codec === 'hevc' ? 'h265' : 'h264'));
      const pictures = await takePictures(await streams.open(url), 1000);
      const [first] = pictures;
      assert.ok(first?.key);
      assert.match(first.format.codecString, string);
      const expected = unitsIn(await elementaryStream(file, codec)).filter(isSlice[codec]);
      const units = pictures.flatMap(({ nals }) => nals);
      assert.deepEqual(units.filter(isSlice[codec]), expected);
      const times = await shownTimes(file, 'v');
      assert.deepEqual(
        relativeTimes(pictures),
        times.map((time) => Math.round((time - (times[0] ?? 0)) * 1000)),
      );
      assert.equal(await decodingFaults(byteStream([...first.format.parameterSets, ...units]), codec), '');
    });

  it('has its sound on the clock of the pictures', async () => {
    const file = await recordings.make('baseline', SECONDS, true);
    const stream = await streams.open(await serve(pipelineOf(file, 'h264', true)));
    assert.equal(stream.audio?.codecString, 'mp4a.40.2');
    assert.equal(stream.audio.sampleRate, 44_100);
    const frames = await take(stream, 10_000);
    const [video, audio] = [frames.filter(isVideo), frames.filter(isAudio)];
    assert.equal(video.length, SECONDS * 10);
    // The encoder begins with one access unit before the first sound.
    const begin = Math.abs((audio[0]?.time ?? NaN) - (video[0]?.time ?? NaN));
    assert.ok(begin < 0.06, `${begin} s between sound and pictures at the beginning`);
    const end = Math.abs((audio.at(-1)?.time ?? NaN) - (video.at(-1)?.time ?? NaN));
    assert.ok(end < 0.2, `${end} s between sound and pictures at the end`);
  });

  it('begins with the key frame at or before the second that was asked for', async () => {
    const file = await recordings.make('bframes', 6);
    const stream = await streams.open(await serve(pipelineOf(file)), { range: { start: 4 } });
    const pictures = await takePictures(stream, 5);
    assert.ok(pictures[0]?.key);
    const all = unitsIn(await elementaryStream(file, 'h264')).filter((nal) => isSlice.h264(nal));
    const [slice] = pictures[0].nals.filter((nal) => isSlice.h264(nal));
    const place = all.findIndex((nal) => slice !== undefined && nal.equals(slice));
    assert.ok(place === 30 || place === 40, `picture ${place}`);
  });

  for (const method of ['basic', 'digest'] as const)
    it(`comes with the login of the URL, and is refused with 401 for another: ${method}`, async () => {
      const url = await serve(await baseline(), { login: { ...LOGIN, method } });
      assert.equal((await take(await streams.open(url), 3)).length, 3);
      assert.equal((await streams.refusal(url.replace('word', 'sword'), 'VIDEO_FAILED')).cause.status, 401);
    });

  it('comes encrypted, with a login', async () => {
    const authority = new Authority();
    try {
      const url = await serve(await baseline(), {
        tls: authority.issueForServer(),
        login: { ...LOGIN, method: 'digest' },
      });
      const stream = await streams.open(url, { tls: { ca: authority.cert } });
      assert.equal((await take(stream, 3)).length, 3);
      await stream.close();
    } finally {
      authority.remove();
    }
  });

  it('is refused where the server speaks only UDP, and the message says so', async () => {
    const url = await serve(await baseline(), { protocols: 'udp' });
    const { message, cause } = await streams.refusal(url, 'VIDEO_FAILED');
    assert.match(message, /UDP alone/);
    assert.equal(cause.status, 461);
  });

  it('comes live, with the clock of the sender', async () => {
    const url = await serve(
      'videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=10/1 ! x264enc tune=zerolatency key-int-max=10 ! rtph264pay name=pay0 pt=96',
    );
    const stream = await streams.open(url);
    const iterator = stream[Symbol.asyncIterator]();
    const before = Date.now();
    let wall: number | undefined;
    for (let count = 0; count < 300 && wall === undefined; count += 1) {
      const next = await iterator.next();
      assert.ok(next.done !== true);
      wall = stream.wallClock(next.value.time);
    }
    assert.ok(wall !== undefined && Math.abs(wall - before) < 60_000, String(wall));
  });
});
