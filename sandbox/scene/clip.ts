import { unescaped } from './bits';
import type { Footage } from './footage';
import { FRAMES_PER_SECOND, type Subject } from './packs';

const WIDTH = 640;
const HEIGHT = 360;
/** Ticks per second, and per picture. */
const TIMESCALE = 1000;
const TICKS = TIMESCALE / FRAMES_PER_SECOND;
/** With B-frames a picture is shown at most this many pictures before its position in decoding order. */
const DELAY = 2;

interface Sample {
  data: Buffer;
  key: boolean;
  /** Composition offset: pictures from decoding until display. */
  offset: number;
}

/**
 * A scene as an MP4 (ISO/IEC 14496-12) with the index first, so that it can be played while it loads.
 * @param from epoch second of its start
 * @param to epoch second of its end, exclusive
 */
export function clipOf(footage: Footage, subject: Subject, from: number, to: number): Buffer {
  const samples = samplesOf(footage, subject, from * FRAMES_PER_SECOND, to * FRAMES_PER_SECOND);
  const head = box('ftyp', Buffer.from('isom'), 512, Buffer.from('isomiso2mp41'));
  // `moov` contains the offset of the samples, which depends on its length; the length does not depend on the
  // offset.
  const begin = head.length + movie(footage, samples, 0).length + 8;
  const data = box('mdat', ...samples.map((sample) => sample.data));
  return Buffer.concat([head, movie(footage, samples, begin), data]);
}

function samplesOf(footage: Footage, subject: Subject, from: number, to: number): Sample[] {
  return Array.from({ length: to - from }, (_, i) => {
    const { nals, key, shown } = footage.picture(from + i, subject);
    const slices = key ? nals.slice(footage.parameterSets.length) : nals;
    const data = Buffer.concat(slices.flatMap((nal) => [u32(nal.length), nal]));
    return { data, key, offset: shown - (from + i) + DELAY };
  });
}

function movie(footage: Footage, samples: readonly Sample[], begin: number): Buffer {
  const duration = samples.length * TICKS;
  const rateAndVolume = [0x10000, u16(0x100), Buffer.alloc(10)];
  const times = [0, 0, TIMESCALE, duration];
  const header = box('mvhd', 0, ...times, ...rateAndVolume, UNITY_MATRIX, Buffer.alloc(24), 2);
  return box('moov', header, track(footage, samples, begin, duration));
}

function track(footage: Footage, samples: readonly Sample[], begin: number, duration: number): Buffer {
  const size = [WIDTH * 0x10000, HEIGHT * 0x10000] as const;
  const header = box('tkhd', 3, 0, 0, 1, 0, duration, Buffer.alloc(16), UNITY_MATRIX, ...size);
  const edits = box('edts', box('elst', 0, 1, duration, DELAY * TICKS, 0x10000));
  const language = u16(0x55c4);
  const media = box(
    'mdia',
    box('mdhd', 0, 0, 0, TIMESCALE, duration, language, u16(0)),
    box('hdlr', 0, 0, Buffer.from('vide'), Buffer.alloc(12), Buffer.from('Sandbox\0')),
    box(
      'minf',
      box('vmhd', 1, 0, 0),
      box('dinf', box('dref', 0, 1, box('url ', 1))),
      sampleTable(footage, samples, begin),
    ),
  );
  return box('trak', header, edits, media);
}

function sampleTable(footage: Footage, samples: readonly Sample[], begin: number): Buffer {
  const keys = samples.flatMap(({ key }, i) => (key ? [i + 1] : []));
  return box(
    'stbl',
    box('stsd', 0, 1, sampleEntry(footage)),
    box('stts', 0, 1, samples.length, TICKS),
    box('ctts', 0, samples.length, ...samples.flatMap(({ offset }) => [1, offset * TICKS])),
    box('stss', 0, keys.length, ...keys),
    box('stsc', 0, 1, 1, samples.length, 1),
    box('stsz', 0, 0, samples.length, ...samples.map(({ data }) => data.length)),
    box('stco', 0, 1, begin),
  );
}

/** ISO/IEC 14496-12, section 12.1.3. */
function sampleEntry({ codec, parameterSets }: Footage): Buffer {
  const reserved = Buffer.concat([Buffer.alloc(6), u16(1), Buffer.alloc(16)]);
  const size = Buffer.concat([u16(WIDTH), u16(HEIGHT), u32(0x480000), u32(0x480000), u32(0), u16(1)]);
  const tail = Buffer.concat([Buffer.alloc(32), u16(24), u16(0xffff)]);
  const configuration = codec === 'h264' ? avcC(parameterSets) : hvcC(parameterSets);
  return box(codec === 'h264' ? 'avc1' : 'hvc1', reserved, size, tail, configuration);
}

/** ISO/IEC 14496-15, section 5.3.3.1.2. */
function avcC([sps = Buffer.alloc(4), pps = Buffer.alloc(0)]: readonly Buffer[]): Buffer {
  const head = Buffer.concat([Buffer.from([1]), sps.subarray(1, 4), Buffer.from([0xff, 0xe1])]);
  return box('avcC', head, u16(sps.length), sps, Buffer.from([1]), u16(pps.length), pps);
}

/** ISO/IEC 14496-15, section 8.3.3.1.2; profile, tier and level: H.265, section 7.3.2.2. */
function hvcC(parameterSets: readonly Buffer[]): Buffer {
  const sps = unescaped(parameterSets[1] ?? Buffer.alloc(15));
  const fixed = Buffer.from('f000fcfdf8f800000f', 'hex');
  const head = Buffer.from([1, ...sps.subarray(3, 15), ...fixed, parameterSets.length]);
  const arrays = parameterSets.flatMap((nal) => [
    Buffer.from([0x80 | (((nal[0] ?? 0) >>> 1) & 0x3f), 0, 1]),
    u16(nal.length),
    nal,
  ]);
  return box('hvcC', head, ...arrays);
}

type Field = Buffer | number;

/** An MP4 box (ISO/IEC 14496-12, section 4.2): size, name, content. A number is a field of 32 bits: version 0 and flags are one. */
function box(name: string, ...content: readonly Field[]): Buffer {
  const bytes = Buffer.concat(content.map((field) => (typeof field === 'number' ? u32(field) : field)));
  return Buffer.concat([u32(bytes.length + 8), Buffer.from(name, 'latin1'), bytes]);
}

function u16(value: number): Buffer {
  return Buffer.from([(value >>> 8) & 0xff, value & 0xff]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** The identity transformation, 36 bytes (ISO/IEC 14496-12, section 8.2.2). */
const UNITY_MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32));
