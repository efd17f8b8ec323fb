import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { AudioFrame, MediaFrame, VideoFormat, VideoFrame } from '../../../lib/video/media';
import type { MediaDescription } from '../../../lib/video/rtp/media-description';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { needs } from '../../support/suite/programs';
import { accessUnitsOf, boxOf, unitsOf } from '../../support/rtp/elementary-stream';
import { ended, pushedStream, type PushedStream } from '../../support/rtp/pushed-stream';
import { sdpMedia } from '../../support/rtp/sdp-media';
import { RATE } from '../../support/rtp/sender';

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

/** Units that decode to nothing: sets, delimiters and information. */
function isDecoded(raw: Kind['raw'], nal: Buffer): boolean {
  const [first = 0] = nal;
  return raw === 'h264' ? [1, 5].includes(first & 0x1f) : first >> 1 < 32;
}

/** Those of our frames include hints that decoding can begin. */
function slicesOf(raw: Kind['raw'], frames: readonly VideoFrame[]): Buffer[] {
  return frames.flatMap(({ nals }) => nals).filter((nal) => isDecoded(raw, nal));
}

/** Fails with the places where units differ, not with their bytes. */
function assertSame(units: readonly Buffer[], expected: readonly Buffer[]): void {
  assert.deepEqual(units.map(textOf), expected.map(textOf));
}

function textOf(unit: Buffer): string {
  return `${unit.length} ${createHash('sha1').update(unit).digest('base64')}`;
}

function receiverOf(media: MediaDescription | undefined): TrackReceiver {
  assert.ok(media !== undefined);
  return new TrackReceiver(media);
}

/** Frames of one track, RTP and RTCP on two channels. */
function received(receiver: TrackReceiver, { packets }: PushedStream, channel = 0): MediaFrame[] {
  const frames = packets.flatMap((packet) => {
    if (packet.channel === channel) return receiver.rtp(packet.bytes);
    if (packet.channel === channel + 1) receiver.rtcp(packet.bytes);
    return [];
  });
  return [...frames, ...receiver.flush()];
}

function isVideo(frame: MediaFrame): frame is VideoFrame {
  return frame.kind === 'video';
}

function isAudio(frame: MediaFrame): frame is AudioFrame {
  return frame.kind === 'audio';
}

function probed(file: string): Record<string, unknown> {
  const fields = 'stream=width,height,sample_rate,channels';
  const text = execFileSync('ffprobe', ['-v', 'error', '-show_entries', fields, '-of', 'json', file], {
    encoding: 'utf8',
  });
  const { streams }: { streams?: Record<string, unknown>[] } = JSON.parse(text);
  return streams?.[0] ?? {};
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

  /** Packets in a file, each behind its length of 16 bits (RFC 4571). */
  async function gstPackets(elements: string): Promise<Buffer[]> {
    const file = fileOf('packets');
    const pipeline = `${elements} ! rtpstreampay ! filesink location=${file}`;
    await ended('gst-launch-1.0', ['-q', ...pipeline.split(' ')]);
    const bytes = fs.readFileSync(file);
    const packets: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at))
      packets.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)));
    return packets;
  }

  for (const [name, { args, raw, codecString, isReordered }] of Object.entries(KINDS)) {
    describe(name, () => {
      let mp4 = '';
      let frames: VideoFrame[] = [];
      let sent: Buffer[] = [];

      before(async () => {
        mp4 = fileOf(`${raw}.mp4`);
        const elementary = fileOf(`stream.${raw}`);
        await ended('ffmpeg', ['-v', 'error', '-y', ...SOURCE, ...args, mp4]);
        await ended('ffmpeg', ['-v', 'error', '-y', '-i', mp4, '-c', 'copy', '-f', raw, elementary]);
        sent = unitsOf(elementary).filter((nal) => isDecoded(raw, nal));
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
        const box = boxOf(mp4, raw === 'h264' ? 'avcC' : 'hvcC');
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
        const parse = raw === 'h264' ? 'h264parse' : 'h265parse';
        const pay = `rtp${raw === 'h264' ? 'h264' : 'h265'}pay`;
        const elements = `filesrc location=${mp4} ! qtdemux ! ${parse} ! ${pay} aggregate-mode=max config-interval=-1 mtu=700 pt=96`;
        const aggregate = raw === 'h264' ? 'max-stap' : 'max';
        const packets = await gstPackets(elements.replace('=max ', `=${aggregate} `));
        const media = {
          kind: 'video',
          payloadType: 96,
          clockRate: RATE,
          channels: 1,
          parameters: new Map<string, string>(),
        } as const;
        const receiver = new TrackReceiver({ ...media, encoding: raw === 'h264' ? 'H264' : 'H265' });
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

  describe('AAC', () => {
    const CASES: Record<string, string[]> = {
      'in stereo': ['-ar', '48000', '-ac', '2'],
      'in mono at 16 kHz': ['-ar', '16000', '-ac', '1'],
    };

    for (const [name, args] of Object.entries(CASES)) {
      it(`${name} comes whole as ffmpeg and GStreamer send it`, async () => {
        const [mp4, adts] = [fileOf('sound.mp4'), fileOf('sound.aac')];
        const source = ['-f', 'lavfi', '-i', 'sine=f=440:d=2'];
        await ended('ffmpeg', ['-v', 'error', '-y', ...source, '-c:a', 'aac', ...args, mp4]);
        await ended('ffmpeg', ['-v', 'error', '-y', '-i', mp4, '-c', 'copy', adts]);
        const units = accessUnitsOf(adts);
        const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
        const [media] = sdpMedia(stream.sdp);
        const receiver = receiverOf(media);
        const frames = received(receiver, stream).filter(isAudio);
        // What does not fill its last packet is never sent by ffmpeg.
        assert.ok(frames.length > units.length - 5, `${frames.length} of ${units.length}`);
        assertSame(
          frames.map(({ data }) => data),
          units.slice(0, frames.length),
        );
        const { sample_rate: rate, channels } = probed(mp4);
        assert.deepEqual([String(receiver.audio?.sampleRate), receiver.audio?.channels], [rate, channels]);
        const ticks = frames.map(({ time }) => Math.round(time * Number(rate)));
        assert.deepEqual(
          ticks,
          frames.map((_, index) => index * 1024),
        );

        const packets = await gstPackets(`filesrc location=${adts} ! aacparse ! rtpmp4gpay mtu=200 pt=97`);
        const other = receiverOf(media && { ...media, payloadType: 97 });
        const again = packets.flatMap((packet) => other.rtp(packet)).filter(isAudio);
        assertSame(
          again.map(({ data }) => data),
          units,
        );
      });
    }

    it('keeps step with the pictures beside it', async () => {
      const inputs = [
        '-f',
        'lavfi',
        '-i',
        'testsrc2=size=320x180:rate=10',
        '-f',
        'lavfi',
        '-i',
        'sine=f=440',
        '-t',
        '2',
      ];
      const stream = await pushedStream([...inputs, '-c:v', 'libx264', '-bf', '0', '-c:a', 'aac']);
      const media = sdpMedia(stream.sdp);
      const [video, audio] = [receiverOf(media[0]), receiverOf(media[1])];
      assert.equal(received(video, stream).length, 20);
      assert.ok(received(audio, stream, 2).length > 80);
      const [first, second] = [video.wallClock(0), audio.wallClock(0)];
      assert.ok(first !== undefined && second !== undefined);
      assert.ok(Math.abs(first - second) < 100, `${first - second} ms apart`);
      assert.ok(Math.abs(first - Date.now()) < 3_600_000);
    });
  });
});

/** All but the arrays, and the bits that may stay open: ffmpeg tells segmentation and parallelism, and marks arrays otherwise. */
function assertSameAbilities(description: Buffer, box: Buffer): void {
  const compared = (record: Buffer): string =>
    Buffer.concat([record.subarray(0, 13), record.subarray(16, 19), record.subarray(21, 22)]).toString('hex');
  assert.equal(compared(description), compared(box));
}
