import { withTimeout } from '../concurrency/timers';
import type { Slot, SlotOutcome, Slots, SlotWrite } from '../inbox/slot';
import { isRecord } from '../json/json';
import { areSameFindings, inOrder, type Evaluation, type ActiveFinding } from './findings';

/** What has been told; and, by instance, what each of those that live sees. */
const STATE = 'state';
const INSTANCE = 'instance/';
/** An instance that has not said for so long what it sees is dead; it says so three times as often. Milliseconds. */
const LIVES = 45_000;
/** For the store, in milliseconds. */
const PATIENCE = 5000;
/** Of a write that another instance was faster with. */
const TRIES = 3;

interface SharedFindingsOptions {
  place: Pick<Slots, 'slots' | 'putSlots'>;
  /** Whose slots these are. */
  owner: string;
  /** True where other instances may have this watch, too. */
  isShared: boolean;
  /** Of this process. */
  instance: string;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
}

interface Told {
  version: number;
  findings: readonly ActiveFinding[];
}

/** What stands for all; `isChange` where this instance has written that down. */
interface Shared {
  next: readonly ActiveFinding[];
  isChange: boolean;
}

interface Other {
  look: Evaluation<ActiveFinding>;
  /** As of the steady clock. */
  livesUntil: number;
}

/**
 * What a watch has found, kept in an inbox: it outlives a restart, and where several instances have the watch, the one that writes a
 * change down tells it. A finding stands as long as one of them sees it that lives, or cannot say. Without the inbox each goes on
 * by itself.
 */
export class SharedFindings {
  readonly #options: SharedFindingsOptions;
  #told: Told | undefined;
  /** Those of the last time that something was told here, or was found told. */
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

  /** True once it is known what was told before. */
  get isKnown(): boolean {
    return this.#told !== undefined;
  }

  /** What stands, for all instances, as far as this one knows. */
  get standing(): readonly ActiveFinding[] {
    return this.#last;
  }

  isTold(id: string): boolean {
    return this.#last.some((finding) => finding.id === id);
  }

  /** Reads what was told before. False where that is not known yet. */
  async read(): Promise<boolean> {
    if (this.#told !== undefined) return true;
    const read = await withTimeout(this.#read(), PATIENCE).catch(() => undefined);
    if (read !== true) return false;
    if (!this.#spokeAlone) this.#last = this.#findings;
    return true;
  }

  /**
   * Takes in what this instance sees.
   * @returns what stands from now on, where it is for this instance to tell that something has come or gone
   */
  async take(own: Evaluation<ActiveFinding>): Promise<readonly ActiveFinding[] | undefined> {
    const shared = await this.#shareInTime(own);
    if (shared === undefined) return this.#takeAlone(own);
    const { next, isChange } = shared;
    const isToTell = isChange || (this.#spokeAlone && !areSameFindings(next, this.#last));
    this.#spokeAlone = false;
    this.#last = next;
    return isToTell ? next : undefined;
  }

  /** This instance sees nothing any more. @throws RvmError STORE_FAILED */
  async leave(): Promise<void> {
    if (this.#options.isShared) await this.#put([{ name: this.#ownName, value: undefined }]);
  }

  /** True where another instance has the watch, too, and lives. */
  get hasOthers(): boolean {
    return this.#living().length > 0;
  }

  get #ownName(): string {
    return INSTANCE + this.#options.instance;
  }

  get #findings(): readonly ActiveFinding[] {
    return this.#told?.findings ?? [];
  }

  /** Undefined where the inbox does not answer in time; it is asked nothing more until it has. */
  async #shareInTime(own: Evaluation<ActiveFinding>): Promise<Shared | undefined> {
    if (this.#isSharing) return undefined;
    this.#isSharing = true;
    const sharing = this.#share(own).finally(() => (this.#isSharing = false));
    return withTimeout(sharing, PATIENCE).catch(() => undefined);
  }

  /** @throws RvmError STORE_FAILED */
  async #share(own: Evaluation<ActiveFinding>): Promise<Shared> {
    await this.#sayOwn(own);
    for (let tries = 0; ; tries += 1) {
      if (this.#options.isShared || this.#told === undefined) await this.#read();
      const next = this.#merged(this.#findings, own);
      // Where the others are at it again and again, it is theirs to tell.
      const isSame = tries === TRIES || areSameFindings(next, this.#findings);
      if (isSame) return { next, isChange: false };
      if (await this.#writeTold(next)) return { next, isChange: true };
    }
  }

  #takeAlone(own: Evaluation<ActiveFinding>): readonly ActiveFinding[] | undefined {
    const next = this.#merged(this.#last, own);
    if (areSameFindings(next, this.#last)) return undefined;
    this.#last = next;
    this.#spokeAlone = true;
    return next;
  }

  /** What was told stays while somebody sees it, or cannot say; in words of now. */
  #merged(told: readonly ActiveFinding[], own: Evaluation<ActiveFinding>): ActiveFinding[] {
    const looks = [own, ...this.#living()];
    const seen = new Map(looks.flatMap((look) => look.seen).map((each) => [each.id, each]));
    const unsure = new Set(looks.flatMap((look) => look.unsure));
    const kept = told.flatMap((each) => {
      const now = seen.get(each.id) ?? (unsure.has(each.id) ? each : undefined);
      return now === undefined ? [] : [{ ...now, since: each.since }];
    });
    const known = new Set(kept.map(({ id }) => id));
    return inOrder([...kept, ...[...seen.values()].filter(({ id }) => !known.has(id))]);
  }

  #living(): Evaluation<ActiveFinding>[] {
    const now = this.#options.steady();
    return [...this.#others.values()].filter((other) => other.livesUntil > now).map(({ look }) => look);
  }

  async #sayOwn(own: Evaluation<ActiveFinding>): Promise<void> {
    const { isShared, steady } = this.#options;
    if (!isShared) return;
    const text = JSON.stringify(own);
    if (text === this.#said && steady() < this.#sayAgainAt) return;
    const value = { seen: own.seen, unsure: own.unsure };
    await this.#put([{ name: this.#ownName, value, lasts: LIVES }]);
    this.#said = text;
    this.#sayAgainAt = steady() + LIVES / 3;
  }

  async #writeTold(findings: readonly ActiveFinding[]): Promise<boolean> {
    const expected = this.#told?.version ?? 0;
    const [outcome] = await this.#put([{ name: STATE, expected, value: { findings } }]);
    // What another instance has written is read next.
    if (outcome?.written !== true) {
      this.#told = undefined;
      this.#version = 0;
      return false;
    }
    this.#told = { version: outcome.slot?.version ?? 0, findings };
    return true;
  }

  #put(writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    return this.#options.place.putSlots(this.#options.owner, writes);
  }

  async #read(): Promise<true> {
    const { place, owner } = this.#options;
    const { version, isAll, slots } = await place.slots(owner, this.#version);
    if (isAll) {
      this.#told = { version: 0, findings: [] };
      this.#others.clear();
    }
    this.#version = version;
    for (const slot of slots) {
      if (slot.name === STATE) this.#told = { version: toldVersion(slot), findings: findingsIn(slot.value) };
      else if (slot.name.startsWith(INSTANCE) && slot.name !== this.#ownName) this.#hear(slot);
    }
    return true;
  }

  #hear({ name, value, left = 0 }: Slot): void {
    if (!isRecord(value) || left <= 0) this.#others.delete(name);
    else this.#others.set(name, { look: lookIn(value), livesUntil: this.#options.steady() + left });
  }
}

/** One that was removed is none. */
function toldVersion({ value, version }: Slot): number {
  return value === undefined ? 0 : version;
}

function lookIn(value: Record<string, unknown>): Evaluation<ActiveFinding> {
  const unsure = Array.isArray(value['unsure']) ? value['unsure'].filter((id) => typeof id === 'string') : [];
  return { seen: standingsIn(value['seen']), unsure };
}

function findingsIn(value: unknown): ActiveFinding[] {
  return isRecord(value) ? standingsIn(value['findings']) : [];
}

/** Another version of the package may have written them. */
function standingsIn(value: unknown): ActiveFinding[] {
  return Array.isArray(value) ? value.filter(isStanding) : [];
}

function isStanding(value: unknown): value is ActiveFinding {
  if (!isRecord(value)) return false;
  const { id, what, since, sentence, values } = value;
  return [id, what, since, sentence].every((text) => typeof text === 'string') && isRecord(values);
}
