import type { AudioFormat, VideoFormat } from '../media';
import { shownWidth } from './timeline';

/** Boxes of an MP4 and the numbers in them (ISO/IEC 14496-12, section 4.2). */

function box(type: string, ...content: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  const whole = Buffer.concat([head, ...content]);
  whole.writeUInt32BE(whole.length);
  whole.write(type, 4, 'latin1');
  return whole;
}

/** A box with version and flags. */
function fullBox(type: string, version: number, flags: number, ...content: readonly Buffer[]): Buffer {
  return box(type, u32(version * 2 ** 24 + flags), ...content);
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** @param value below 2^53 */
function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function text(characters: string): Buffer {
  return Buffer.from(characters, 'latin1');
}

function zeros(bytes: number): Buffer {
  return Buffer.alloc(bytes);
}

/** 72 pixels per inch, the usual value, with 16 binary places. */
const RESOLUTION = 0x480000;
/** 24 bits, no palette (ISO/IEC 14496-12, section 12.1.3). */
const DEPTH = 0x18;
/** `slConfigDescriptor` of an MP4 (ISO/IEC 14496-14, section 3.1.2). */
const SL_CONFIG = Buffer.from([6, 1, 2]);
/** MPEG-4 audio, as an audio stream (ISO/IEC 14496-1, section 7.2.6.6). */
const AAC = Buffer.from([0x40, 0x15]);

/** Sample entry of the video: `avc1` or `hvc1`, which contain the only parameter sets (ISO/IEC 14496-15). */
function videoEntry({ codec, width, height, pixelAspect, description }: VideoFormat): Buffer {
  const isH264 = codec === 'h264';
  return box(
    isH264 ? 'avc1' : 'hvc1',
    reserved(),
    zeros(16),
    u16(width, height),
    u32(RESOLUTION, RESOLUTION, 0),
    u16(1),
    zeros(32),
    u16(DEPTH, 0xffff),
    box(isH264 ? 'avcC' : 'hvcC', description),
    ...(pixelAspect === undefined ? [] : [box('pasp', u32(pixelAspect.across, pixelAspect.down))]),
  );
}

/** Sample entry of AAC: `mp4a`. */
function audioEntry({ channels, sampleRate, description }: AudioFormat): Buffer {
  // The field has 16 bits; a higher rate is in the description only.
  const rate = sampleRate < 0x10000 ? sampleRate : 0;
  return box(
    'mp4a',
    reserved(),
    zeros(8),
    u16(channels, 16),
    zeros(4),
    u16(rate, 0),
    fullBox('esds', 0, 0, elementaryStream(description)),
  );
}

/** Start of every sample entry: the data is in this file. */
function reserved(): Buffer {
  return Buffer.concat([zeros(6), u16(1)]);
}

function elementaryStream(description: Buffer): Buffer {
  const specific = descriptor(5, description);
  // Sizes of the decoder's buffer and rates: unknown.
  const config = descriptor(4, AAC, zeros(3), u32(0, 0), specific);
  return descriptor(3, u16(0), text('\0'), config, SL_CONFIG);
}

/** Tag and length, which has as many bytes as needed, seven bits in each (ISO/IEC 14496-1, section 8.3.3). */
function descriptor(tag: number, ...content: readonly Buffer[]): Buffer {
  const whole = Buffer.concat(content);
  const length = [whole.length & 0x7f];
  for (let left = whole.length >> 7; left > 0; left >>= 7) length.unshift((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([tag, ...length]), whole]);
}

export const VIDEO_TRACK = 1;
export const AUDIO_TRACK = 2;
/** Ticks per second of the video track, as in RTP. */
export const VIDEO_CLOCK = 90_000;

/** Identity: no rotation, no scaling. */
const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
/** Undetermined: `und`, in letters of five bits. */
const LANGUAGE = 0x55c4;
const ONE = 0x10000;
const FULL_VOLUME = 0x100;
/** Track enabled, and part of the presentation. */
const ENABLED = 3;

interface Track {
  id: number;
  handler: 'vide' | 'soun';
  clock: number;
  /** Displayed size in pixels; 0 for audio. */
  width: number;
  height: number;
  /** Sample entry. */
  entry: Buffer;
}

/**
 * The initialisation for a player (ISO/IEC 14496-12, section 8.8): the tracks and their decoder
 * configurations.
 * @param seconds maximum length of all fragments together; without it browsers assume live video and decode
 *   too few pictures ahead
 */
export function initialisation(video: VideoFormat, audio?: AudioFormat, seconds?: number): Buffer {
  const tracks = [videoTrack(video), ...(audio === undefined ? [] : [audioTrack(audio)])];
  const extended = tracks.map(({ id }) => fullBox('trex', 0, 0, u32(id, 1, 0, 0, 0)));
  return Buffer.concat([
    box('ftyp', text('iso5'), u32(0x200), text('iso5iso6mp41')),
    box('moov', movieHeader(), ...tracks.map(trackBox), box('mvex', ...lengthOf(seconds), ...extended)),
  ]);
}

function videoTrack(format: VideoFormat): Track {
  const [width, entry] = [shownWidth(format), videoEntry(format)];
  return { id: VIDEO_TRACK, handler: 'vide', clock: VIDEO_CLOCK, width, height: format.height, entry };
}

function audioTrack(format: AudioFormat): Track {
  const clock = format.sampleRate;
  return { id: AUDIO_TRACK, handler: 'soun', clock, width: 0, height: 0, entry: audioEntry(format) };
}

/** Length in ticks of the movie header. */
function lengthOf(seconds: number | undefined): Buffer[] {
  const length = Math.round((seconds ?? 0) * VIDEO_CLOCK);
  return length > 0 && length < 2 ** 32 ? [fullBox('mehd', 0, 0, u32(length))] : [];
}

function movieHeader(): Buffer {
  const rate = Buffer.concat([u32(ONE), u16(FULL_VOLUME), zeros(10)]);
  return fullBox('mvhd', 0, 0, u32(0, 0, VIDEO_CLOCK, 0), rate, MATRIX, zeros(24), u32(AUDIO_TRACK + 1));
}

function trackBox(track: Track): Buffer {
  const volume = track.handler === 'soun' ? FULL_VOLUME : 0;
  const shown = Buffer.concat([MATRIX, u32(Math.round(track.width * ONE), track.height * ONE)]);
  return box(
    'trak',
    fullBox('tkhd', 0, ENABLED, u32(0, 0, track.id, 0, 0), zeros(8), u16(0, 0, volume, 0), shown),
    box(
      'mdia',
      fullBox('mdhd', 0, 0, u32(0, 0, track.clock, 0), u16(LANGUAGE, 0)),
      fullBox('hdlr', 0, 0, u32(0), text(track.handler), zeros(13)),
      box('minf', mediaHeader(track), dataReference(), sampleTable(track.entry)),
    ),
  );
}

function mediaHeader({ handler }: Track): Buffer {
  return handler === 'vide' ? fullBox('vmhd', 0, 1, zeros(8)) : fullBox('smhd', 0, 0, zeros(4));
}

/** The data is in this file. */
function dataReference(): Buffer {
  return box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
}

/** Empty: the samples are in the fragments. */
function sampleTable(entry: Buffer): Buffer {
  return box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), entry),
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0, 0)),
    fullBox('stco', 0, 0, u32(0)),
  );
}

/** One sample of a fragment; times on the clock of its track. */
export interface FragmentSample {
  data: Buffer;
  duration: number;
  /** From decoding to display; negative where more pictures were reordered than expected. */
  offset: number;
  key: boolean;
}

/** Samples of a track, each beginning where the one before ends. */
export interface TrackRun {
  track: number;
  /** When the first is decoded. */
  start: number;
  samples: readonly FragmentSample[];
}

/** Offsets count from the beginning of the fragment (ISO/IEC 14496-12, section 8.8.7). */
const FROM_FRAGMENT = 0x020000;
/** Each sample has duration, size, flags and offset; the run has the position of its data (section 8.8.8). */
const ALL_FIELDS = 0xf01;
/** Flags of a sample (section 8.8.3.1): it depends on no other; it does, and decoding cannot begin here. */
const KEY = 0x02000000;
const NO_KEY = 0x01010000;
const HEAD = 8;

/** A fragment. If it begins with a key frame, it can be played alone after an initialisation. */
export function movieFragment(sequence: number, runs: readonly TrackRun[]): Buffer {
  // Built twice: the offsets depend on the length.
  const { length } = movieFragmentHead(sequence, runs, 0);
  const head = movieFragmentHead(sequence, runs, length + HEAD);
  return Buffer.concat([
    head,
    box('mdat', ...runs.flatMap(({ samples }) => samples.map(({ data }) => data))),
  ]);
}

function movieFragmentHead(sequence: number, runs: readonly TrackRun[], dataAt: number): Buffer {
  let at = dataAt;
  const tracks = runs.map((run) => {
    const track = trackFragment(run, at);
    at += run.samples.reduce((sum, { data }) => sum + data.length, 0);
    return track;
  });
  return box('moof', fullBox('mfhd', 0, 0, u32(sequence)), ...tracks);
}

function trackFragment({ track, start, samples }: TrackRun, dataAt: number): Buffer {
  const entries = samples.map(({ data, duration, key, offset }) =>
    Buffer.concat([u32(duration, data.length, key ? KEY : NO_KEY), i32(offset)]),
  );
  return box(
    'traf',
    fullBox('tfhd', 0, FROM_FRAGMENT, u32(track)),
    fullBox('tfdt', 1, 0, u64(start)),
    // Version 1: offsets may be below 0.
    fullBox('trun', 1, ALL_FIELDS, u32(samples.length, dataAt), ...entries),
  );
}

/** Samples of an access unit of AAC (ISO/IEC 14496-3, section 4.5.2.1). */
export const AAC_SAMPLES = 1024;
