import type { AudioFormat } from '../../media';
import { BitReader } from '../../../bytes';

/** What an `AudioSpecificConfig` says (ISO/IEC 14496-3, section 1.6.2.1). */
export interface AudioConfig {
  format: AudioFormat;
  /** Seconds of one access unit. */
  unitSeconds: number;
}

/** By index (table 1.18). */
const RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
/** The rate follows in 24 bits. */
const OTHER_RATE = 15;
/** By channel configuration (table 1.19); 0 = told further down. */
const CHANNELS = [undefined, 1, 2, 3, 4, 5, 6, 8];
/** Object types (table 1.17): spectral band replication and parametric stereo are told before the type they extend. */
const SBR = 5;
const PS = 29;
const OTHER_TYPE = 31;
/** Main, LC, SSR, LTP: those of RFC 3640 whose configuration begins with the length of frames. */
const GENERAL_AUDIO = 4;
const MOST_BYTES = 64;

/**
 * @param channels of the session description, for where the configuration itself leaves them to a longer element
 * @returns undefined for what is no AAC, or cannot be read
 */
export function readAudioConfig(config: Buffer, channels: number): AudioConfig | undefined {
  if (config.length > MOST_BYTES) return undefined;
  const reader = new BitReader(config);
  const announced = objectTypeIn(reader);
  const rate = rateIn(reader);
  const configuration = reader.bits(4);
  const isExtended = announced === SBR || announced === PS;
  const sampleRate = isExtended ? rateIn(reader) : rate;
  const type = isExtended ? objectTypeIn(reader) : announced;
  const samples = reader.flag() ? 960 : 1024;
  const told = announced === PS ? 2 : channelsOf(configuration, channels);
  if (reader.exceeded || rate === 0 || sampleRate === 0 || told === undefined) return undefined;
  if (type === 0 || type > GENERAL_AUDIO) return undefined;
  const codecString = `mp4a.40.${announced}`;
  const format = { codec: 'aac', description: config, sampleRate, channels: told, codecString } as const;
  return { format, unitSeconds: samples / rate };
}

function channelsOf(configuration: number, described: number): number | undefined {
  return configuration === 0 ? described : CHANNELS[configuration];
}

function objectTypeIn(reader: BitReader): number {
  const type = reader.bits(5);
  return type === OTHER_TYPE ? 32 + reader.bits(6) : type;
}

/** 0 for an index that is reserved. */
function rateIn(reader: BitReader): number {
  const index = reader.bits(4);
  return index === OTHER_RATE ? reader.bits(24) : (RATES[index] ?? 0);
}
