import type { AudioFormat, VideoFormat } from '../media';
import { shownWidth } from './formats';
import { box, fullBox, text, u16, u32, zeros } from './boxes';
import { audioEntry, videoEntry } from './sample-entries';

export const VIDEO_TRACK = 1;
export const AUDIO_TRACK = 2;
/** Parts of a second in which times of pictures are told: those of RTP. */
export const VIDEO_CLOCK = 90_000;

/** Nothing is turned or scaled. */
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
  /** As shown, in pixels; 0 for sound. */
  width: number;
  height: number;
  /** How its samples are decoded. */
  entry: Buffer;
}

/**
 * What a player needs before the first fragment (ISO/IEC 14496-12, section 8.8): the tracks and how they are decoded.
 * @param seconds how long all fragments will be, at most; without it browsers take them for live video and decode too few pictures ahead
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

/** In parts of the clock of the movie's header. */
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

/** The data lie in this file. */
function dataReference(): Buffer {
  return box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)));
}

/** Without samples: the fragments have them. */
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
