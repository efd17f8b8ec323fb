import fs from 'node:fs';
import path from 'node:path';
import { StatementSync } from 'node:sqlite';
import type { ListedMessage, ListQuery } from '../../../lib/inbox/model';
import type { ChangedSlots, Slot, SlotOutcome, Slots, SlotWrite } from '../../../lib/inbox/slot';
import type { InboxEvents } from '../../../lib/inbox/store-health';
import { SPARE_FILE } from '../../../lib/inbox/spare/spare-folder';
import { storeFailed } from '../../../lib/inbox/store/port';
import { temporaryFolder } from '../suite/temporary-folder';
import { eventually, PATIENCE, replaceMethod } from '../time/patience';
import { InlineInbox, type InlineInboxOptions, pass } from './each-store';

/** An inbox whose folder stays, and whose store has little time to do what the test says of each call. */
export class HookedInbox extends InlineInbox {
  constructor({ folder = temporaryFolder(), ...options }: InlineInboxOptions = {}) {
    super({ folder, lookAgain: 20, timeoutMs: 200, ...options });
  }

  /** What the disk has of its folder is what a kill leaves there, at this moment. */
  image(): string {
    const image = temporaryFolder();
    fs.cpSync(this.folder, image, { recursive: true });
    return image;
  }
}

/** For the tests of one suite: opens inboxes, which end with each test. */
export class SpillStand {
  readonly #inboxes = new Set<HookedInbox>();
  readonly news: InboxEvents[] = [];
  /** That of the test, which is open before it begins; or the one opened last. */
  inbox!: HookedInbox;

  /** @param options not given = no inbox is opened before a test begins */
  constructor(options?: InlineInboxOptions) {
    beforeEach(async () => {
      this.news.length = 0;
      if (options !== undefined) await this.works({ timeoutMs: PATIENCE, ...options });
    });
    afterEach(async () => {
      for (const inbox of this.#inboxes) await this.end(inbox);
      for (const inbox of this.#inboxes) fs.rmSync(inbox.folder, { recursive: true, force: true });
      this.#inboxes.clear();
    });
  }

  /** `folder`: that of an inbox which was closed, or killed. */
  open(options: InlineInboxOptions = {}): HookedInbox {
    this.inbox = new HookedInbox({ log: (line) => this.news.push(line), ...options });
    this.#inboxes.add(this.inbox);
    return this.inbox;
  }

  /** Opens one, and waits for its store unless that fails. */
  async works(options: InlineInboxOptions = {}): Promise<HookedInbox> {
    const inbox = this.open(options);
    if (options.fails !== true)
      await eventually(() => inbox.state().durable === true, 'the store to be open');
    return inbox;
  }

  async end(inbox = this.inbox): Promise<void> {
    inbox.fails = false;
    inbox.hook = pass;
    await inbox.close();
  }

  /** Its store works, and all that was spilled is in it. */
  async mend(inbox = this.inbox): Promise<void> {
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true && this.files(inbox).length === 0, 'all inside');
  }

  /** The files of spares there. */
  files({ folder }: Pick<HookedInbox, 'folder'> = this.inbox): string[] {
    const spill = path.join(folder, 'spill');
    if (!fs.existsSync(spill)) return [];
    const names = fs.readdirSync(spill, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => path.basename(name) === SPARE_FILE).map((name) => path.join(spill, name));
  }

  async list(state: ListQuery['state'] = 'all', more: Partial<ListQuery> = {}): Promise<ListedMessage[]> {
    return (await this.inbox.list({ state, limit: 1000, ...more })).messages;
  }

  async stateOf(deliveryId: string): Promise<ListedMessage['state'] | undefined> {
    return (await this.list('all', { deliveryId }))[0]?.state;
  }
}

interface Kept {
  value: unknown;
  version: number;
  endsAt: number | undefined;
}

/** Slots in memory, which several instances share; they fail, or wait, where a test says so. */
export class SlotPlace implements Pick<Slots, 'slots' | 'putSlots' | 'watchSlots'> {
  fails = false;
  /** What was written, by name, and by how many calls. */
  readonly writes: string[] = [];
  puts = 0;
  readonly #owners = new Map<string, Map<string, Kept>>();
  readonly #watchers = new Set<() => void>();
  #version = 0;

  /**
   * @param clock milliseconds, of the store
   * @param takes milliseconds until a call is done; unless said, it is before the caller goes on
   */
  constructor(
    private readonly clock: () => number,
    private readonly takes?: number,
  ) {}

  async slots(owner: string, since = 0): Promise<ChangedSlots> {
    if (this.takes !== undefined) await this.#late(this.takes);
    this.#check();
    const slots = [...this.#of(owner)]
      .map(([name, each]) => this.#slot(name, each))
      .filter(({ version, value }) => version > since && (since > 0 || value !== undefined))
      .sort((one, other) => one.version - other.version);
    return { version: this.#version, isAll: since === 0, slots };
  }

  async putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    if (this.takes !== undefined) await this.#late(this.takes);
    this.#check();
    this.puts += 1;
    const outcomes = writes.map((write) => this.#write(this.#of(owner), write));
    for (const changed of this.#watchers) changed();
    return outcomes;
  }

  watchSlots(_owner: string, changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Of those that have a value. */
  names(): string[] {
    const all = [...this.#owners.values()].flatMap((kept) => [...kept]);
    return all.filter(([, { value }]) => value !== undefined).map(([name]) => name);
  }

  #write(kept: Map<string, Kept>, { name, expected, value, lasts }: SlotWrite): SlotOutcome {
    const known = kept.get(name);
    const isThere = known?.value !== undefined;
    if (expected !== undefined && expected !== (isThere ? known.version : 0))
      return { written: false, slot: isThere ? this.#slot(name, known) : undefined };
    this.#version += 1;
    const endsAt = lasts === undefined ? undefined : this.clock() + lasts;
    const json: unknown = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
    const written = { value: json, version: this.#version, endsAt };
    kept.set(name, written);
    this.writes.push(name);
    return { written: true, slot: value === undefined ? undefined : this.#slot(name, written) };
  }

  #slot(name: string, { value, version, endsAt }: Kept): Slot {
    return { name, value, version, ...(endsAt !== undefined && { left: endsAt - this.clock() }) };
  }

  #of(owner: string): Map<string, Kept> {
    const known = this.#owners.get(owner) ?? new Map<string, Kept>();
    this.#owners.set(owner, known);
    return known;
  }

  #late(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  #check(): void {
    if (this.fails) throw storeFailed('the disk is gone');
  }
}

/** Extended code of SQLite for a disk that fails to read. */
const SQLITE_IOERR_READ = 266;

/**
 * From now on the disk fails to give bodies of messages to this thread; all else can be read and written.
 * @param fails of which sequences; not given = of all
 * @returns the way to end that
 */
export function failToReadBodies(fails: (sequence: number) => boolean = () => true): () => void {
  return replaceMethod<StatementSync>(StatementSync.prototype, 'get', (former) => {
    return function get(...values) {
      if (/SELECT .*\bbytes\b.* FROM body\b/.test(this.sourceSQL) && fails(Number(values[0])))
        throw Object.assign(new Error('disk I/O error'), { errcode: SQLITE_IOERR_READ });
      return Reflect.apply(former, this, values);
    };
  });
}

type Sized = { length: number } | { size: number };

/** What looks at one element after the other, and does not stop before the last. */
const WALKS: readonly (readonly [object, readonly PropertyKey[]])[] = [
  [
    Array.prototype,
    ['filter', 'find', 'forEach', 'includes', 'indexOf', 'map', 'reduce', 'shift', 'slice', 'some', 'splice'],
  ],
  [Map.prototype, ['entries', 'forEach', 'keys', 'values', Symbol.iterator]],
  [Set.prototype, ['entries', 'forEach', 'keys', 'values', Symbol.iterator]],
];

/**
 * Counts the elements that walks through arrays, maps and sets look at while the work goes on: what it costs, whatever else
 * the machine has to do. `for … of` over an array is not counted.
 */
export async function visits(work: () => Promise<void>): Promise<number> {
  let count = 0;
  const restore = WALKS.flatMap(([prototype, names]) =>
    names.map((name) =>
      replaceMethod<Sized>(prototype, name, (former) => {
        return function walk(this: Sized, ...values: unknown[]): unknown {
          count += 'length' in this ? this.length : this.size;
          return Reflect.apply(former, this, values);
        };
      }),
    ),
  );
  try {
    await work();
    return count;
  } finally {
    for (const end of restore) end();
  }
}
