import { FragmentedUnit } from '../nal/fragmented-unit';
import { aggregated, type Unpacked, type Unpacker } from '../nal/unpacking';
import { NAL, typeOf } from './nal-types';

/** Packets of the modes 0 and 1 (RFC 6184, section 6): single NAL units, STAP-A and FU-A. */
export class H264Unpacker implements Unpacker {
  readonly #unit = new FragmentedUnit();

  unpack(payload: Buffer): Unpacked {
    const type = typeOf(payload);
    if (type === NAL.fuA) return this.#fragment(payload);
    const before = this.#unit.finish();
    // Those of the interleaved mode: STAP-B, MTAP and FU-B.
    if (type > NAL.stapA && type <= NAL.fuB) return 'unsupported';
    const units = type === NAL.stapA ? aggregated(payload.subarray(1)) : [Buffer.from(payload)];
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

  /** Section 5.8. */
  #fragment(payload: Buffer): Unpacked {
    const [indicator, header] = payload;
    if (indicator === undefined || header === undefined) return 'damaged';
    const [isStart, isEnd] = [(header & 0x80) !== 0, (header & 0x40) !== 0];
    return this.#unit.add(Buffer.from([(indicator & 0xe0) | (header & 0x1f)]), payload.subarray(2), {
      isStart,
      isEnd,
    });
  }
}
