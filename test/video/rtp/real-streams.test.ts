import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { VideoFrame } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { decodingFaults, elementaryStream } from '../../support/rtsp/gstreamer';
import { byLane } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  boxIn,
  byteStream,
  filesOfGroup,
  unitsIn,
  assertSame,
  gstPackets,
  isSlice,
  isVideo,
  type RawCodec,
  probed,
  received,
  receiverOf,
  ended,
  pushedStream,
} from '../../support/rtp/foreign-streams';
import { sdpMedia, medium, RATE, rowOf, videoOf } from '../../support/rtp/sender';

const PICTURES = 25;
const SOURCE = ['-f', 'lavfi', '-i', 'testsrc2=size=322x184:rate=10', '-frames:v', String(PICTURES)];
const X264 = 'libx264 -g 10';
const X265 = 'libx265 -tag:v hvc1 -x265-params log-level=none';

/** Encoders, how RFC 6381 names what they make, and whether pictures come before one that is shown earlier. */
const KINDS: Record<string, readonly [encoder: string, codecString: RegExp, isReordered: boolean]> = {
  'H.264 main with B-frames': [`${X264} -profile:v main -bf 2`, /^avc1\.4D40/, true],
  'H.265': [`${X265}:keyint=10:bframes=0`, /^hvc1\.1\.6\.L\d+\.90$/, false],
  'H.264 baseline': [`${X264} -profile:v baseline`, /^avc1\.42C0/, false],
  'H.264 high with four slices, interlaced': [
    `${X264} -profile:v high -slices 4 -flags +ildct+ilme`,
    /^avc1\.6400/,
    true,
  ],
  'H.264 high 4:2:2 with ten bits': [`${X264} -profile:v high422 -pix_fmt yuv422p10le`, /^avc1\.7A00/, true],
  'H.264 with open groups of pictures': [
    'libx264 -x264-params open-gop=1:keyint=8:bframes=3:b-adapt=0',
    /^avc1\.6400/,
    true,
  ],
  'H.265 with ten bits and open groups of pictures': [
    `${X265}:keyint=8:open-gop=1 -pix_fmt yuv420p10le`,
    /^hvc1\.2\.4\.L\d+\.90$/,
    true,
  ],
};

/** Those of our frames include hints that decoding can begin. */
function slicesOf(raw: RawCodec, frames: readonly VideoFrame[]): Buffer[] {
  return frames.flatMap(({ nals }) => nals).filter(isSlice[raw]);
}

async function assertDecodes(raw: RawCodec, [first, ...more]: readonly VideoFrame[]): Promise<void> {
  assert.equal(first?.key, true);
  const units = [first, ...more].flatMap(({ nals }) => nals);
  assert.equal(await decodingFaults(byteStream([...first.format.parameterSets, ...units]), raw), '');
}

describe('streams that others make', () => {
  before(function () {
    needs(this, 'ffmpeg', 'ffprobe', 'gst-launch-1.0');
  });
  const fileOf = filesOfGroup();

  const [first = '', second = '', ...others] = Object.keys(KINDS);
  for (const name of byLane([first], [second], others)) {
    const [encoder, codecString, isReordered] = KINDS[name] ?? assert.fail();
    const raw = name.startsWith('H.264') ? 'h264' : 'hevc';
    describe(name, () => {
      let mp4 = '';
      let frames: VideoFrame[] = [];
      let sent: Buffer[] = [];

      before(async () => {
        mp4 = fileOf(`${raw}.mp4`);
        await ended('ffmpeg', ['-v', 'error', '-y', ...SOURCE, '-c:v', ...encoder.split(' '), mp4]);
        sent = unitsIn(await elementaryStream(mp4, raw)).filter(isSlice[raw]);
        const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
        const receiver = receiverOf(sdpMedia(stream.sdp)[0]);
        frames = received(receiver, stream).filter(isVideo);
        assert.equal(receiver.lost, 0);
      });

      it('comes whole, picture by picture, as ffmpeg sends it', () => {
        assert.equal(frames.length, PICTURES);
        assertSame(slicesOf(raw, frames), sent);
      });

      it('has the times at which pictures are shown', () => {
        const shown = frames.map(({ time }) => time).toSorted((one, other) => one - other);
        const [first = 0] = shown;
        const tenths = shown.map((time) => Math.round((time - first) * RATE) / (RATE / 10));
        assert.deepEqual(tenths, [...Array(PICTURES).keys()]);
        const isOtherwise = shown.some((time, index) => time !== frames[index]?.time);
        assert.equal(isOtherwise, isReordered);
      });

      it('has key frames where ffmpeg says so', () => {
        const options = ['-v', 'error', '-show_entries', 'packet=flags', '-of', 'csv=p=0', mp4];
        const flags = execFileSync('ffprobe', options, { encoding: 'utf8' }).trim().split('\n');
        const keys = flags.map((flag) => (flag.startsWith('K') ? 'k' : '.'));
        assert.equal(rowOf(frames), keys.join(''));
      });

      it('has the size, the name and the description that it has for others, and decodes without a warning', async () => {
        const { width, height } = probed(mp4);
        const [format, ...more] = new Set(frames.map((frame) => frame.format));
        assert.ok(format !== undefined);
        assert.deepEqual([format.width, format.height, more], [width, height, []]);
        assert.match(format.codecString, codecString);
        const box = boxIn(fs.readFileSync(mp4), raw === 'h264' ? 'avcC' : 'hvcC');
        if (raw === 'h264') assert.deepEqual(format.description, box);
        else assert.equal(abilitiesIn(format.description), abilitiesIn(box));
        await assertDecodes(raw, frames);
      });

      it('comes whole in the packets of GStreamer, aggregated and in pieces, with its sets in band', async () => {
        const [codec, most] = raw === 'h264' ? ['h264', 'max-stap'] : ['h265', 'max'];
        const pay = `rtp${codec}pay aggregate-mode=${most} config-interval=-1 mtu=700 pt=96`;
        const elements = `filesrc location=${mp4} ! qtdemux ! ${codec}parse ! ${pay}`;
        const packets = await gstPackets(elements, fileOf('packets'));
        const receiver = new TrackReceiver(medium({ encoding: codec.toUpperCase() }));
        const all = [...videoOf(receiver, packets), ...receiver.flush().filter(isVideo)];
        assert.equal(receiver.fault, undefined);
        assertSame(slicesOf(raw, all), sent);
        assert.deepEqual(all[0]?.format.codecString, frames[0]?.format.codecString);
      });

      it('decodes without a warning from where packets were lost', async () => {
        const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
        const isKept = (_: unknown, index: number): boolean => index < 4 || index > 6;
        const receiver = receiverOf(sdpMedia(stream.sdp)[0]);
        const packets = stream.packets.filter(isKept);
        const rest = received(receiver, { ...stream, packets }).filter(isVideo);
        assert.ok(receiver.lost > 0 && rest.length < PICTURES);
        await assertDecodes(raw, rest);
      });
    });
  }
});

/** All but the arrays, and the bits that may stay open: ffmpeg tells segmentation and parallelism, and marks arrays otherwise. */
function abilitiesIn(record: Buffer): string {
  return Buffer.concat([record.subarray(0, 13), record.subarray(16, 19), record.subarray(21, 22)]).toString(
    'hex',
  );
}
