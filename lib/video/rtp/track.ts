import type { RvmError } from '../../error';
import type { AudioFormat, MediaFrame } from '../media';

/** A packet in its order. */
export interface TimedPayload {
  /** Not empty. */
  payload: Buffer;
  marker: boolean;
  /** Seconds on the clock of the stream. */
  time: number;
}

/** Puts frames together of payloads that come in their order. */
export interface Track {
  /** Set once what comes can never be read. */
  readonly fault: RvmError | undefined;
  readonly audio: AudioFormat | undefined;
  /** The frames that this one completed. */
  read(packet: TimedPayload): MediaFrame[];
  /** Packets before the next one are missing. */
  gap(): void;
  /** What is under assembly when the stream ends, if whole. */
  flush(): MediaFrame[];
}
