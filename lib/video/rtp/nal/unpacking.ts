/**
 * The NAL units that a packet completed; `damaged` where a piece is missing, or a length lies; `unsupported` for a kind of packet that
 * cannot be read, whatever else comes; `too-large` for a unit beyond any bound.
 */
export type Unpacked = Buffer[] | 'damaged' | 'unsupported' | 'too-large';

/** Takes the NAL units out of the packets of one payload format, which come in their order. */
export interface Unpacker {
  /** A unit was begun whose end did not come. */
  readonly isAmidst: boolean;
  unpack(payload: Buffer): Unpacked;
  /** Packets are missing: what was begun will not be whole. */
  drop(): void;
}

/**
 * Units behind each other, each behind its length of 16 bits, as in aggregation packets.
 * @returns copies, for a packet is part of a larger read of the socket, which it would keep
 */
export function aggregated(payload: Buffer): Buffer[] | 'damaged' {
  const units: Buffer[] = [];
  for (let at = 0; at < payload.length;) {
    if (at + 2 > payload.length) return 'damaged';
    const end = at + 2 + payload.readUInt16BE(at);
    if (end > payload.length) return 'damaged';
    if (end > at + 2) units.push(Buffer.from(payload.subarray(at + 2, end)));
    at = end;
  }
  return units;
}
