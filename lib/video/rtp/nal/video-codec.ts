import type { PixelAspect, VideoFormat } from '../../media';
import type { Unpacker } from './unpacking';

/** What a NAL unit is for: one of the parameter sets, part of a picture, a hint that belongs to the picture, or nothing to us. */
export type NalRole = 'vps' | 'sps' | 'pps' | 'slice' | 'recovery' | 'other';

/** What the head of a slice tells. */
export interface Slice {
  /** The first of its picture. */
  isFirst: boolean;
  /** Id of the picture parameter set it is decoded with. */
  pps: number;
  /**
   * How decoding can begin at its picture: `clean`, or `open` where pictures that are shown before it may need some from before
   * it.
   */
  entry: 'clean' | 'open' | undefined;
  /** It needs no other picture; as far as that is known, of H.265 from the first of a picture alone. */
  isIntra: boolean;
  /** As `open`, also if decoding began before: what leads it is broken anyway. */
  isBrokenLink: boolean;
  /** Where it is shown before the key frame ahead of it, it may need pictures from before that one. */
  reachesBack: boolean;
}

export type Field = 'top' | 'bottom';

/** A sequence parameter set that was read. */
export interface Sps {
  id: number;
  /** Id of the video parameter set it refers to; H.265 alone. */
  vps: number | undefined;
  /** Less what is cut off, in pixels. */
  width: number;
  height: number;
  /** Undefined where pixels are square. */
  pixelAspect: PixelAspect | undefined;
  /** RFC 6381. */
  codecString: string;
  /** Which field of a frame a slice is part of, where the two come as pictures of their own; undefined for a whole frame. */
  fieldOf(slice: Buffer): Field | undefined;
  /** The decoder configuration record with all sets. */
  record(sets: { vps: readonly Buffer[]; sps: Buffer; pps: readonly Buffer[] }): Buffer;
}

/** One way of coding video in NAL units. */
export interface VideoCodec {
  readonly name: VideoFormat['codec'];
  unpacker(): Unpacker;
  roleOf(nal: Buffer): NalRole;
  /** Undefined where it cannot be read. */
  slice(nal: Buffer): Slice | undefined;
  /** Its id; undefined where it cannot be read, as for the following. */
  vps(nal: Buffer): number | undefined;
  sps(nal: Buffer): Sps | undefined;
  pps(nal: Buffer): { id: number; sps: number } | undefined;
  /** What tells a decoder that it can begin at a picture that does not say so: Chromium plays no live video without. */
  readonly recovery: readonly Buffer[];
}
