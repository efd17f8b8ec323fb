import { withTimeout } from '../concurrency/timers';
import type { Slot, SlotOutcome, Slots, SlotWrite } from '../inbox/slot';
import { isRecord } from '../json/json';
import { areSameFindings, inOrder, type Evaluation, type ActiveFinding } from './findings';

/** Slot names: the reported findings, and by instance what each live instance sees. */
const STATE = 'state';
const INSTANCE = 'instance/';
/** Milliseconds after which an instance without a sign of life counts as dead; each writes one three times as often. */
const LIVES = 45_000;
/** Timeout of the store in milliseconds. */
const TIMEOUT_MS = 5000;
/** Attempts of a write while other instances are faster. */
const TRIES = 3;

interface SharedFindingsOptions {
  store: Pick<Slots, 'slots' | 'putSlots'>;
  /** Owner of the slots. */
  owner: string;
  /** True where other instances may run this watch, too. */
  isShared: boolean;
  /** Id of this process. */
  instance: string;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
}

interface StoredFindings {
  version: number;
  findings: readonly ActiveFinding[];
}

/** The active findings of all instances; `isChange` where this instance has written the change. */
interface Shared {
  next: readonly ActiveFinding[];
  isChange: boolean;
}

interface Other {
  look: Evaluation<ActiveFinding>;
  /** Of the monotonic clock. */
  livesUntil: number;
}

/**
 * The findings of a watch, stored in an inbox: they survive a restart, and of several instances the one that writes a change
 * reports it. A finding is active as long as a live instance sees it or cannot tell. Without the inbox each instance continues
 * alone.
 */
export class SharedFindings {
  readonly #options: SharedFindingsOptions;
  #stored: StoredFindings | undefined;
  /** The findings last reported by this instance, or read as reported. */
  #last: readonly ActiveFinding[] = [];
  #spokeAlone = false;
  #isSharing = false;
  #version = 0;
  readonly #others = new Map<string, Other>();
  #said = '';
  #sayAgainAt = -Infinity;

  constructor(options: SharedFindingsOptions) {
    this.#options = options;
  }

  /** True once the findings reported before are known. */
  get isKnown(): boolean {
    return this.#stored !== undefined;
  }

  /** The active findings of all instances, as far as this one knows. */
  get standing(): readonly ActiveFinding[] {
    return this.#last;
  }

  isReported(id: string): boolean {
    return this.#last.some((finding) => finding.id === id);
  }

  /** Reads the findings reported before. @returns false while they are unknown */
  async read(): Promise<boolean> {
    if (this.#stored !== undefined) return true;
    const read = await withTimeout(this.#read(), TIMEOUT_MS).catch(() => undefined);
    if (read !== true) return false;
    if (!this.#spokeAlone) this.#last = this.#findings;
    return true;
  }

  /**
   * Takes in the evaluation of this instance.
   * @returns the active findings, where this instance has to report a change; else undefined
   */
  async take(own: Evaluation<ActiveFinding>): Promise<readonly ActiveFinding[] | undefined> {
    const shared = await this.#shareInTime(own);
    if (shared === undefined) return this.#takeAlone(own);
    const { next, isChange } = shared;
    const mustReport = isChange || (this.#spokeAlone && !areSameFindings(next, this.#last));
    this.#spokeAlone = false;
    this.#last = next;
    return mustReport ? next : undefined;
  }

  /** Removes the observations of this instance. @throws RvmError STORE_FAILED */
  async leave(): Promise<void> {
    if (this.#options.isShared) await this.#put([{ name: this.#ownName, value: undefined }]);
  }

  /** True where another live instance runs the watch, too. */
  get hasOthers(): boolean {
    return this.#living().length > 0;
  }

  get #ownName(): string {
    return INSTANCE + this.#options.instance;
  }

  get #findings(): readonly ActiveFinding[] {
    return this.#stored?.findings ?? [];
  }

  /** Undefined where the inbox does not answer in time; no further request is sent until it has. */
  async #shareInTime(own: Evaluation<ActiveFinding>): Promise<Shared | undefined> {
    if (this.#isSharing) return undefined;
    this.#isSharing = true;
    const sharing = this.#share(own).finally(() => (this.#isSharing = false));
    return withTimeout(sharing, TIMEOUT_MS).catch(() => undefined);
  }

  /** @throws RvmError STORE_FAILED */
  async #share(own: Evaluation<ActiveFinding>): Promise<Shared> {
    await this.#sayOwn(own);
    for (let tries = 0; ; tries += 1) {
      if (this.#options.isShared || this.#stored === undefined) await this.#read();
      const next = this.#merged(this.#findings, own);
      // After repeated conflicts the report is left to the other instances.
      const isSame = tries === TRIES || areSameFindings(next, this.#findings);
      if (isSame) return { next, isChange: false };
      if (await this.#writeStored(next)) return { next, isChange: true };
    }
  }

  #takeAlone(own: Evaluation<ActiveFinding>): readonly ActiveFinding[] | undefined {
    const next = this.#merged(this.#last, own);
    if (areSameFindings(next, this.#last)) return undefined;
    this.#last = next;
    this.#spokeAlone = true;
    return next;
  }

  /** Reported findings stay while an instance sees them or cannot tell, with the newest values. */
  #merged(reported: readonly ActiveFinding[], own: Evaluation<ActiveFinding>): ActiveFinding[] {
    const looks = [own, ...this.#living()];
    const seen = new Map(looks.flatMap((look) => look.seen).map((each) => [each.id, each]));
    const unsure = new Set(looks.flatMap((look) => look.unsure));
    const kept = reported.flatMap((each) => {
      const now = seen.get(each.id) ?? (unsure.has(each.id) ? each : undefined);
      return now === undefined ? [] : [{ ...now, since: each.since }];
    });
    const known = new Set(kept.map(({ id }) => id));
    return inOrder([...kept, ...[...seen.values()].filter(({ id }) => !known.has(id))]);
  }

  #living(): Evaluation<ActiveFinding>[] {
    const now = this.#options.monotonic();
    return [...this.#others.values()].filter((other) => other.livesUntil > now).map(({ look }) => look);
  }

  async #sayOwn(own: Evaluation<ActiveFinding>): Promise<void> {
    const { isShared, monotonic } = this.#options;
    if (!isShared) return;
    const text = JSON.stringify(own);
    if (text === this.#said && monotonic() < this.#sayAgainAt) return;
    const value = { seen: own.seen, unsure: own.unsure };
    await this.#put([{ name: this.#ownName, value, lasts: LIVES }]);
    this.#said = text;
    this.#sayAgainAt = monotonic() + LIVES / 3;
  }

  async #writeStored(findings: readonly ActiveFinding[]): Promise<boolean> {
    const expected = this.#stored?.version ?? 0;
    const [outcome] = await this.#put([{ name: STATE, expected, value: { findings } }]);
    // The slot written by another instance is read next.
    if (outcome?.written !== true) {
      this.#stored = undefined;
      this.#version = 0;
      return false;
    }
    this.#stored = { version: outcome.slot?.version ?? 0, findings };
    return true;
  }

  #put(writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    return this.#options.store.putSlots(this.#options.owner, writes);
  }

  async #read(): Promise<true> {
    const { store, owner } = this.#options;
    const { version, isAll, slots } = await store.slots(owner, this.#version);
    if (isAll) {
      this.#stored = { version: 0, findings: [] };
      this.#others.clear();
    }
    this.#version = version;
    for (const slot of slots) {
      if (slot.name === STATE)
        this.#stored = { version: storedVersion(slot), findings: findingsIn(slot.value) };
      else if (slot.name.startsWith(INSTANCE) && slot.name !== this.#ownName) this.#hear(slot);
    }
    return true;
  }

  #hear({ name, value, left = 0 }: Slot): void {
    if (!isRecord(value) || left <= 0) this.#others.delete(name);
    else this.#others.set(name, { look: lookIn(value), livesUntil: this.#options.monotonic() + left });
  }
}

/** A removed slot has no version. */
function storedVersion({ value, version }: Slot): number {
  return value === undefined ? 0 : version;
}

function lookIn(value: Record<string, unknown>): Evaluation<ActiveFinding> {
  const unsure = Array.isArray(value['unsure']) ? value['unsure'].filter((id) => typeof id === 'string') : [];
  return { seen: standingsIn(value['seen']), unsure };
}

function findingsIn(value: unknown): ActiveFinding[] {
  return isRecord(value) ? standingsIn(value['findings']) : [];
}

/** Skips values that cannot be read: another version of the package may have written them. */
function standingsIn(value: unknown): ActiveFinding[] {
  return Array.isArray(value) ? value.filter(isStanding) : [];
}

function isStanding(value: unknown): value is ActiveFinding {
  if (!isRecord(value)) return false;
  const { id, what, since, sentence, values } = value;
  return [id, what, since, sentence].every((text) => typeof text === 'string') && isRecord(values);
}
