import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import type { Slots } from '../inbox/slot';
import { isRecord } from '../json/json';
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
  readonly #watchers = new ChangeListeners();
  #sharing = '';

  constructor(private readonly numbers: ProblemCounter) {}

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

/** Where the text is kept: what cannot be read is none. */
export interface TextPlace {
  read(): Promise<string | undefined>;
  /** In one go. @throws Error of the system */
  write(text: string): Promise<void>;
}

/** By id of the webhook. */
type ProblemsOfWebhooks = ReadonlyMap<string, readonly KeptProblem[]>;

/** Between two writes, in milliseconds: strangers decide how often something changes. */
const WRITE_EVERY = 1000;

/** The problems of all webhooks, kept from one run to the next: that Node-RED was started again cures none, and shows none to anybody. */
export class ProblemArchive {
  /** Resolves with what the last run has left. */
  readonly loaded: Promise<ProblemsOfWebhooks>;
  /** Of the last run, of webhooks that are not there yet. */
  #left: ProblemsOfWebhooks = new Map();
  #work: Promise<unknown>;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  #isStale = false;

  /** @param present what there is now */
  constructor(
    private readonly place: TextPlace,
    private readonly present: () => ProblemsOfWebhooks,
  ) {
    this.loaded = this.#load();
    this.#work = this.loaded;
  }

  /** Of a webhook that is there now. */
  take(webhookId: string): readonly KeptProblem[] {
    const taken = this.#left.get(webhookId) ?? [];
    this.#left = new Map([...this.#left].filter(([id]) => id !== webhookId));
    return taken;
  }

  /** All webhooks are there: what is left is of some that are gone. */
  dropLeft(): void {
    void this.loaded.then(() => {
      this.#left = new Map();
    });
  }

  /** Something has changed. */
  saveSoon(): void {
    this.#isStale = true;
    if (this.#isWriting) return;
    this.#timer ??= setTimeout(() => void this.save(), WRITE_EVERY).unref();
  }

  /** Resolves when what there is now is kept, or cannot be: that costs the next run what this one knows, and nothing else. */
  save(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#work.then(() => this.#write());
    return this.#work;
  }

  async #load(): Promise<ProblemsOfWebhooks> {
    const text = await this.place.read();
    try {
      this.#left = problemsIn(text ?? '{}');
    } catch {
      // Another version has written it.
    }
    return this.#left;
  }

  async #write(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#isWriting = true;
    const all = [...this.#left, ...this.present()].filter(([, problems]) => problems.length > 0);
    await this.place.write(JSON.stringify(Object.fromEntries(all))).catch(() => undefined);
    this.#isWriting = false;
    if (this.#isStale) this.saveSoon();
  }
}

function problemsIn(text: string): ProblemsOfWebhooks {
  const value: unknown = JSON.parse(text);
  const found = new Map<string, KeptProblem[]>();
  if (!isRecord(value)) return found;
  for (const [id, problems] of Object.entries(value)) {
    const list: readonly unknown[] = Array.isArray(problems) ? problems : [];
    found.set(id, list.filter(isKept));
  }
  return found;
}

/** True for what this version writes; that it is a problem nobody else could have put there. */
function isKept(value: unknown): value is KeptProblem {
  if (!isRecord(value)) return false;
  const { kind, reason, count, unseen, lastTime, lastAddress } = value;
  const isTold = typeof kind === 'string' && (reason === null || typeof reason === 'string');
  const isCounted = [count, unseen].every((number) => Number.isSafeInteger(number) && Number(number) >= 0);
  const isFromOne = lastAddress === undefined || typeof lastAddress === 'string';
  return isTold && isCounted && typeof lastTime === 'string' && isFromOne;
}

/** Owner of the slots that say when a message was last proven, one for each endpoint. */
export const SILENCE_OWNER = 'watch:proven';
/** A slot ends so long after the last proven message: what is left of it tells its age by the clock of the store. Milliseconds. */
const SPAN = 10 * 365 * 24 * 60 * 60 * 1000;
/** Longest times, in milliseconds: between two questions, between two notes of a message, and after a start, when held messages come. */
const ASK_EVERY = 30_000;
const NOTE_EVERY = 60_000;
const GRACE = 120_000;
/** For the store, in milliseconds. */
const PATIENCE = 5000;
/** Between two looks, which ask nobody, in milliseconds. */
const LOOK_EVERY = 1000;

interface SilenceOptions {
  place: Pick<Slots, 'slots' | 'putSlots'>;
  /** Of the endpoint, in the inbox: copies of a flow share it, and any of them may get the message. */
  endpointId: string;
  /** Milliseconds without a proven message that are too many; 0 = none are. */
  limit: number;
  /** Told once each time that it begins, of all instances one. */
  onSilent: () => void;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Between two looks, in milliseconds. Default: 1,000. */
  every?: number;
}

/** How long ago a message was last proven at an endpoint, over restarts and for all instances. */
export class SilenceWatchdog {
  readonly #options: SilenceOptions;
  readonly #part: number;
  /** As of the steady clock; undefined while nobody has said. */
  #lastProven: number | undefined;
  #notedAt = -Infinity;
  #isTold = false;
  #version = 0;
  #askedAt = -Infinity;
  #isLooking = false;
  #startedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#part = options.limit / 4;
  }

  /** Since when it lasts too long; undefined where it does not, `unknown` while the inbox has not said. */
  get since(): Date | 'unknown' | undefined {
    if (this.#options.limit === 0) return undefined;
    if (this.#lastProven === undefined) return 'unknown';
    return this.#isOver() ? new Date(this.#options.now() - this.#age()) : undefined;
  }

  /** The flows run, and messages can come. */
  start(): void {
    if (this.#options.limit === 0) return void this.forget();
    this.#startedAt = this.#options.steady();
    clearInterval(this.#timer);
    this.#askedAt = -Infinity;
    this.#timer = setInterval(() => void this.#lookOnce(), this.#options.every ?? LOOK_EVERY).unref();
    void this.#lookOnce();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A message was proven. */
  proven(): void {
    const { limit, steady } = this.#options;
    if (limit === 0) return;
    this.#lastProven = steady();
    if (steady() - this.#notedAt < Math.min(NOTE_EVERY, this.#part) && !this.#isTold) return;
    this.#note({});
  }

  /** Nobody asks for it any more: where somebody does later, it begins then. */
  async forget(): Promise<void> {
    const { place, endpointId } = this.#options;
    const known = await place.slots(SILENCE_OWNER).catch(() => undefined);
    if (known?.slots.some(({ name }) => name === endpointId) !== true) return;
    await place.putSlots(SILENCE_OWNER, [{ name: endpointId, value: undefined }]).catch(() => undefined);
  }

  #note(value: { told?: true }): void {
    const { place, endpointId, steady } = this.#options;
    this.#notedAt = steady();
    this.#isTold = false;
    // One that fails is made up for at the next look.
    place
      .putSlots(SILENCE_OWNER, [{ name: endpointId, value, lasts: SPAN }])
      .catch(() => (this.#notedAt = -Infinity));
  }

  async #lookOnce(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
    } catch {
      // Whoever is told has failed, or the inbox: the next look comes all the same.
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const { steady, onSilent } = this.#options;
    const mayTell = this.#isOver() && !this.#isTold && this.#isSettled();
    const isTime = steady() - this.#askedAt >= Math.min(ASK_EVERY, this.#part);
    if (!mayTell && !isTime) return;
    this.#askedAt = steady();
    // Another instance may have had a message, or have told.
    await withTimeout(this.#read(), PATIENCE).catch(() => undefined);
    if (this.#isUnnoted()) this.#note({});
    if (!this.#isOver() || this.#isTold || !this.#isSettled()) return;
    this.#isTold = true;
    if (await this.#mayTell()) onSilent();
  }

  /** What was held while Node-RED started has come by now. */
  #isSettled(): boolean {
    const { steady } = this.#options;
    return steady() - (this.#startedAt ?? steady()) >= Math.min(GRACE, this.#part);
  }

  /** The store has failed to take the note of a message. */
  #isUnnoted(): boolean {
    return this.#lastProven !== undefined && this.#notedAt === -Infinity && this.#age() < this.#part;
  }

  async #read(): Promise<void> {
    const { place, endpointId, steady } = this.#options;
    const { slots } = await place.slots(SILENCE_OWNER);
    const slot = slots.find(({ name }) => name === endpointId);
    if (slot?.value === undefined) {
      // Nobody has asked so far.
      this.#lastProven ??= steady();
      await place.putSlots(SILENCE_OWNER, [{ name: endpointId, expected: 0, value: {}, lasts: SPAN }]);
      this.#notedAt = steady();
      return;
    }
    const at = steady() - Math.max(0, SPAN - (slot.left ?? SPAN));
    this.#lastProven = Math.max(this.#lastProven ?? -Infinity, at);
    this.#version = slot.version;
    this.#isTold = isTold(slot.value);
  }

  /** Of several instances the first one tells; without the inbox each. */
  async #mayTell(): Promise<boolean> {
    const { place, endpointId } = this.#options;
    const write = {
      name: endpointId,
      expected: this.#version,
      value: { told: true },
      lasts: Math.max(1, SPAN - this.#age()),
    };
    const outcomes = await withTimeout(place.putSlots(SILENCE_OWNER, [write]), PATIENCE).catch(
      () => undefined,
    );
    return outcomes?.[0]?.written !== false;
  }

  #age(): number {
    return this.#options.steady() - (this.#lastProven ?? this.#options.steady());
  }

  #isOver(): boolean {
    return this.#age() > this.#options.limit;
  }
}

function isTold(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'told' in value && value.told === true;
}
