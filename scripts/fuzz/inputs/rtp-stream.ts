import * as fc from 'fast-check';
import { chance, list, mixed } from './any';
import { FuzzBitWriter } from './bit-writer';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from './h264-units';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from './h265-units';
import { aggregationPacket, fragmentationUnits, fuA, rtpPacket, stapA } from './rtp-bytes';

/** What is one frame, and the places of its packets in the stream. */
export interface SentFrame {
  isKey: boolean;
  /** Slices, or one access unit. */
  units: Buffer[];
  /** Ticks since the first packet. */
  ticks: number;
  /** Before the picture: parameter sets, delimiters and information. */
  head: number[];
  /** With pieces of the frame. */
  body: number[];
}

/** A stream as a camera sends it. */
export interface SentStream {
  kind: 'video' | 'audio';
  encoding: 'H264' | 'H265' | 'MPEG4-GENERIC';
  clockRate: number;
  /** Of `a=fmtp`. */
  parameters: [name: string, value: string][];
  packets: Buffer[];
  frames: SentFrame[];
  /** Those without which nothing can be decoded: parameter sets that are told nowhere else. */
  precious: ReadonlySet<number>;
}

interface Codec {
  encoding: 'H264' | 'H265';
  sets: Buffer[];
  /** Units between the sets and the picture that no decoder needs. */
  extras: Buffer[];
  slice: (isKey: boolean, isFirst: boolean, length: number) => Buffer;
  aggregate: (units: readonly Buffer[]) => Buffer;
  pieces: (unit: Buffer, size: number) => Buffer[];
  described: [name: string, value: string][];
}

const H264_SETS = [h264Sps({ profile: 100, scalingLists: true, crop: [0, 0, 0, 6] }), h264Pps()];
const H265_SETS = [h265Vps(), h265Sps({ subLayers: 2 }), h265Pps()];
const [H265_VPS = '', H265_SPS = '', H265_PPS = ''] = H265_SETS.map((nal) => nal.toString('base64'));

const CODECS: readonly Codec[] = [
  {
    encoding: 'H264',
    sets: H264_SETS,
    extras: [Buffer.from([9, 0xf0]), Buffer.from([6, 5, 1, 0, 0x80]), Buffer.from([12, 0xff, 0x80])],
    slice: (isKey, isFirst, length) =>
      h264Slice({ type: isKey ? 'idr' : 'predicted', firstMacroblock: isFirst ? 0 : 40, length }),
    aggregate: stapA,
    pieces: fuA,
    described: [
      ['packetization-mode', '1'],
      ['sprop-parameter-sets', H264_SETS.map((nal) => nal.toString('base64')).join(',')],
    ],
  },
  {
    encoding: 'H265',
    sets: H265_SETS,
    extras: [Buffer.from([35 << 1, 1, 0x50]), Buffer.from([39 << 1, 1, 5, 1, 0, 0x80])],
    slice: (isKey, isFirst, length) => h265Slice({ type: isKey ? H265.idr : H265.trailing, isFirst, length }),
    aggregate: aggregationPacket,
    pieces: fragmentationUnits,
    described: [
      ['sprop-vps', H265_VPS],
      ['sprop-sps', H265_SPS],
      ['sprop-pps', H265_PPS],
    ],
  },
];

const VIDEO_RATE = 90_000;
const AUDIO_RATE = 48_000;
const AUDIO_UNIT = 1024;

/** Units that no genuine stream of ours has, for what is changed: hints, other kinds of packets. */
export const ODD_PAYLOAD = fc.constantFrom(
  h264Recovery(),
  h264Recovery(9),
  h265Slice({ type: H265.cra }),
  h265Slice({ type: H265.rasl }),
  ...[25, 26, 27, 29, 0x7c, 0x78, 96, 98, 100].map((head) => Buffer.from([head, 0xff, 0xff, 0x41])),
  Buffer.alloc(0),
  Buffer.alloc(3000, 0x41),
);

/** Sequence number and time stamp of the first packet: anywhere, often shortly before they wrap. */
const START = fc.tuple(
  fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xffff - 19, max: 0xffff })),
  fc.oneof(fc.nat(0xffffffff), fc.integer({ min: 0x100000000 - VIDEO_RATE, max: 0xffffffff })),
);

class Packets {
  readonly all: Buffer[] = [];

  constructor(private readonly start: readonly [sequence: number, time: number]) {}

  /** @returns their places */
  add(payloads: readonly Buffer[], ticks: number, isMarked: boolean): number[] {
    return payloads.map((payload, index) => {
      const place = this.all.length;
      const [sequence, rtpTime] = [this.start[0] + place, this.start[1] + ticks];
      const marker = isMarked && index === payloads.length - 1;
      this.all.push(rtpPacket(payload, { sequence, rtpTime, marker }));
      return place;
    });
  }
}

/** How a frame is made and packed. */
const SHAPE = fc.record({
  lengths: mixed([4, list(fc.nat(899), 1)], [1, list(fc.nat(899), 2, 4)]),
  repeatsSets: fc.boolean(),
  extra: mixed([4, fc.constant(undefined)], [1, fc.nat()]),
  joinsHead: fc.boolean(),
  joinsBody: chance(20),
  /** Bytes of the pieces of each slice; undefined where it is whole. */
  pieces: list(mixed([3, fc.constant(undefined)], [2, fc.integer({ min: 1, max: 400 })]), 4),
});

const VIDEO = fc
  .record({
    codec: fc.constantFrom(...CODECS),
    start: START,
    isDescribed: fc.boolean(),
    gop: fc.integer({ min: 1, max: 8 }),
    isReordered: chance(30),
    shapes: list(SHAPE, 1, 20),
  })
  .map(({ codec, start, isDescribed, gop, isReordered, shapes }): SentStream => {
    const packets = new Packets(start);
    const frames = shapes.map((shape, index): SentFrame => {
      const isKey = index % gop === 0;
      const units = shape.lengths.map((length, slice) =>
        codec.slice(isKey, slice === 0, isKey ? length : length % 90),
      );
      const ticks = (isReordered ? shownAt(index, gop, shapes.length) : index) * 3600;
      const hasSets = isKey && (!isDescribed || shape.repeatsSets);
      const extra = shape.extra === undefined ? [] : [codec.extras[shape.extra % codec.extras.length] ?? []];
      const before = [...extra.flat(), ...(hasSets ? codec.sets : [])];
      const payloads = before.length > 0 && shape.joinsHead ? [codec.aggregate(before)] : before;
      const head = packets.add(payloads, ticks, false);
      return { isKey, units, ticks, head, body: packets.add(bodyOf(codec, units, shape), ticks, true) };
    });
    return {
      kind: 'video',
      encoding: codec.encoding,
      clockRate: VIDEO_RATE,
      parameters: isDescribed ? codec.described : [],
      packets: packets.all,
      frames,
      precious: new Set(isDescribed ? [] : frames.flatMap(({ head }) => head)),
    };
  });

function bodyOf(
  codec: Codec,
  slices: readonly Buffer[],
  { joinsBody, pieces }: { joinsBody: boolean; pieces: (number | undefined)[] },
): Buffer[] {
  if (joinsBody) return [codec.aggregate(slices)];
  return slices.flatMap((slice, index) => {
    const size = pieces[index];
    return size === undefined ? [slice] : codec.pieces(slice, size);
  });
}

/** Of a pair behind a key frame the second is shown first. */
function shownAt(index: number, gop: number, count: number): number {
  const place = index % gop;
  if (place > 0 && place % 2 === 0) return index - 1;
  return place > 0 && place + 1 < gop && index + 1 < count ? index + 1 : index;
}

const ACCESS_UNIT = fc
  .tuple(fc.integer({ min: 1, max: 300 }), fc.nat(255))
  .map(([length, fill]) => Buffer.alloc(length, fill));
/** One unit, which may be cut in pieces, or several in one packet. */
const SOUND_PACKETS = fc.record({
  units: fc.oneof(list(ACCESS_UNIT, 1), list(ACCESS_UNIT, 1, 6)),
  cut: mixed([3, fc.constant(undefined)], [2, fc.nat()]),
});

const AUDIO = fc.tuple(START, list(SOUND_PACKETS, 1, 12)).map(([start, all]): SentStream => {
  const packets = new Packets(start);
  const frames: SentFrame[] = [];
  let ticks = 0;
  for (const { units, cut } of all) {
    const body = packets.add(soundPayloads(units, cut), ticks, true);
    for (const unit of units) {
      frames.push({ isKey: true, units: [unit], ticks, head: [], body });
      ticks += AUDIO_UNIT;
    }
  }
  return {
    kind: 'audio',
    encoding: 'MPEG4-GENERIC',
    clockRate: AUDIO_RATE,
    parameters: [
      ['mode', 'AAC-hbr'],
      ['config', '1190'],
      ['sizelength', '13'],
      ['indexlength', '3'],
      ['indexdeltalength', '3'],
    ],
    packets: packets.all,
    frames,
    precious: new Set(),
  };
});

function soundPayloads(units: readonly Buffer[], drawn: number | undefined): Buffer[] {
  const [first] = units;
  const sizes = units.map(({ length }) => length);
  if (units.length > 1 || first === undefined || first.length < 2 || drawn === undefined)
    return [headed(sizes, Buffer.concat(units))];
  const cut = 1 + (drawn % (first.length - 1));
  return [first.subarray(0, cut), first.subarray(cut)].map((piece) => headed(sizes, piece));
}

function headed(sizes: readonly number[], data: Buffer): Buffer {
  const headers = new FuzzBitWriter().bits(sizes.length * 16, 16);
  for (const size of sizes) headers.bits(size, 13).bits(0, 3);
  return Buffer.concat([headers.filled(), data]);
}

/** Streams of up to two dozen frames. */
export const RTP_STREAM = mixed([4, VIDEO], [1, AUDIO]);
