import { RvmError } from '../../../error';
import type { AudioFormat, AudioFrame } from '../../media';
import type { TimedPayload, Track } from '../track';
import type { AudioConfig } from './audio-config';
import { readAuHeaders } from './au-headers';
import type { AuLayout } from './au-layout';

const INTERLEAVED =
  'The camera sends its sound interleaved, which is not supported: choose another audio codec in the camera, or switch its sound off.';

/** Takes the access units of AAC out of their packets (RFC 3640). */
export class AacTrack implements Track {
  readonly audio: AudioFormat;
  readonly #unitSeconds: number;
  /** A unit in several packets, as far as it came. */
  #pieces: { size: number; time: number; data: Buffer } | undefined;
  #fault: RvmError | undefined;

  constructor(
    { format, unitSeconds }: AudioConfig,
    private readonly layout: AuLayout,
  ) {
    this.audio = format;
    this.#unitSeconds = unitSeconds;
  }

  get fault(): RvmError | undefined {
    return this.#fault;
  }

  read({ payload, time }: TimedPayload): AudioFrame[] {
    const headers = readAuHeaders(payload, this.layout);
    if (headers === undefined) return this.#drop();
    const { sizes, isInterleaved, data } = headers;
    if (isInterleaved) {
      this.#fault ??= new RvmError('VIDEO_FAILED', INTERLEAVED);
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

  /** A unit is complete with its last piece, never for the end of the stream. */
  flush(): AudioFrame[] {
    return this.#drop();
  }

  #units(sizes: readonly number[], time: number, data: Buffer): AudioFrame[] {
    const frames: AudioFrame[] = [];
    let at = 0;
    for (const [index, size] of sizes.entries()) {
      const end = at + size;
      if (end > data.length) return frames;
      if (size > 0) frames.push(this.#frame(data.subarray(at, end), time + index * this.#unitSeconds));
      at = end;
    }
    return frames;
  }

  /** Section 3.2.3: each piece has the header of the whole. */
  #addPiece(size: number, time: number, data: Buffer): AudioFrame[] {
    const former = this.#pieces;
    const isNext = former !== undefined && former.size === size && former.time === time;
    const soFar = isNext ? Buffer.concat([former.data, data]) : Buffer.from(data);
    this.#pieces = { size, time, data: soFar };
    if (soFar.length < size) return [];
    this.#pieces = undefined;
    return soFar.length === size ? [this.#frame(soFar, time)] : [];
  }

  /** The bytes are copied, for a packet is part of a larger read of the socket, which they would keep. */
  #frame(data: Buffer, time: number): AudioFrame {
    return { kind: 'audio', format: this.audio, data: Buffer.from(data), time };
  }

  #drop(): AudioFrame[] {
    this.#pieces = undefined;
    return [];
  }
}
