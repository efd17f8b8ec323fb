import { BitReader } from '../../bytes';
import { RvmError } from '../../error';
import type { AudioFormat, AudioFrame, TimedPayload, Track } from '../media';

const INTERLEAVED =
  'The camera sends its sound interleaved, which is not supported: choose another audio codec in the camera, or switch its sound off.';

/** Extracts the access units of AAC from their packets (RFC 3640). */
export class AacTrack implements Track {
  readonly audio: AudioFormat;
  fault: RvmError | undefined;
  /** A unit split over several packets, as far as it has arrived. */
  #pieces: { size: number; time: number; data: Buffer } | undefined;

  constructor(
    private readonly config: AudioConfig,
    private readonly layout: AuLayout,
  ) {
    this.audio = config.format;
  }

  read({ payload, time }: TimedPayload): AudioFrame[] {
    const headers = readAuHeaders(payload, this.layout);
    if (headers === undefined) return this.#drop();
    const { sizes, isInterleaved, data } = headers;
    if (isInterleaved) {
      this.fault ??= new RvmError('VIDEO_FAILED', INTERLEAVED);
      return this.#drop();
    }
    const [size = 0] = sizes;
    if (sizes.length === 1 && size > data.length) return this.#addPiece(size, time, data);
    this.#pieces = undefined;
    return this.#units(sizes, time, data);
  }

  gap(): void {
    this.#pieces = undefined;
  }

  /** Drops a unit whose last piece is missing. */
  flush(): AudioFrame[] {
    return this.#drop();
  }

  #units(sizes: readonly number[], time: number, data: Buffer): AudioFrame[] {
    const frames: AudioFrame[] = [];
    let at = 0;
    for (const [index, size] of sizes.entries()) {
      const end = at + size;
      if (end > data.length) return frames;
      if (size > 0) frames.push(this.#frame(data.subarray(at, end), time + index * this.config.unitSeconds));
      at = end;
    }
    return frames;
  }

  /** Each piece carries the header of the whole unit (section 3.2.3). */
  #addPiece(size: number, time: number, data: Buffer): AudioFrame[] {
    const former = this.#pieces;
    const isNext = former !== undefined && former.size === size && former.time === time;
    const soFar = isNext ? Buffer.concat([former.data, data]) : Buffer.from(data);
    this.#pieces = { size, time, data: soFar };
    if (soFar.length < size) return [];
    this.#pieces = undefined;
    return soFar.length === size ? [this.#frame(soFar, time)] : [];
  }

  /** Copies the bytes: a view would keep the whole read buffer of the socket in memory. */
  #frame(data: Buffer, time: number): AudioFrame {
    return { kind: 'audio', format: this.audio, data: Buffer.from(data), time };
  }

  #drop(): AudioFrame[] {
    this.#pieces = undefined;
    return [];
  }
}

interface AuHeaders {
  /** Bytes of each access unit; for a piece, of the whole unit. */
  sizes: number[];
  /** The units of the packet are not consecutive in time. */
  isInterleaved: boolean;
  /** The bytes after the headers. */
  data: Buffer;
}

/** Access units per packet: more than a second of audio. */
const MOST_UNITS = 128;
const LENGTH_BYTES = 2;

/** Parses the headers of a payload (RFC 3640, sections 3.2.1 and 3.2.2); undefined if malformed. */
function readAuHeaders(payload: Buffer, layout: AuLayout): AuHeaders | undefined {
  if (payload.length < LENGTH_BYTES) return undefined;
  const bits = payload.readUInt16BE(0);
  const end = LENGTH_BYTES + Math.ceil(bits / 8);
  if (end > payload.length) return undefined;
  const reader = new BitReader(payload.subarray(LENGTH_BYTES, end));
  const sizes: number[] = [];
  let isInterleaved = false;
  while (reader.position < bits && sizes.length < MOST_UNITS) {
    const { size, step } = readOne(reader, layout, sizes.length === 0);
    sizes.push(size);
    isInterleaved ||= step !== 0;
  }
  const data = behindAuxiliary(payload.subarray(end), layout.auxiliarySize);
  if (reader.exceeded || reader.position !== bits || data === undefined) return undefined;
  return { sizes, isInterleaved, data };
}

/** @returns `step` = units between this one and the previous one of the packet */
function readOne(reader: BitReader, layout: AuLayout, isFirst: boolean): { size: number; step: number } {
  const size = reader.bits(layout.size);
  const index = reader.bits(isFirst ? layout.index : layout.indexDelta);
  // The first unit has no composition delta: the RTP time stamp is its composition time.
  if (layout.compositionDelta > 0 && reader.flag()) reader.skip(layout.compositionDelta);
  if (layout.decodingDelta > 0 && reader.flag()) reader.skip(layout.decodingDelta);
  reader.skip(layout.randomAccess + layout.streamState);
  return { size, step: isFirst ? 0 : index };
}

/** Skips the auxiliary section: its length in bits, and as many bits (section 3.2.2). */
function behindAuxiliary(rest: Buffer, sizeBits: number): Buffer | undefined {
  if (sizeBits === 0) return rest;
  const reader = new BitReader(rest);
  const bits = reader.bits(sizeBits);
  const end = Math.ceil((sizeBits + bits) / 8);
  return reader.exceeded || end > rest.length ? undefined : rest.subarray(end);
}

/** Sizes of the header fields of access units, in bits (RFC 3640, section 4.1); 0 = absent. */
export interface AuLayout {
  size: number;
  index: number;
  indexDelta: number;
  compositionDelta: number;
  decodingDelta: number;
  randomAccess: number;
  streamState: number;
  /** Size of the length field of the auxiliary section. */
  auxiliarySize: number;
}

const MOST_BITS = 32;
/** Bits of a size: AAC needs 13. */
const MOST_SIZE = 16;

/** Reads the layout from the parameters of `a=fmtp`; undefined where they are invalid or lack the sizes. */
export function auLayoutOf(parameters: ReadonlyMap<string, string>): AuLayout | undefined {
  const bits = (name: string): number => Number(parameters.get(name) ?? '0');
  const layout: AuLayout = {
    size: bits('sizelength'),
    index: bits('indexlength'),
    indexDelta: bits('indexdeltalength'),
    compositionDelta: bits('ctsdeltalength'),
    decodingDelta: bits('dtsdeltalength'),
    randomAccess: bits('randomaccessindication'),
    streamState: bits('streamstateindication'),
    auxiliarySize: bits('auxiliarydatasizelength'),
  };
  const isRight = Object.values(layout).every(
    (each) => Number.isInteger(each) && each >= 0 && each <= MOST_BITS,
  );
  return isRight && layout.size > 0 && layout.size <= MOST_SIZE && layout.randomAccess <= 1
    ? layout
    : undefined;
}

/** Content of an `AudioSpecificConfig` (ISO/IEC 14496-3, section 1.6.2.1). */
export interface AudioConfig {
  format: AudioFormat;
  /** Seconds of one access unit. */
  unitSeconds: number;
}

/** Sampling rates by index (table 1.18). */
const RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];
/** With this index, the rate follows in 24 bits. */
const OTHER_RATE = 15;
/** Channels by channel configuration (table 1.19); with 0, a later element contains them. */
const CHANNELS = [undefined, 1, 2, 3, 4, 5, 6, 8];
/** Object types (table 1.17): spectral band replication and parametric stereo precede the type that they extend. */
const SBR = 5;
const PS = 29;
const OTHER_TYPE = 31;
/** Highest of the object types Main, LC, SSR and LTP: those of RFC 3640 whose configuration begins with the frame length. */
const GENERAL_AUDIO = 4;
const MOST_BYTES = 64;

/**
 * @param channels of the session description, used where the configuration leaves them to a later element
 * @returns undefined where the configuration is not AAC or is malformed
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
  const count = announced === PS ? 2 : channelsOf(configuration, channels);
  if (reader.exceeded || rate === 0 || sampleRate === 0 || count === undefined) return undefined;
  if (type === 0 || type > GENERAL_AUDIO) return undefined;
  const codecString = `mp4a.40.${announced}`;
  const format = { codec: 'aac', description: config, sampleRate, channels: count, codecString } as const;
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
