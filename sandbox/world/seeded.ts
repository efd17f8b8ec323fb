import { createHash } from 'node:crypto';

/** Bytes that depend only on the seed and a label: the same camera has the same id in every run. */
function bytesOf(seed: number, label: string): Buffer {
  return createHash('sha256').update(`${seed}/${label}`).digest();
}

/** A UUID in the form of version 4. */
export function seededUuid(seed: number, label: string): string {
  const bytes = bytesOf(seed, label).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * An opaque case-sensitive token of 43 characters of the base64url alphabet, as on-premises camera ids are. It always contains
 * `-` and `_`, so that a client that mishandles them fails with the first camera.
 */
export function seededToken(seed: number, label: string): string {
  const text = bytesOf(seed, label).toString('base64url');
  return `${text.slice(0, 11)}-${text.slice(12, 29)}_${text.slice(30)}`;
}

/** A pseudo-random sequence of choices; the same seed gives the same sequence. */
export class SeededChoice {
  #step = 0;

  constructor(private readonly seed: number) {}

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return bytesOf(this.seed, `choice ${this.#step++}`).readUInt32BE(0) % limit;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.below(list.length)];
  }
}
