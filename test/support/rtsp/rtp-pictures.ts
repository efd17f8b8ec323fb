/** One picture as received: NAL units without start codes. */
export interface ReceivedPicture {
  nals: Buffer[];
  key: boolean;
  timestamp: number;
  /** Sequence number of its first packet. */
  sequence: number;
}

/** Puts RTP packets with H.264 (RFC 6184: single NAL units, STAP-A, FU-A) together to pictures. */
export class PictureAssembler {
  #nals: Buffer[] = [];
  #pieces: Buffer[] = [];
  #firstSequence: number | undefined;

  /** The picture that this packet completes, if it does. */
  add(packet: Buffer): ReceivedPicture | undefined {
    this.#firstSequence ??= packet.readUInt16BE(2);
    this.#unpack(packet.subarray(12));
    if ((packet.readUInt8(1) & 0x80) === 0) return undefined;
    const picture = {
      nals: this.#nals,
      key: this.#nals.some((nal) => typeOf(nal) === 5),
      timestamp: packet.readUInt32BE(4),
      sequence: this.#firstSequence,
    };
    this.#nals = [];
    this.#firstSequence = undefined;
    return picture;
  }

  #unpack(payload: Buffer): void {
    const type = typeOf(payload);
    if (type === 28) this.#addPiece(payload);
    else if (type === 24) this.#addAggregate(payload.subarray(1));
    else this.#nals.push(payload);
  }

  #addPiece(payload: Buffer): void {
    const header = payload.readUInt8(1);
    if ((header & 0x80) !== 0)
      this.#pieces = [Buffer.from([(payload.readUInt8(0) & 0xe0) | (header & 0x1f)])];
    this.#pieces.push(payload.subarray(2));
    if ((header & 0x40) !== 0) this.#nals.push(Buffer.concat(this.#pieces));
  }

  #addAggregate(rest: Buffer): void {
    for (let at = 0; at + 2 <= rest.length;) {
      const size = rest.readUInt16BE(at);
      this.#nals.push(rest.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
  }
}

function typeOf(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}
