/** Bytes of media data in a clip: sizes and offsets have 32 bits, and the index is among them (ISO/IEC 14496-12, section 4.2). */
export const MOST_MEDIA = 2 ** 32 - 2 ** 27;

/** Where a clip is written to. Its media data come first, and are never held in memory by who writes them. */
export interface ClipDestination {
  /** Bytes of media data that it takes, `MOST_MEDIA` at most. */
  readonly most: number;
  /** Media data, in order. @throws RvmError STORE_FAILED */
  append(data: Uint8Array): Promise<void>;
  /**
   * Puts this in front of the media data, which completes the clip.
   * @throws RvmError STORE_FAILED
   */
  finish(head: Uint8Array): Promise<FinishedClip>;
  /** Removes what was written. Never fails; where the clip is complete, nothing happens. */
  discard(): Promise<void>;
}

export interface FinishedClip {
  bytes: number;
  /** Of all bytes, in hexadecimal digits. */
  sha256: string;
}
