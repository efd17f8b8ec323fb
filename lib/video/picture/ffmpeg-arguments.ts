import type { VideoFormat } from '../media';

const DEMUXERS = { h264: 'h264', h265: 'hevc' } satisfies Record<VideoFormat['codec'], string>;
/** Standard input and output are the only protocols: no video can make ffmpeg open a file or a connection. */
const QUIET = ['-hide_banner', '-loglevel', 'error', '-protocol_whitelist', 'pipe'];
/**
 * No probing, which saves a fifth of the time: the stream describes itself. Probing would also have found the reorder depth, so
 * `strict` assumes the largest depth of the level where the stream does not state it (H.264 without `bitstream_restriction`):
 * otherwise B-frames get lost. Two threads: more gain little, and each costs memory.
 */
const AT_ONCE = ['-probesize', '32', '-analyzeduration', '0', '-fpsprobesize', '0'];
const IN_ORDER = ['-strict', '1', '-threads', '2'];
/**
 * Larger pictures are refused before memory is allocated: parameter sets come from a relay, and a decoder may read a larger
 * size from them.
 */
const SMALL = ['-max_pixels', '40000000'];
/**
 * Every input picture is output, so that pictures can be counted. That includes those right after a key frame that is no IDR
 * picture, which a decoder cannot know to be complete.
 */
const ALL = ['-flags', '+output_corrupt'];
/** One JPEG of good quality. Only options that old and new versions share: `-vsync`, for example, became `-fps_mode`. */
const OUTPUT = ['-frames:v', '1', '-threads', '1', '-q:v', '3', '-f', 'mjpeg', 'pipe:1'];
/** Pixels; a wider result can only come from an absurd pixel aspect. */
const WIDEST = 16_384;
/** Pixels. */
const SHEET_WIDTH = 1920;
/** Pixels between the cells of a sheet. */
const GAP = 4;

/**
 * Arguments for one picture of a video.
 * @param before number of pictures shown before it
 * @param width largest width in pixels
 */
export function pictureArguments(codec: VideoFormat['codec'], before: number, width = WIDEST): string[] {
  const input = [...AT_ONCE, ...IN_ORDER, ...SMALL, ...ALL, '-f', DEMUXERS[codec], '-i', 'pipe:0'];
  // The time is reset: otherwise ffmpeg would duplicate the picture to fill the time before it.
  const filters = [`select=eq(n\\,${before})`, 'setpts=0', squarePixels(width), 'setsar=1'];
  return [...QUIET, ...input, '-vf', filters.join(','), ...OUTPUT];
}

/** Scales to square pixels, the only ones of JPEGs; even sizes, as halved chroma requires; never enlarged. */
function squarePixels(width: number): string {
  const shown = `max(2\\,trunc(min(${width}\\,iw*sar)/2)*2)`;
  return `scale=w=${shown}:h=max(2\\,round(ow/dar/2)*2)`;
}

/**
 * Arguments for one JPEG composed of several: rows of up to three, in cells of equal size with the aspect of the first picture;
 * one of another aspect is centred in its cell.
 * @param width largest width of the whole sheet in pixels
 */
export function sheetArguments(pictures: readonly Jpeg[], width = SHEET_WIDTH): string[] {
  const columns = columnsFor(pictures.length);
  const cell = cellOf(pictures[0], (width - GAP * (columns - 1)) / columns);
  const filters = [
    `scale=${cell}:force_original_aspect_ratio=decrease`,
    `pad=${cell}:x=(ow-iw)/2:y=(oh-ih)/2:eval=frame`,
    'setsar=1',
    `tile=layout=${columns}x${Math.ceil(pictures.length / columns)}:padding=${GAP}`,
  ];
  // By default a picture of another size would start another sheet.
  const input = ['-f', 'mjpeg', '-reinit_filter', '0', '-i', 'pipe:0'];
  return [...QUIET, ...input, '-vf', filters.join(','), ...OUTPUT];
}

/** Four are two rows of two. */
function columnsFor(count: number): number {
  return count <= 3 ? count : Math.ceil(Math.sqrt(count));
}

/** A cell is never wider than the first picture. */
function cellOf(first: Jpeg | undefined, available: number): string {
  const { width, height } = first ?? { width: 16, height: 9 };
  const wide = evenBelow(Math.min(width, available));
  return `w=${wide}:h=${evenBelow((wide * height) / width)}`;
}

function evenBelow(length: number): number {
  return Math.max(2, Math.floor(length / 2) * 2);
}

export interface Jpeg {
  jpeg: Buffer;
  /** Pixels. */
  width: number;
  height: number;
}

const START = 0xffd8;
const END = 0xffd9;
const SCAN = 0xda;
/** SOF0 to SOF15 (ITU-T T.81, table B.1), without the three markers in that range that are none. */
const FRAMES = { first: 0xc0, last: 0xcf, others: [0xc4, 0xc8, 0xcc] };
/** Marker and length of a segment. */
const HEAD = 4;

/**
 * Checks that bytes are a JPEG, and reads its size from the frame header (ITU-T T.81, section B.2.2).
 * @returns undefined for bytes that are no JPEG, or an incomplete one
 */
export function jpegIn(bytes: Buffer): Jpeg | undefined {
  if (bytes.length < HEAD || bytes.readUInt16BE(0) !== START) return undefined;
  if (bytes.readUInt16BE(bytes.length - 2) !== END) return undefined;
  for (let at = 2; at + HEAD <= bytes.length;) {
    const marker = bytes.readUInt16BE(at) - 0xff00;
    const length = bytes.readUInt16BE(at + 2);
    if (marker < 0 || marker === SCAN || length < 2) return undefined;
    if (isFrame(marker)) return withSize(bytes, at + HEAD);
    at += 2 + length;
  }
  return undefined;
}

function isFrame(marker: number): boolean {
  return marker >= FRAMES.first && marker <= FRAMES.last && !FRAMES.others.includes(marker);
}

/** @param at position after the length: precision, height, width */
function withSize(bytes: Buffer, at: number): Jpeg | undefined {
  if (at + 5 > bytes.length) return undefined;
  const height = bytes.readUInt16BE(at + 1);
  const width = bytes.readUInt16BE(at + 3);
  return width > 0 && height > 0 ? { jpeg: bytes, width, height } : undefined;
}
