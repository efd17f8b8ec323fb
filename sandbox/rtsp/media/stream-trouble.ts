import type { StreamFault } from '../faults';

export type BreakOff = 'stall' | 'reset' | 'cut';

/** What the faults of one session do to its pictures and packets. Without faults: nothing. */
export class StreamTrouble {
  readonly skipsKeyFrame: boolean;
  readonly aggregatesParameterSets: boolean;
  readonly loneBye: boolean;
  readonly #faults: readonly StreamFault[];
  #packets = 0;
  #held: Buffer | undefined;

  constructor(faults: readonly StreamFault[]) {
    this.#faults = faults;
    this.skipsKeyFrame = faults.some((fault) => fault.kind === 'no-key-frame');
    this.aggregatesParameterSets = faults.some((fault) => fault.kind === 'aggregate-parameter-sets');
    this.loneBye = faults.some((fault) => fault.kind === 'lone-bye');
  }

  /** How the stream ends before the next picture, if it does. */
  breakOff(picturesSent: number): BreakOff | undefined {
    for (const fault of this.#faults) {
      if (fault.kind === 'stall' && picturesSent >= fault.frames) return 'stall';
      if (fault.kind === 'drop-connection' && picturesSent >= fault.frames) return 'reset';
      if (fault.kind === 'cut-frame' && picturesSent >= fault.frames) return 'cut';
    }
    return undefined;
  }

  /** True where sequence number and time stamp jump before the next picture. */
  jumps(picturesSent: number): boolean {
    return this.#faults.some((fault) => fault.kind === 'jump' && fault.frames === picturesSent);
  }

  /** The packets that are really sent, in their order. */
  arrange(packets: readonly Buffer[]): Buffer[] {
    return packets.flatMap((packet) => this.#arrangeOne(packet));
  }

  #arrangeOne(packet: Buffer): Buffer[] {
    this.#packets++;
    if (this.#hits('lose')) return [];
    if (this.#hits('repeat')) return [packet, packet];
    const held = this.#held;
    this.#held = held === undefined && this.#hits('reorder') ? packet : undefined;
    if (this.#held !== undefined) return [];
    return held === undefined ? [packet] : [packet, held];
  }

  #hits(kind: 'lose' | 'repeat' | 'reorder'): boolean {
    return this.#faults.some((fault) => fault.kind === kind && this.#packets % fault.every === 0);
  }
}
