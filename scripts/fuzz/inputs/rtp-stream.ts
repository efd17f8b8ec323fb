import type { Random } from '../random';
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

/** A stream of up to two dozen frames; numbers and time stamps begin anywhere, often shortly before they wrap. */
export function rtpStream(random: Random): SentStream {
  return random.chance(0.2) ? audioStream(random) : videoStream(random, random.pick(CODECS));
}

/** Units that no genuine stream of ours has, for what is changed: hints, other kinds of packets. */
export function oddPayload(random: Random): Buffer {
  const kinds = [
    h264Recovery(),
    h264Recovery(9),
    h265Slice({ type: H265.cra }),
    h265Slice({ type: H265.rasl }),
  ];
  const heads = [25, 26, 27, 29, 0x7c, 0x78, 96, 98, 100].map((head) =>
    Buffer.from([head, 0xff, 0xff, 0x41]),
  );
  return random.pick([...kinds, ...heads, Buffer.alloc(0), Buffer.alloc(3000, random.below(256))]);
}

class Packets {
  readonly all: Buffer[] = [];
  readonly #sequence: number;
  readonly #time: number;

  constructor(random: Random) {
    this.#sequence = random.chance(0.5) ? 0xffff - random.below(20) : random.below(0x10000);
    this.#time = random.chance(0.5) ? 0xffffffff - random.below(VIDEO_RATE) : random.below(2 ** 32);
  }

  /** @returns their places */
  add(payloads: readonly Buffer[], ticks: number, isMarked: boolean): number[] {
    return payloads.map((payload, index) => {
      const place = this.all.length;
      const [sequence, rtpTime] = [this.#sequence + place, this.#time + ticks];
      const marker = isMarked && index === payloads.length - 1;
      this.all.push(rtpPacket(payload, { sequence, rtpTime, marker }));
      return place;
    });
  }
}

function videoStream(random: Random, codec: Codec): SentStream {
  const packets = new Packets(random);
  const isDescribed = random.chance(0.5);
  const [count, gop, isReordered] = [1 + random.below(20), 1 + random.below(8), random.chance(0.3)];
  const frames = Array.from({ length: count }, (_, index): SentFrame => {
    const isKey = index % gop === 0;
    const units = slicesOf(random, codec, isKey);
    const ticks = (isReordered ? shownAt(index, gop, count) : index) * 3600;
    const hasSets = isKey && (!isDescribed || random.chance(0.5));
    const head = packets.add(headOf(random, codec, hasSets), ticks, false);
    return { isKey, units, ticks, head, body: packets.add(bodyOf(random, codec, units), ticks, true) };
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
}

function slicesOf(random: Random, codec: Codec, isKey: boolean): Buffer[] {
  const count = random.chance(0.2) ? 2 + random.below(3) : 1;
  return Array.from({ length: count }, (_, index) =>
    codec.slice(isKey, index === 0, random.below(isKey ? 900 : 90)),
  );
}

function headOf(random: Random, codec: Codec, hasSets: boolean): Buffer[] {
  const sets = hasSets ? codec.sets : [];
  const units = random.chance(0.2) ? [random.pick(codec.extras), ...sets] : sets;
  return units.length > 0 && random.chance(0.5) ? [codec.aggregate(units)] : units;
}

function bodyOf(random: Random, codec: Codec, slices: readonly Buffer[]): Buffer[] {
  if (random.chance(0.2)) return [codec.aggregate(slices)];
  return slices.flatMap((slice) =>
    random.chance(0.4) ? codec.pieces(slice, 1 + random.below(400)) : [slice],
  );
}

/** Of a pair behind a key frame the second is shown first. */
function shownAt(index: number, gop: number, count: number): number {
  const place = index % gop;
  if (place > 0 && place % 2 === 0) return index - 1;
  return place > 0 && place + 1 < gop && index + 1 < count ? index + 1 : index;
}

function audioStream(random: Random): SentStream {
  const packets = new Packets(random);
  const frames: SentFrame[] = [];
  for (let ticks = 0, count = 1 + random.below(12); count > 0; count -= 1) {
    const units = Array.from({ length: random.chance(0.5) ? 1 : 1 + random.below(6) }, () =>
      accessUnit(random),
    );
    const places = packets.add(soundPayloads(random, units), ticks, true);
    for (const [index, unit] of units.entries())
      frames.push({ isKey: true, units: [unit], ticks: ticks + index * AUDIO_UNIT, head: [], body: places });
    ticks += units.length * AUDIO_UNIT;
  }
  const parameters: [string, string][] = [
    ['mode', 'AAC-hbr'],
    ['config', '1190'],
    ['sizelength', '13'],
    ['indexlength', '3'],
    ['indexdeltalength', '3'],
  ];
  const encoding = 'MPEG4-GENERIC';
  return {
    kind: 'audio',
    encoding,
    clockRate: AUDIO_RATE,
    parameters,
    packets: packets.all,
    frames,
    precious: new Set(),
  };
}

function accessUnit(random: Random): Buffer {
  return Buffer.alloc(1 + random.below(300), random.below(256));
}

/** One unit may be cut in pieces, several are in one packet. */
function soundPayloads(random: Random, units: readonly Buffer[]): Buffer[] {
  const [first] = units;
  if (units.length > 1 || first === undefined || first.length < 2 || random.chance(0.6))
    return [
      headed(
        units.map(({ length }) => length),
        Buffer.concat(units),
      ),
    ];
  const cut = 1 + random.below(first.length - 1);
  return [first.subarray(0, cut), first.subarray(cut)].map((piece) => headed([first.length], piece));
}

function headed(sizes: readonly number[], data: Buffer): Buffer {
  const headers = new FuzzBitWriter().bits(sizes.length * 16, 16);
  for (const size of sizes) headers.bits(size, 13).bits(0, 3);
  return Buffer.concat([headers.filled(), data]);
}
