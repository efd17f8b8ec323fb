import { ChangeListeners } from '../concurrency/signals';
import { isRecord } from '../json/json';
import type { RequestOrigin } from './endpoint';
import { isRefusal, type Problem, type ProblemKind, type ProblemReason } from './problem';

/** Problems of one kind and reason of one webhook, with their count. */
export interface ProblemTally {
  kind: ProblemKind;
  reason: ProblemReason | null;
  count: number;
  /** Time of the latest: ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
}

/** A tally as it is stored from one run to the next. */
export interface StoredProblem extends ProblemTally {
  /** How many of them no person has seen yet. */
  unseen: number;
}

interface Entry extends StoredProblem {
  /** Number of the newest, from `ProblemCounter`. */
  number: number;
}

/** Numbers the problems of all webhooks of a process. The numbers separate what a person has seen from what came later. */
export class ProblemCounter {
  #last = 0;

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** Problems behind the inbox: another message that comes in well does not cure them. */
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
 * Uncured problems of one webhook. Refused messages stay until a message is proven. Problems that no flow took stay until a
 * message without a problem comes in; those behind the inbox stay until a person has seen them. Each counts as unseen until a
 * person has seen it. There is one entry for each kind and reason, so strangers cannot make the list grow.
 */
export class UnseenProblems {
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new ChangeListeners();
  #sharing = '';

  constructor(private readonly numbers: ProblemCounter) {}

  /**
   * Calls back when the list may have changed.
   * @returns a function that ends the subscription
   */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /** True where there are unseen refusals with a reason that a wrong phrase or scheme causes. */
  get isUnproven(): boolean {
    return this.#all().some(({ reason, unseen }) => isRefusal(reason) && unseen > 0);
  }

  /** Unseen problems that no flow took, without those refusals. */
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

  /** The tallies to store for the next run. */
  snapshot(): StoredProblem[] {
    return this.#all().map(({ number: _number, ...snapshot }) => snapshot);
  }

  /** Merges the tallies stored by the last run. */
  restore(snapshot: readonly StoredProblem[]): void {
    for (const each of snapshot) {
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
    if (snapshot.length > 0) this.#watchers.notify();
  }

  /**
   * Adds a problem that no flow took.
   * @param now time of the report; its event may have come long ago
   */
  add({ kind, reason, count, remoteAddress }: Problem, now = new Date()): void {
    // The count of a `blocked` problem is the number of waiting events, not of problems.
    const more = kind === 'blocked' ? 1 : count;
    this.#note({ kind, reason, count: more, lastTime: now.toISOString(), lastAddress: remoteAddress });
  }

  /** Deletes the entry of a problem that is reported as over. */
  over({ kind, reason }: Problem): void {
    if (this.#entries.delete(keyOf(kind, reason))) this.#watchers.notify();
  }

  refused(reason: ProblemReason, { received, remoteAddress }: RequestOrigin): void {
    if (!isRefusal(reason)) return;
    const lastTime = received.toISOString();
    this.#note({ kind: 'unauthentic', reason, count: 1, lastTime, lastAddress: remoteAddress });
  }

  /** A message was proven and stored. A message that is a problem itself cures no other problem. */
  accepted(problem: Problem | undefined): void {
    // A self-test is signed with the phrase configured here, so it proves nothing about the phrase that the
    // service has.
    if (problem?.kind === 'self-test' || this.#entries.size === 0) return;
    for (const [key, { reason, unseen }] of this.#entries) {
      const isCured = !OF_THE_FLOW.includes(reason) || unseen === 0;
      if (isRefusal(reason) || (problem === undefined && isCured)) this.#entries.delete(key);
    }
    this.#watchers.notify();
  }

  /** A person has discarded the refused messages. */
  forgetRefusals(): void {
    for (const [key, { reason }] of this.#entries) if (isRefusal(reason)) this.#entries.delete(key);
    this.#watchers.notify();
  }

  /** A person has seen all problems up to this number. */
  seen(upTo: number): void {
    for (const entry of this.#entries.values()) if (entry.number <= upTo) entry.unseen = 0;
    this.#watchers.notify();
  }

  /**
   * Records that stations of the webhook have the same phrase as others.
   * @param names names of all these stations; '' where there are none
   * @param isCertain false while a station has no phrase yet
   * @returns true where this has just begun
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
    this.#watchers.notify();
  }
}

/** Storage of the archive. A text that cannot be read is undefined. */
export interface TextStorage {
  read(): Promise<string | undefined>;
  /** Replaces the text atomically. @throws Error of the system */
  write(text: string): Promise<void>;
}

/** By id of the webhook. */
type ProblemsOfWebhooks = ReadonlyMap<string, readonly StoredProblem[]>;

/** Milliseconds between two writes: strangers decide how often the tallies change. */
const WRITE_EVERY = 1000;

/** Stores the problems of all webhooks over a restart of Node-RED, which neither cures a problem nor shows it to a person. */
export class ProblemArchive {
  /** Resolves with the tallies of the last run. */
  readonly loaded: Promise<ProblemsOfWebhooks>;
  /** Tallies of the last run whose webhooks are not there yet. */
  #left: ProblemsOfWebhooks = new Map();
  #work: Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  #isStale = false;

  /** @param present returns the current tallies */
  constructor(
    private readonly store: TextStorage,
    private readonly present: () => ProblemsOfWebhooks,
  ) {
    this.loaded = this.#load();
    this.#work = this.loaded;
  }

  /** Takes the stored tallies of a webhook that is there now. */
  take(webhookId: string): readonly StoredProblem[] {
    const taken = this.#left.get(webhookId) ?? [];
    this.#left = new Map([...this.#left].filter(([id]) => id !== webhookId));
    return taken;
  }

  /** All webhooks are there: the remaining tallies belong to deleted ones. */
  dropLeft(): void {
    void this.loaded.then(() => {
      this.#left = new Map();
    });
  }

  /** The tallies have changed: writes them within a second. */
  saveSoon(): void {
    this.#isStale = true;
    if (this.#isWriting) return;
    this.#timer ??= setTimeout(() => void this.save(), WRITE_EVERY).unref();
  }

  /** Resolves when the current tallies are stored, or the write failed. A failure costs only what the next run would know. */
  save(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#work.then(() => this.#write());
    return this.#work;
  }

  async #load(): Promise<ProblemsOfWebhooks> {
    const text = await this.store.read();
    try {
      this.#left = problemsIn(text ?? '{}');
    } catch {
      // The text was written by another version.
    }
    return this.#left;
  }

  async #write(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#isWriting = true;
    const all = [...this.#left, ...this.present()].filter(([, problems]) => problems.length > 0);
    await this.store.write(JSON.stringify(Object.fromEntries(all))).catch(() => undefined);
    this.#isWriting = false;
    if (this.#isStale) this.saveSoon();
  }
}

function problemsIn(text: string): ProblemsOfWebhooks {
  const value: unknown = JSON.parse(text);
  const found = new Map<string, StoredProblem[]>();
  if (!isRecord(value)) return found;
  for (const [id, problems] of Object.entries(value)) {
    const list: readonly unknown[] = Array.isArray(problems) ? problems : [];
    found.set(id, list.filter(isStoredProblem));
  }
  return found;
}

/**
 * True for the form that this version writes. No other program writes this file, so kind and reason are not checked further.
 */
function isStoredProblem(value: unknown): value is StoredProblem {
  if (!isRecord(value)) return false;
  const { kind, reason, count, unseen, lastTime, lastAddress } = value;
  const isReported = typeof kind === 'string' && (reason === null || typeof reason === 'string');
  const isCounted = [count, unseen].every((number) => Number.isSafeInteger(number) && Number(number) >= 0);
  const isFromOne = lastAddress === undefined || typeof lastAddress === 'string';
  return isReported && isCounted && typeof lastTime === 'string' && isFromOne;
}
