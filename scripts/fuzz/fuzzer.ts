import { Random, seedOfInput } from './random';
import type { Complaint, Fault, Target } from './target';

export interface Finding extends Complaint {
  target: string;
  seed: number;
  /** Place of the input among those of its target, from 0. */
  number: number;
  input: Uint8Array;
}

/** What came of the inputs of one target. */
export interface Tally {
  readonly target: string;
  inputs: number;
  readonly faults: Record<Fault, number>;
  /** Milliseconds of what is tested, without the oracle. */
  slowestMs: number;
  /** The first of them; the faults count them all. */
  readonly findings: Finding[];
}

/** Of each target. More of them rarely tell more. */
const MOST_FINDINGS = 5;
const MILLION = 1_000_000;

/** Puts inputs to targets, always the same ones for the same seed, and counts what is wrong with the answers. */
export class Fuzzer {
  readonly #tallies = new Map<Target, Tally>();

  constructor(
    targets: readonly Target[],
    private readonly seed: number,
  ) {
    for (const target of targets) this.#tallies.set(target, newTally(target.name));
  }

  get tallies(): Tally[] {
    return [...this.#tallies.values()];
  }

  get inputs(): number {
    return this.tallies.reduce((sum, { inputs }) => sum + inputs, 0);
  }

  /** Goes on until there were so many inputs of all targets, by their shares of a million; of each at least one. */
  async runTo(inputs: number): Promise<void> {
    const { stackTraceLimit } = Error;
    // What is no JSON is an error each time, whose stack takes longer than all the rest.
    Error.stackTraceLimit = 0;
    try {
      await this.#runTo(inputs);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  async end(): Promise<void> {
    for (const target of this.#tallies.keys()) await target.end?.();
  }

  async #runTo(inputs: number): Promise<void> {
    for (const [target, tally] of this.#tallies) {
      const wanted = Math.max(1, Math.round((inputs * target.share) / MILLION));
      while (tally.inputs < wanted) await this.#tryNext(target, tally);
    }
  }

  async #tryNext(target: Target, tally: Tally): Promise<void> {
    const number = tally.inputs;
    tally.inputs += 1;
    const trial = target.trial(new Random(seedOfInput(this.seed, target.name, number)));
    const begun = performance.now();
    let complaint: Complaint | undefined;
    try {
      const asked = trial.act();
      if (asked !== undefined) await asked;
    } catch (error) {
      complaint = { fault: 'thrown', reason: String(error) };
    }
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - begun);
    complaint ??= trial.judge();
    if (complaint === undefined) return;
    tally.faults[complaint.fault] += 1;
    if (tally.findings.length < MOST_FINDINGS)
      tally.findings.push({
        ...complaint,
        target: target.name,
        seed: this.seed,
        number,
        input: trial.input(),
      });
  }
}

function newTally(target: string): Tally {
  const faults = { accepted: 0, rejected: 0, wrong: 0, thrown: 0 };
  return { target, inputs: 0, faults, slowestMs: 0, findings: [] };
}
