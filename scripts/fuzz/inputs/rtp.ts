import * as fc from 'fast-check';
import { chance, changes, list, mixed } from './any';
import { FuzzBitWriter } from './bit-writer';
import { h264Pps, h264Recovery, h264Slice, h264Sps } from './h264-units';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from './h265-units';

/** What stands at the head of a packet (RFC 3550, section 5.1). */
export interface PacketFields {
  payloadType?: number;
  sequence?: number;
  rtpTime?: number;
  ssrc?: number;
  marker?: boolean;
  /** Contributing sources. */
  sources?: number;
  /** Bytes of an extension, a multiple of 4. */
  extension?: number;
  /** Bytes behind the payload, with the one that counts them. */
  padding?: number;
}

/** The source of packets, unless told otherwise. */
export const SSRC = 0x12345678;
export const VIDEO_TYPE = 96;

export function rtpPacket(payload: Buffer, fields: PacketFields = {}): Buffer {
  const { payloadType = VIDEO_TYPE, sequence = 0, rtpTime = 0, ssrc = SSRC, marker = false } = fields;
  const { sources = 0, extension, padding = 0 } = fields;
  const head = Buffer.alloc(12);
  head[0] = 0x80 | sources | (extension === undefined ? 0 : 0x10) | (padding > 0 ? 0x20 : 0);
  head[1] = (marker ? 0x80 : 0) | payloadType;
  head.writeUInt16BE(sequence & 0xffff, 2);
  head.writeUInt32BE(rtpTime >>> 0, 4);
  head.writeUInt32BE(ssrc, 8);
  const filler = Buffer.alloc(padding);
  if (padding > 0) filler[padding - 1] = padding;
  return Buffer.concat([head, Buffer.alloc(sources * 4), extensionBytes(extension), payload, filler]);
}

function extensionBytes(length: number | undefined): Buffer {
  if (length === undefined) return Buffer.alloc(0);
  const head = Buffer.from([0xbe, 0xde, 0, 0]);
  head.writeUInt16BE(length / 4, 2);
  return Buffer.concat([head, Buffer.alloc(length, 0x11)]);
}

/** Units behind each other, each with its length: what stands in STAP-A and in aggregation packets. */
function lengthPrefixed(units: readonly Buffer[]): Buffer {
  return Buffer.concat(
    units.flatMap((unit) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(unit.length);
      return [length, unit];
    }),
  );
}

/** RFC 6184, section 5.7.1. */
export function stapA(units: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0x78]), lengthPrefixed(units)]);
}

/** The payloads of a unit in pieces of so many bytes (RFC 6184, section 5.8). */
export function fuA(unit: Buffer, size: number): Buffer[] {
  const first = unit.readUInt8(0);
  return piecesOf(unit.subarray(1), size).map(({ piece, edges }) =>
    Buffer.concat([Buffer.from([(first & 0xe0) | 28, edges | (first & 0x1f)]), piece]),
  );
}

/** RFC 7798, section 4.4.2. */
export function aggregationPacket(units: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([48 << 1, 1]), lengthPrefixed(units)]);
}

/** RFC 7798, section 4.4.3. */
export function fragmentationUnits(unit: Buffer, size: number): Buffer[] {
  const [first, second] = [unit.readUInt8(0), unit.readUInt8(1)];
  return piecesOf(unit.subarray(2), size).map(({ piece, edges }) =>
    Buffer.concat([Buffer.from([(first & 0x81) | (49 << 1), second, edges | ((first >> 1) & 0x3f)]), piece]),
  );
}

/** At least two; `edges` has the bits of start and end. */
function piecesOf(bytes: Buffer, size: number): { piece: Buffer; edges: number }[] {
  const step = Math.max(1, Math.min(size, Math.ceil(bytes.length / 2)));
  const starts = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => index * step);
  return starts.map((start, index) => ({
    piece: bytes.subarray(start, start + step),
    edges: (index === 0 ? 0x80 : 0) | (index === starts.length - 1 ? 0x40 : 0),
  }));
}

interface ReportFields {
  ssrc?: number;
  ntpSeconds?: number;
  ntpFraction?: number;
  rtpTime?: number;
}

/** RFC 3550, section 6.4.1, without report blocks. */
export function senderReport(fields: ReportFields = {}): Buffer {
  const { ssrc = SSRC, ntpSeconds = 0, ntpFraction = 0, rtpTime = 0 } = fields;
  const report = Buffer.alloc(28);
  report[0] = 0x80;
  report[1] = 200;
  report.writeUInt16BE(6, 2);
  for (const [index, value] of [ssrc, ntpSeconds, ntpFraction, rtpTime].entries())
    report.writeUInt32BE(value >>> 0, 4 + index * 4);
  return report;
}

/** RFC 3550, section 6.6. */
export function bye(ssrcs: readonly number[] = [SSRC]): Buffer {
  const packet = Buffer.alloc(4 + ssrcs.length * 4);
  packet[0] = 0x80 | ssrcs.length;
  packet[1] = 203;
  packet.writeUInt16BE(ssrcs.length, 2);
  for (const [index, ssrc] of ssrcs.entries()) packet.writeUInt32BE(ssrc, 4 + index * 4);
  return packet;
}

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
const ODD_PAYLOAD = fc.constantFrom(
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
      const position = this.all.length;
      const [sequence, rtpTime] = [this.start[0] + position, this.start[1] + ticks];
      const marker = isMarked && index === payloads.length - 1;
      this.all.push(rtpPacket(payload, { sequence, rtpTime, marker }));
      return position;
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
  const position = index % gop;
  if (position > 0 && position % 2 === 0) return index - 1;
  return position > 0 && position + 1 < gop && index + 1 < count ? index + 1 : index;
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
const RTP_STREAM = mixed([4, VIDEO], [1, AUDIO]);

/** What comes of a stream, in the order in which it comes. */
export interface Delivery {
  arrivals: Arrival[];
  /** Places of packets that did not come. Undefined where something came that was never sent. */
  missing: ReadonlySet<number> | undefined;
}

interface Arrival {
  rtcp: boolean;
  bytes: Buffer;
}

function ofRtp(bytes: Buffer): Arrival {
  return { rtcp: false, bytes };
}

/** What becomes of a packet: lost, or how many places later it comes, and comes again. */
interface Fate {
  isLost?: boolean;
  late?: number;
  again?: number;
}

type Oddity = (bytes: Buffer, other: Buffer) => Arrival;

/** How far a packet may be overtaken: less than what a receiver waits for. */
const LATE = fc.nat(3);
const FATE = mixed<Fate>(
  [73, fc.constant({})],
  [10, fc.constant({ isLost: true })],
  [8, fc.record({ again: LATE })],
  [8, fc.record({ late: LATE })],
  [1, fc.record({ again: LATE, late: LATE })],
);

/** Late, twice, and not at all. The first packet comes, and first: nothing says that there was one before it. No sound is overtaken: it is not waited for. */
function disturbed({ kind, packets, precious }: SentStream): fc.Arbitrary<Delivery> {
  return fc
    .tuple(list(FATE, packets.length), fc.boolean(), fc.boolean(), fc.boolean())
    .map(([fates, loses, delays, repeats]) => {
      const missing = new Set<number>();
      const placed = packets.flatMap((bytes, position) => {
        const { isLost = false, late = 0, again } = fates[position] ?? {};
        if (loses && isLost && position > 0 && !precious.has(position)) {
          missing.add(position);
          return [];
        }
        const first = { at: position + (delays && kind === 'video' && position > 0 ? late : 0), bytes };
        return repeats && again !== undefined ? [first, { at: position + again, bytes }] : [first];
      });
      const arrivals = placed.sort((one, other) => one.at - other.at).map(({ bytes }) => ofRtp(bytes));
      return { arrivals, missing };
    });
}

const U32 = fc.integer({ min: 0, max: 0xffffffff });
const REPORT = fc
  .record({ ntpSeconds: U32, ntpFraction: U32, rtpTime: U32, ssrcs: fc.constantFrom(undefined, []) })
  .map(({ ssrcs, ...times }) => Buffer.concat([senderReport(times), bye(ssrcs)]));

/** Another number, time stamp, source or mark. */
const OTHER_HEAD = fc.oneof<fc.Arbitrary<(copy: Buffer) => void>[]>(
  fc.constantFrom(1, 90, 4000, 32_768).map((more) => (copy) => {
    copy.writeUInt16BE((copy.readUInt16BE(2) + more) & 0xffff, 2);
  }),
  fc.constantFrom(1, 2 ** 31, 5_000_000).map((more) => (copy) => {
    copy.writeUInt32BE((copy.readUInt32BE(4) + more) % 2 ** 32, 4);
  }),
  fc.nat(2).map((ssrc) => (copy) => copy.writeUInt32BE(ssrc, 8)),
  fc.constantFrom(0x80, 1, 0x40).map((bits) => (copy) => copy.writeUInt8(copy.readUInt8(1) ^ bits, 1)),
);

const CHANGED = changes(1, 3).map(
  (change): Oddity =>
    (bytes, other) =>
      ofRtp(change(bytes, other)),
);
/** Of a packet, with another one of its stream: changed, or one that was never sent. */
const ODD_ARRIVAL = fc.oneof<fc.Arbitrary<Oddity>[]>(
  CHANGED,
  CHANGED,
  changes(2).map((change) => (bytes, other) => withPayload(bytes, change(bytes.subarray(12), other))),
  ODD_PAYLOAD.map((payload) => (bytes) => withPayload(bytes, payload)),
  OTHER_HEAD.map((change) => (bytes) => {
    const copy = Buffer.from(bytes);
    change(copy);
    return ofRtp(copy);
  }),
  fc.tuple(ODD_PAYLOAD, fc.record({ sequence: fc.nat(0xffff), rtpTime: U32 })).map(
    ([payload, fields]) =>
      () =>
        ofRtp(rtpPacket(payload, fields)),
  ),
  fc.tuple(REPORT, changes(0, 2)).map(([report, change]) => () => ({ rtcp: true, bytes: change(report) })),
);

function withPayload(bytes: Buffer, payload: Buffer): Arrival {
  return ofRtp(Buffer.concat([bytes.subarray(0, 12), payload]));
}

const SOMETIMES_ODD = [2, 10, 50].map((percent) =>
  mixed([100 - percent, fc.constant(undefined)], [percent, fc.tuple(ODD_ARRIVAL, fc.nat(), fc.boolean())]),
);

/** Some of the packets with changes, and others between them. */
function changed({ packets }: SentStream): fc.Arbitrary<Delivery> {
  return fc.oneof(...SOMETIMES_ODD.map((odd) => list(odd, packets.length))).map((all) => ({
    arrivals: packets.flatMap((bytes, position) => {
      const odd = all[position];
      if (odd === undefined) return [ofRtp(bytes)];
      const [change, other, isInstead] = odd;
      const arrival = change(bytes, packets[other % packets.length] ?? bytes);
      return isInstead ? [arrival] : [ofRtp(bytes), arrival];
    }),
    missing: undefined,
  }));
}

/** A stream, and what comes of it: all; or late, twice, and not at all; or changed. */
export const DELIVERED = RTP_STREAM.chain((stream) =>
  mixed(
    [15, fc.constant<Delivery>({ arrivals: stream.packets.map(ofRtp), missing: new Set() })],
    [35, disturbed(stream)],
    [50, changed(stream)],
  ).map((delivery) => ({ stream, delivery })),
);
