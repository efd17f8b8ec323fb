import { clampTimerMs } from '../concurrency/timers';
import type { FindingKind, Evaluation, Observation, ActiveFinding } from './findings';

/**
 * Milliseconds that an often transient fault (a lost request, a port that another process frees) must last before it is
 * reported.
 */
const PASSING: Readonly<Partial<Record<FindingKind, number>>> = {
  'service-unreachable': 15_000,
  'store-failing': 10_000,
  'spill-in-use': 10_000,
  'listener-down': 10_000,
};
/** Milliseconds without a fault before its end is reported; doubled for each return within half an hour. */
const SHORTEST_END = 5000;
const LONGEST_END = 10 * 60_000;
const COMES_BACK_WITHIN = 30 * 60_000;

interface Entry {
  sighting: Observation;
  /** Wall clock, ISO 8601. */
  since: string;
  /** Of the monotonic clock. */
  seenSince: number;
  absentSince: number | undefined;
  isActive: boolean;
}

/** Prevents a report for each change of a fault that comes and goes. */
export class Debouncer {
  readonly #entries = new Map<string, Entry>();
  /** By id: the times when the finding became active, of the monotonic clock. */
  readonly #comings = new Map<string, number[]>();

  /**
   * @param monotonic monotonic clock, in milliseconds
   * @param now wall clock, in milliseconds
   */
  constructor(
    private readonly monotonic: () => number,
    private readonly now: () => number,
  ) {}

  /**
   * @param wasReported true for findings reported before by this or another process: these are active at
   *   once
   */
  damp({ seen, unsure }: Evaluation, wasReported: (id: string) => boolean): Evaluation<ActiveFinding> {
    for (const sighting of seen) this.#saw(sighting, wasReported(sighting.id));
    const present = new Set([...seen.map(({ id }) => id), ...unsure]);
    for (const [id, entry] of this.#entries) if (!present.has(id)) this.#missed(id, entry);
    this.#forget();
    return { seen: [...this.#entries.values()].filter(({ isActive }) => isActive).map(asStanding), unsure };
  }

  #saw(sighting: Observation, wasReported: boolean): void {
    const entry = this.#entries.get(sighting.id) ?? this.#begun(sighting);
    entry.sighting = sighting;
    entry.absentSince = undefined;
    const lasted = this.monotonic() - entry.seenSince;
    if (entry.isActive || (!wasReported && lasted < (PASSING[sighting.what] ?? 0))) return;
    entry.isActive = true;
    this.#comings.set(sighting.id, [...this.#recent(sighting.id), this.monotonic()]);
  }

  #begun(sighting: Observation): Entry {
    const since = new Date(this.now()).toISOString();
    const entry = { sighting, since, seenSince: this.monotonic(), absentSince: undefined, isActive: false };
    this.#entries.set(sighting.id, entry);
    return entry;
  }

  #missed(id: string, entry: Entry): void {
    entry.absentSince ??= this.monotonic();
    const absent = this.monotonic() - entry.absentSince;
    if (!entry.isActive || absent >= this.#endAfter(id)) this.#entries.delete(id);
  }

  #endAfter(id: string): number {
    return Math.min(LONGEST_END, SHORTEST_END * 2 ** Math.max(0, this.#recent(id).length - 1));
  }

  #recent(id: string): number[] {
    return (this.#comings.get(id) ?? []).filter((at) => this.monotonic() - at < COMES_BACK_WITHIN);
  }

  #forget(): void {
    for (const id of this.#comings.keys()) if (this.#recent(id).length === 0) this.#comings.delete(id);
  }
}

function asStanding({ sighting, since }: Entry): ActiveFinding {
  return { ...sighting, since: sighting.since ?? since };
}

/**
 * A periodic sign that all is well. It is sent from the event loop, so it stops where that is blocked or the process is gone.
 */
export class PulseOutput {
  #timer: NodeJS.Timeout | undefined;

  /** @param every interval in milliseconds */
  constructor(
    private readonly every: number,
    private readonly send: () => void,
  ) {}

  /** Sends the first pulse at once. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(this.send, clampTimerMs(this.every));
    this.send();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
