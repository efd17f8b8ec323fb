import type { VideoFormat } from '../../media';
import type { Field, Sps, VideoCodec } from './video-codec';

/** Sets of one kind: cameras have one, or two. */
const MOST_SETS = 16;
/** Bytes of a set: scaling lists and all they have a few hundred. */
const MOST_BYTES = 4096;

interface Pps {
  nal: Buffer;
  sps: number;
}

/** The parameter sets a sender told so far, by their ids; the last one counts. */
export class ParameterSets {
  readonly #vps = new Map<number, Buffer>();
  readonly #sps = new Map<number, { nal: Buffer; read: Sps }>();
  readonly #pps = new Map<number, Pps>();

  constructor(private readonly codec: VideoCodec) {}

  /** False where it cannot be read. */
  add(role: 'vps' | 'sps' | 'pps', nal: Buffer): boolean {
    if (nal.length > MOST_BYTES) return false;
    if (role === 'vps') return this.#addVps(nal);
    return role === 'sps' ? this.#addSps(nal) : this.#addPps(nal);
  }

  /**
   * How pictures with this picture parameter set are decoded: `former` where that is the same. Undefined where a set is missing.
   */
  format(pps: number, former: VideoFormat | undefined): VideoFormat | undefined {
    const found = this.#chain(pps);
    if (found === undefined) return undefined;
    const { vps, sps } = found;
    const all = [...this.#pps.values()].filter((each) => each.sps === sps.read.id).map(({ nal }) => nal);
    const parameterSets = [...vps, sps.nal, ...all];
    if (former !== undefined && areSame(former.parameterSets, parameterSets)) return former;
    const { width, height, pixelAspect, codecString } = sps.read;
    const description = sps.read.record({ vps, sps: sps.nal, pps: all });
    return { codec: this.codec.name, parameterSets, width, height, pixelAspect, codecString, description };
  }

  /** Whether pictures with this picture parameter set can be decoded with a format. */
  isWithin(format: VideoFormat, pps: number): boolean {
    const found = this.#chain(pps);
    return (
      found !== undefined &&
      [...found.vps, found.sps.nal, found.pps.nal].every((nal) => format.parameterSets.includes(nal))
    );
  }

  /** Which field of a frame the picture is that begins with this slice; undefined for a whole frame. */
  fieldOf(slice: Buffer, pps: number): Field | undefined {
    return this.#chain(pps)?.sps.read.fieldOf(slice);
  }

  #chain(id: number): { vps: Buffer[]; sps: { nal: Buffer; read: Sps }; pps: Pps } | undefined {
    const pps = this.#pps.get(id);
    const sps = pps && this.#sps.get(pps.sps);
    if (pps === undefined || sps === undefined) return undefined;
    if (sps.read.vps === undefined) return { vps: [], sps, pps };
    const vps = this.#vps.get(sps.read.vps);
    return vps && { vps: [vps], sps, pps };
  }

  #addVps(nal: Buffer): boolean {
    const id = this.codec.vps(nal);
    if (id === undefined) return false;
    if (this.#vps.get(id)?.equals(nal) !== true) keep(this.#vps, id, nal);
    return true;
  }

  #addSps(nal: Buffer): boolean {
    if ([...this.#sps.values()].some((known) => known.nal.equals(nal))) return true;
    const read = this.codec.sps(nal);
    if (read !== undefined) keep(this.#sps, read.id, { nal, read });
    return read !== undefined;
  }

  #addPps(nal: Buffer): boolean {
    const read = this.codec.pps(nal);
    if (read === undefined) return false;
    const { id, sps } = read;
    if (this.#pps.get(id)?.nal.equals(nal) !== true) keep(this.#pps, id, { nal, sps });
    return true;
  }
}

/** Room is made at the cost of the oldest. */
function keep<Kind>(sets: Map<number, Kind>, id: number, set: Kind): void {
  const [oldest] = sets.keys();
  if (!sets.has(id) && sets.size >= MOST_SETS && oldest !== undefined) sets.delete(oldest);
  sets.set(id, set);
}

/** Sets that are known already are the same objects. */
function areSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((nal, index) => nal === other[index]);
}
