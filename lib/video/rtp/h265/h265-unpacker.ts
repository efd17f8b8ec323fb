import { FragmentedUnit } from '../nal/fragmented-unit';
import { aggregated, type Unpacked, type Unpacker } from '../nal/unpacking';
import { NAL, typeOf } from './nal-types';

const HEADER = 2;

/** Single NAL units, aggregation packets and fragmentation units, without decoding order numbers (RFC 7798, section 4.4). */
export class H265Unpacker implements Unpacker {
  readonly #unit = new FragmentedUnit();

  unpack(payload: Buffer): Unpacked {
    const type = typeOf(payload);
    if (type === NAL.fu) return this.#fragment(payload);
    const before = this.#unit.finish();
    if (type === NAL.paci) return 'unsupported';
    if (payload.length < HEADER) return 'damaged';
    const units = type === NAL.ap ? aggregated(payload.subarray(HEADER)) : [Buffer.from(payload)];
    return before === 'damaged' || units === 'damaged' ? 'damaged' : [...before, ...units];
  }

  mayEnd(): boolean {
    return this.#unit.mayEnd();
  }

  finish(): Unpacked {
    return this.#unit.finish();
  }

  drop(): void {
    this.#unit.drop();
  }

  /** Section 4.4.3. */
  #fragment(payload: Buffer): Unpacked {
    const [first, second, header] = payload;
    if (first === undefined || second === undefined || header === undefined) return 'damaged';
    const [isStart, isEnd] = [(header & 0x80) !== 0, (header & 0x40) !== 0];
    return this.#unit.add(
      Buffer.from([(first & 0x81) | ((header & 0x3f) << 1), second]),
      payload.subarray(HEADER + 1),
      { isStart, isEnd },
    );
  }
}
