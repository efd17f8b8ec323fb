import { decoderConfiguration } from './decoder-configuration';
import type { Footage } from './footage';
import { FRAMES_PER_SECOND } from './frame-rate';
import { UNITY_MATRIX, box, fullBox, u16, u32 } from './mp4-boxes';
import type { Subject } from './subject';

const WIDTH = 640;
const HEIGHT = 360;
/** Ticks of a second, and of a picture. */
const TIMESCALE = 1000;
const TICKS = TIMESCALE / FRAMES_PER_SECOND;
/** With B-frames a picture is shown at most this many pictures before its turn to be decoded. */
const DELAY = 2;

interface Sample {
  data: Buffer;
  key: boolean;
  /** Pictures from its turn to be decoded until it is shown. */
  offset: number;
}

/** A scene from one epoch second up to another as an MP4 (ISO/IEC 14496-12) that can be played while it loads. */
export function clipOf(footage: Footage, subject: Subject, from: number, to: number): Buffer {
  const samples = samplesOf(footage, subject, from * FRAMES_PER_SECOND, to * FRAMES_PER_SECOND);
  const head = box('ftyp', Buffer.from('isom'), 512, Buffer.from('isomiso2mp41'));
  // The place of the samples depends on the length of what tells it; that does not depend on the place.
  const begin = head.length + movie(footage, samples, 0).length + 8;
  return Buffer.concat([
    head,
    movie(footage, samples, begin),
    box('mdat', ...samples.map(({ data }) => data)),
  ]);
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
  const header = fullBox(
    'mvhd',
    0,
    0,
    0,
    TIMESCALE,
    duration,
    0x10000,
    u16(0x100),
    Buffer.alloc(10),
    UNITY_MATRIX,
    Buffer.alloc(24),
    2,
  );
  return box('moov', header, track(footage, samples, begin, duration));
}

function track(footage: Footage, samples: readonly Sample[], begin: number, duration: number): Buffer {
  const size = [WIDTH * 0x10000, HEIGHT * 0x10000] as const;
  const header = fullBox('tkhd', 3, 0, 0, 1, 0, duration, Buffer.alloc(16), UNITY_MATRIX, ...size);
  const edits = box('edts', fullBox('elst', 0, 1, duration, DELAY * TICKS, 0x10000));
  const language = u16(0x55c4);
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, 0, TIMESCALE, duration, language, u16(0)),
    fullBox('hdlr', 0, 0, Buffer.from('vide'), Buffer.alloc(12), Buffer.from('Sandbox\0')),
    box(
      'minf',
      fullBox('vmhd', 1, 0, 0),
      box('dinf', fullBox('dref', 0, 1, fullBox('url ', 1))),
      sampleTable(footage, samples, begin),
    ),
  );
  return box('trak', header, edits, media);
}

function sampleTable(footage: Footage, samples: readonly Sample[], begin: number): Buffer {
  const keys = samples.flatMap(({ key }, i) => (key ? [i + 1] : []));
  return box(
    'stbl',
    fullBox('stsd', 0, 1, sampleEntry(footage)),
    fullBox('stts', 0, 1, samples.length, TICKS),
    fullBox('ctts', 0, samples.length, ...samples.flatMap(({ offset }) => [1, offset * TICKS])),
    fullBox('stss', 0, keys.length, ...keys),
    fullBox('stsc', 0, 1, 1, samples.length, 1),
    fullBox('stsz', 0, 0, samples.length, ...samples.map(({ data }) => data.length)),
    fullBox('stco', 0, 1, begin),
  );
}

/** Section 12.1.3. */
function sampleEntry({ codec, parameterSets }: Footage): Buffer {
  const reserved = Buffer.concat([Buffer.alloc(6), u16(1), Buffer.alloc(16)]);
  const size = Buffer.concat([u16(WIDTH), u16(HEIGHT), u32(0x480000), u32(0x480000), u32(0), u16(1)]);
  const tail = Buffer.concat([Buffer.alloc(32), u16(24), u16(0xffff)]);
  return box(
    codec === 'h264' ? 'avc1' : 'hvc1',
    reserved,
    size,
    tail,
    decoderConfiguration(codec, parameterSets),
  );
}
