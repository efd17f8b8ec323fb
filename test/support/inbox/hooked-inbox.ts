import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StatementSync } from 'node:sqlite';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { ChangedSlots, Slot, SlotOutcome, Slots, SlotWrite } from '../../../lib/inbox/slot';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { InboxNews } from '../../../lib/inbox/store-health';
import { storeFailed, type StoreNews, type StorePort } from '../../../lib/inbox/store/port';
import type { LocalCall, StoreCalls } from '../../../lib/inbox/store/protocol';
import { replaceMethod } from '../time/patience';

const DAY = 24 * 60 * 60 * 1000;

/** What becomes of a call: `pass` does what was asked. */
export type Hook = (name: LocalCall, pass: () => unknown) => unknown;

export function fail(): never {
  throw storeFailed('the disk is gone');
}

class HookedStore implements StorePort {
  #store: Store;
  hook: Hook = (_name, pass) => pass();

  constructor(
    private readonly file: string,
    private readonly news: StoreNews,
  ) {
    this.#store = new Store({ file, resumed: false });
    queueMicrotask(() => news.onOpened(this.#store.opened));
  }

  /** As after a fault of the disk, or with a thread that follows one that has ended. */
  reopen(): void {
    this.#store.close();
    this.#store = new Store({ file: this.file, resumed: true });
    this.news.onOpened(this.#store.opened);
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const pass = (): StoreCalls[Name]['give'] => this.#store.transaction(() => this.#store.work[name](take));
    return (await this.hook(name, pass)) as StoreCalls[Name]['give'];
  }

  async close(): Promise<void> {
    this.#store.close();
  }
}

/** An inbox whose folder stays, and whose store does with each call what the test says. */
export class HookedInbox extends DurableInbox {
  readonly #port: HookedStore;

  constructor(
    readonly folder: string,
    hook?: Hook,
    log?: (news: InboxNews) => void,
  ) {
    let port: HookedStore | undefined;
    const file = path.join(folder, 'inbox.sqlite');
    super({
      file,
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      lookAgain: 20,
      spillAfter: 200,
      ...(log && { log }),
      open: (news) => {
        port = new HookedStore(file, news);
        if (hook !== undefined) port.hook = hook;
        return port;
      },
    });
    if (port === undefined) throw new Error('The store was not opened.');
    this.#port = port;
  }

  set hook(hook: Hook) {
    this.#port.hook = hook;
  }

  /** Its store is closed, and opened once more. */
  reopen(): void {
    this.#port.reopen();
  }

  /** What the disk has of its folder is what a kill leaves there, at this moment. */
  image(): string {
    const image = temporaryFolder();
    fs.cpSync(this.folder, image, { recursive: true });
    return image;
  }
}

/** For the tests of one suite: opens inboxes, which end with each test. `folder`: that of an inbox which was killed. */
export function hookedInboxes(): (hook?: Hook, folder?: string) => HookedInbox {
  const inboxes = new Set<HookedInbox>();
  afterEach(async () => {
    for (const inbox of inboxes) {
      inbox.hook = (_name, pass) => pass();
      await inbox.close();
      fs.rmSync(inbox.folder, { recursive: true });
    }
    inboxes.clear();
  });
  return (hook, folder = temporaryFolder()) => {
    const inbox = new HookedInbox(folder, hook);
    inboxes.add(inbox);
    return inbox;
  };
}

export function temporaryFolder(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-hooked-'));
}

interface Kept {
  value: unknown;
  version: number;
  endsAt: number | undefined;
}

/** Slots in memory, which several instances share; they fail, or wait, where a test says so. */
export class SlotPlace implements Pick<Slots, 'slots' | 'putSlots'> {
  fails = false;
  /** What was written, by name. */
  readonly writes: string[] = [];
  readonly #owners = new Map<string, Map<string, Kept>>();
  #version = 0;

  /** @param clock milliseconds, of the store */
  constructor(private readonly clock: () => number) {}

  async slots(owner: string, since = 0): Promise<ChangedSlots> {
    this.#check();
    const kept = [...this.#of(owner)].map(([name, each]) => this.#slot(name, each));
    const slots = kept.filter(({ version, value }) => version > since && (since > 0 || value !== undefined));
    return { version: this.#version, isAll: since === 0, slots };
  }

  async putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    this.#check();
    return writes.map((write) => this.#write(this.#of(owner), write));
  }

  #write(kept: Map<string, Kept>, { name, expected, value, lasts }: SlotWrite): SlotOutcome {
    const known = kept.get(name);
    const version = known === undefined || known.value === undefined ? 0 : known.version;
    if (expected !== undefined && expected !== version)
      return { written: false, slot: known && this.#slot(name, known) };
    this.#version += 1;
    const endsAt = lasts === undefined ? undefined : this.clock() + lasts;
    const json: unknown = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
    kept.set(name, { value: json, version: this.#version, endsAt });
    this.writes.push(name);
    return { written: true, slot: { name, value, version: this.#version } };
  }

  #slot(name: string, { value, version, endsAt }: Kept): Slot {
    return { name, value, version, ...(endsAt !== undefined && { left: endsAt - this.clock() }) };
  }

  #of(owner: string): Map<string, Kept> {
    const known = this.#owners.get(owner) ?? new Map<string, Kept>();
    this.#owners.set(owner, known);
    return known;
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
