import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { VideoFormat, VideoFrame } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { byLane } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  boxIn,
  unitsIn,
  assertSame,
  gstPackets,
  isVideo,
  probed,
  received,
  receiverOf,
  ended,
  pushedStream,
} from '../../support/rtp/foreign-streams';
import { sdpMedia, medium, RATE } from '../../support/rtp/sender';

const PICTURES = 25;
const SOURCE = ['-f', 'lavfi', '-i', 'testsrc2=size=322x184:rate=10', '-frames:v', String(PICTURES)];
const NO_LOG = 'log-level=none';

interface Kind {
  args: string[];
  /** Ending of an elementary stream, and how it is cut out of an MP4. */
  raw: 'h264' | 'hevc';
  /** RFC 6381. */
  codecString: RegExp;
  /** Pictures that are sent before one that is shown earlier. */
  isReordered: boolean;
}

const KINDS: Record<string, Kind> = {
  'H.264 baseline': {
    args: ['-c:v', 'libx264', '-profile:v', 'baseline', '-g', '10'],
    raw: 'h264',
    codecString: /^avc1\.42C0/,
    isReordered: false,
  },
  'H.264 main with B-frames': {
    args: ['-c:v', 'libx264', '-profile:v', 'main', '-g', '10', '-bf', '2'],
    raw: 'h264',
    codecString: /^avc1\.4D40/,
    isReordered: true,
  },
  'H.264 high with four slices, interlaced': {
    args: ['-c:v', 'libx264', '-profile:v', 'high', '-g', '10', '-slices', '4', '-flags', '+ildct+ilme'],
    raw: 'h264',
    codecString: /^avc1\.6400/,
    isReordered: true,
  },
  'H.264 high 4:2:2 with ten bits': {
    args: ['-c:v', 'libx264', '-profile:v', 'high422', '-pix_fmt', 'yuv422p10le', '-g', '10'],
    raw: 'h264',
    codecString: /^avc1\.7A00/,
    isReordered: true,
  },
  'H.264 with open groups of pictures': {
    args: ['-c:v', 'libx264', '-x264-params', 'open-gop=1:keyint=8:bframes=3:b-adapt=0'],
    raw: 'h264',
    codecString: /^avc1\.6400/,
    isReordered: true,
  },
  'H.265': {
    args: ['-c:v', 'libx265', '-x265-params', `${NO_LOG}:keyint=10:bframes=0`, '-tag:v', 'hvc1'],
    raw: 'hevc',
    codecString: /^hvc1\.1\.6\.L\d+\.90$/,
    isReordered: false,
  },
  'H.265 with ten bits and open groups of pictures': {
    args: [
      '-c:v',
      'libx265',
      '-pix_fmt',
      'yuv420p10le',
      '-x265-params',
      `${NO_LOG}:keyint=8:open-gop=1`,
      '-tag:v',
      'hvc1',
    ],
    raw: 'hevc',
    codecString: /^hvc1\.2\.4\.L\d+\.90$/,
    isReordered: true,
  },
};

const [FIRST, SECOND] = ['H.264 main with B-frames', 'H.265'];

/** Units that decode to nothing: sets, delimiters and information. */
function isDecoded(raw: Kind['raw'], nal: Buffer): boolean {
  const [first = 0] = nal;
  return raw === 'h264' ? [1, 5].includes(first & 0x1f) : first >> 1 < 32;
}

/** Those of our frames include hints that decoding can begin. */
function slicesOf(raw: Kind['raw'], frames: readonly VideoFrame[]): Buffer[] {
  return frames.flatMap(({ nals }) => nals).filter((nal) => isDecoded(raw, nal));
}

function assertDecodes(raw: Kind['raw'], format: VideoFormat, frames: readonly VideoFrame[]): void {
  const units = [...format.parameterSets, ...frames.flatMap(({ nals }) => nals)];
  const input = Buffer.concat(units.flatMap((nal) => [Buffer.from([0, 0, 0, 1]), nal]));
  const args = ['-v', 'warning', '-f', raw, '-i', 'pipe:0', '-f', 'null', '-'];
  const { stderr } = spawnSync('ffmpeg', args, { input });
  assert.equal(stderr.toString(), '');
}

describe('streams that others make', () => {
  let folder = '';

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe', 'gst-launch-1.0');
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-rtp-'));
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  function fileOf(name: string): string {
    return path.join(folder, name);
  }

  const OTHERS = Object.keys(KINDS).filter((name) => ![FIRST, SECOND].includes(name));
  for (const name of byLane([FIRST], [SECOND], OTHERS)) {
    const { args, raw, codecString, isReordered } = KINDS[name] ?? assert.fail();
    describe(name, () => {
      let mp4 = '';
      let frames: VideoFrame[] = [];
      let sent: Buffer[] = [];

      before(async () => {
        mp4 = fileOf(`${raw}.mp4`);
        const elementary = fileOf(`stream.${raw}`);
        await ended('ffmpeg', ['-v', 'error', '-y', ...SOURCE, ...args, mp4]);
        await ended('ffmpeg', ['-v', 'error', '-y', '-i', mp4, '-c', 'copy', '-f', raw, elementary]);
        sent = unitsIn(fs.readFileSync(elementary)).filter((nal) => isDecoded(raw, nal));
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
        assert.deepEqual(
          shown.map((time) => Math.round((time - first) * RATE)),
          Array.from({ length: PICTURES }, (_, index) => (index * RATE) / 10),
        );
        const isSorted = frames.every(
          ({ time }, index) => index === 0 || time > (frames[index - 1]?.time ?? 0),
        );
        assert.equal(isSorted, !isReordered);
      });

      it('has key frames where ffmpeg says so', () => {
        const options = ['-v', 'error', '-show_entries', 'packet=flags', '-of', 'csv=p=0', mp4];
        const flags = execFileSync('ffprobe', options, { encoding: 'utf8' }).trim().split('\n');
        assert.deepEqual(
          frames.map(({ key }) => key),
          flags.map((flag) => flag.startsWith('K')),
        );
      });

      it('has the size and the name that it has for others', () => {
        const { width, height } = probed(mp4);
        const formats = new Set(frames.map(({ format }) => format));
        assert.equal(formats.size, 1);
        for (const format of formats) {
          assert.deepEqual([format.width, format.height], [width, height]);
          assert.match(format.codecString, codecString);
        }
      });

      it('has the description that an MP4 of ffmpeg has', () => {
        const box = boxIn(fs.readFileSync(mp4), raw === 'h264' ? 'avcC' : 'hvcC');
        const description = frames[0]?.format.description ?? Buffer.alloc(0);
        if (raw === 'h264') assert.deepEqual(description, box);
        else assertSameAbilities(description, box);
      });

      it('decodes without a warning', () => {
        const [first] = frames;
        assert.ok(first !== undefined);
        assertDecodes(raw, first.format, frames);
      });

      it('comes whole in the packets of GStreamer, aggregated and in pieces, with its sets in band', async () => {
        const [codec, most] = raw === 'h264' ? ['h264', 'max-stap'] : ['h265', 'max'];
        const pay = `rtp${codec}pay aggregate-mode=${most} config-interval=-1 mtu=700 pt=96`;
        const elements = `filesrc location=${mp4} ! qtdemux ! ${codec}parse ! ${pay}`;
        const packets = await gstPackets(elements, fileOf('packets'));
        const receiver = new TrackReceiver(medium({ encoding: codec.toUpperCase() }));
        const all = [...packets.flatMap((packet) => receiver.rtp(packet)), ...receiver.flush()].filter(
          isVideo,
        );
        assert.equal(receiver.fault, undefined);
        assertSame(slicesOf(raw, all), sent);
        assert.deepEqual(all[0]?.format.codecString, frames[0]?.format.codecString);
      });

      it('decodes without a warning from where packets were lost', async () => {
        const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
        const isKept = (_: unknown, index: number): boolean => index < 4 || index > 6;
        const receiver = receiverOf(sdpMedia(stream.sdp)[0]);
        const rest = received(receiver, { ...stream, packets: stream.packets.filter(isKept) }).filter(
          isVideo,
        );
        const [first] = rest;
        assert.ok(receiver.lost > 0);
        assert.ok(first?.key === true && rest.length < PICTURES);
        assertDecodes(raw, first.format, rest);
      });
    });
  }
});

/** All but the arrays, and the bits that may stay open: ffmpeg tells segmentation and parallelism, and marks arrays otherwise. */
function assertSameAbilities(description: Buffer, box: Buffer): void {
  const compared = (record: Buffer): string =>
    Buffer.concat([record.subarray(0, 13), record.subarray(16, 19), record.subarray(21, 22)]).toString('hex');
  assert.equal(compared(description), compared(box));
}
