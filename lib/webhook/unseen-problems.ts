import { Watchers } from '../concurrency/signals';
import type { RequestOrigin } from './endpoint';
import { isRefusal, type Problem, type ProblemKind, type ProblemReason } from './problem';

/** One kind of problem of one webhook, as often as it came. */
export interface ProblemTally {
  kind: ProblemKind;
  reason: ProblemReason | null;
  count: number;
  /** When it came last: ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
}

/** As it is kept from one run to the next. */
export interface KeptProblem extends ProblemTally {
  /** Of those, how many nobody has seen yet. */
  unseen: number;
}

interface Entry extends KeptProblem {
  /** Of the newest. */
  number: number;
}

/** Numbers the problems of all webhooks of a process, so that what a person has seen can be told from what came after. */
export class ProblemNumbers {
  #last = 0;

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** What went wrong behind the inbox: that another message comes in well cures nothing of it. */
const OF_THE_FLOW: readonly (ProblemReason | null)[] = [
  'attempts',
  'rejected',
  'lease',
  'restart',
  'window',
  'store',
];

function keyOf(kind: ProblemKind, reason: ProblemReason | null): string {
  return `${kind} ${reason ?? ''}`;
}

/**
 * What went wrong at one webhook and nothing has cured since: messages that were refused, until one is proven; problems that no
 * flow took, until a message comes in that is none, or, of those behind the inbox, until a person
 * has seen them. Each counts as unseen until a person has seen it. There is one entry for
 * each kind and reason, so strangers cannot make it grow.
 */
export class UnseenProblems {
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new Watchers();
  #sharing = '';

  constructor(private readonly numbers: ProblemNumbers) {}

  /** Calls back when it may be another; returns the way to end that. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /** True where messages were refused for a reason that a wrong phrase or scheme has, and nobody has seen it. */
  get isUnproven(): boolean {
    return this.#all().some(({ reason, unseen }) => isRefusal(reason) && unseen > 0);
  }

  /** Problems that no flow took and nobody has seen, those refused messages apart. */
  get count(): number {
    const others = this.#all().filter(({ reason }) => !isRefusal(reason));
    return others.reduce((sum, { unseen }) => sum + unseen, 0);
  }

  get hasUnseen(): boolean {
    return this.#all().some(({ unseen }) => unseen > 0);
  }

  /** Oldest kind first. */
  tallies(): ProblemTally[] {
    return this.#all().map(({ unseen: _unseen, number: _number, ...tally }) => tally);
  }

  /** What the next run is to know. */
  kept(): KeptProblem[] {
    return this.#all().map(({ number: _number, ...kept }) => kept);
  }

  /** The last run has left them. */
  restore(kept: readonly KeptProblem[]): void {
    for (const each of kept) {
      const key = keyOf(each.kind, each.reason);
      const since = this.#entries.get(key);
      this.#entries.set(key, {
        ...each,
        ...since,
        count: each.count + (since?.count ?? 0),
        unseen: each.unseen + (since?.unseen ?? 0),
        number: this.numbers.next(),
      });
    }
    if (kept.length > 0) this.#watchers.tell();
  }

  /** A problem that no flow took. @param now its event may have come long ago */
  add({ kind, reason, count, remoteAddress }: Problem, now = new Date()): void {
    // The count of what is blocked is that of the events that wait.
    const more = kind === 'blocked' ? 1 : count;
    this.#note({ kind, reason, count: more, lastTime: now.toISOString(), lastAddress: remoteAddress });
  }

  /** It tells of something that is over. */
  over({ kind, reason }: Problem): void {
    if (this.#entries.delete(keyOf(kind, reason))) this.#watchers.tell();
  }

  refused(reason: ProblemReason, { received, remoteAddress }: RequestOrigin): void {
    if (!isRefusal(reason)) return;
    const lastTime = received.toISOString();
    this.#note({ kind: 'unauthentic', reason, count: 1, lastTime, lastAddress: remoteAddress });
  }

  /** A message was proven and stored. One that is a problem itself cures no other problem. */
  accepted(problem: Problem | undefined): void {
    // A self-test is signed with the phrase that stands here: it says nothing of the one that the service has.
    if (problem?.kind === 'self-test' || this.#entries.size === 0) return;
    for (const [key, { reason, unseen }] of this.#entries) {
      const isCured = !OF_THE_FLOW.includes(reason) || unseen === 0;
      if (isRefusal(reason) || (problem === undefined && isCured)) this.#entries.delete(key);
    }
    this.#watchers.tell();
  }

  /** A person has discarded what was refused. */
  forgetRefusals(): void {
    for (const [key, { reason }] of this.#entries) if (isRefusal(reason)) this.#entries.delete(key);
    this.#watchers.tell();
  }

  /** A person has seen all as far as this number. */
  seen(upTo: number): void {
    for (const entry of this.#entries.values()) if (entry.number <= upTo) entry.unseen = 0;
    this.#watchers.tell();
  }

  /**
   * Stations of the webhook have one phrase with others.
   * @param names all of them; '' where there are none
   * @param isCertain false while a station has no phrase yet
   * @returns true where this has begun now
   */
  sharePhrase(names: string, isCertain: boolean): boolean {
    const hasBegun = names !== '' && names !== this.#sharing;
    if (names !== '' || isCertain) this.#sharing = names;
    return hasBegun;
  }

  #all(): Entry[] {
    return [...this.#entries.values()];
  }

  #note({
    lastAddress,
    ...tally
  }: Omit<ProblemTally, 'lastAddress'> & { lastAddress: string | undefined }): void {
    const key = keyOf(tally.kind, tally.reason);
    const known = this.#entries.get(key);
    this.#entries.set(key, {
      ...tally,
      ...(lastAddress !== undefined && { lastAddress }),
      count: (known?.count ?? 0) + tally.count,
      unseen: (known?.unseen ?? 0) + tally.count,
      number: this.numbers.next(),
    });
    this.#watchers.tell();
  }
}
