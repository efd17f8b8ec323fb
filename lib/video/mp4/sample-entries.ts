import type { AudioFormat, VideoFormat } from '../media';
import { box, fullBox, text, u16, u32, zeros } from './boxes';

/** 72 pixels an inch, as all write it: a number with 16 binary places. */
const RESOLUTION = 0x480000;
/** No palette (ISO/IEC 14496-12, section 12.1.3). */
const DEPTH = 0x18;
/** `slConfigDescriptor` of an MP4 (ISO/IEC 14496-14, section 3.1.2). */
const SL_CONFIG = Buffer.from([6, 1, 2]);
/** MPEG-4 audio, as an audio stream (ISO/IEC 14496-1, section 7.2.6.6). */
const AAC = Buffer.from([0x40, 0x15]);

/** How pictures are decoded: `avc1` or `hvc1`, whose parameter sets stand here alone (ISO/IEC 14496-15). */
export function videoEntry({ codec, width, height, pixelAspect, description }: VideoFormat): Buffer {
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

/** How AAC is decoded: `mp4a`. */
export function audioEntry({ channels, sampleRate, description }: AudioFormat): Buffer {
  // The field has 16 bits; what is faster stands in the description alone.
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

/** Before all entries: the data lie in this file. */
function reserved(): Buffer {
  return Buffer.concat([zeros(6), u16(1)]);
}

function elementaryStream(description: Buffer): Buffer {
  const specific = descriptor(5, description);
  // Sizes of the decoder's buffer and rates: unknown.
  const config = descriptor(4, AAC, zeros(3), u32(0, 0), specific);
  return descriptor(3, u16(0), text('\0'), config, SL_CONFIG);
}

/** Tag and length, which has as many bytes as it needs, seven bits in each (ISO/IEC 14496-1, section 8.3.3). */
function descriptor(tag: number, ...content: readonly Buffer[]): Buffer {
  const whole = Buffer.concat(content);
  const length = [whole.length & 0x7f];
  for (let left = whole.length >> 7; left > 0; left >>= 7) length.unshift((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([tag, ...length]), whole]);
}
