import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { spareTable } from './carried-rows';
import { KnownMessages } from './known-ids';
import { Bodies, MessageLists, type Search } from './lists';
import { Messages, retentionSweep } from './messages';
import {
  endpointTable,
  figures,
  forgetSlots,
  HistoryTable,
  quarantineTable,
  SLOT_CLOCK,
  SlotClock,
  slotTable,
} from './tables';
import {
  BEYOND_LOST,
  clockIn,
  faultText,
  IN_MEMORY,
  IDS_LOST,
  type LastMessage,
  metaIn,
  numberIn,
  openDatabase,
  openingsBeside,
  sizeOf,
  UNCERTAIN,
  wasMoved,
  writeOpenings,
} from './database';
import type { LostTime } from '../model';
import {
  type LocalCall,
  type OpenReport,
  type StoreCalls,
  type StoredMessage,
  type StoreEvents,
  storeFailed,
  type StorePort,
} from '../store/port';
import { prepareStatements, type Statements, type Work } from './statements';
import { rollBack } from './schema';

/** Of the key to what is quarantined. */
const KEY_BYTES = 32;

interface StoreOptions {
  file: string;
  /** True where this process had the file open before: its leases go on. */
  resumed: boolean;
  /** The newest message that the inbox had, as is remembered elsewhere. */
  last?: LastMessage | undefined;
  /** True where it was just salvaged: that it has less is told already. */
  isSalvaged?: boolean;
  /** True of a store beside an inbox that fails. */
  isSpare?: boolean;
  /** Milliseconds of a clock that never jumps. */
  monotonic?: () => number;
  /** Milliseconds since 1970. Default: the clock of this machine. */
  wall?: () => number;
  /** Told of a fault of the disk that kept a body from being read, after the commit. */
  onReadFault?: (error: unknown) => void;
  /** Told how long a commit took, most of which is its sync, in milliseconds; also one that failed. */
  onSynced?: (ms: number) => void;
}

/**
 * One SQLite file with the tables of an inbox. Synchronous: it belongs into a thread of its own. It ages by a clock of its own,
 * which runs while the file is open: a wall clock that was set wrong, or right, ages nothing.
 */
export class Store {
  readonly opened: OpenReport;
  /** What may be asked of it, by name, in a `transaction`: that adds the bodies of messages. */
  readonly work: Work;
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #known: KnownMessages;
  readonly #messages: Messages;
  readonly #bodies: Bodies;
  readonly #lists: MessageLists;
  readonly #monotonic: () => number;
  readonly #clockAtOpen: number;
  readonly #slotClock: SlotClock;
  readonly #onSynced: (ms: number) => void;

  /** @throws Error as `openDatabase` does */
  constructor(options: StoreOptions) {
    const { file, resumed, isSpare, monotonic = () => performance.now(), onReadFault, onSynced } = options;
    this.#onSynced = onSynced ?? (() => undefined);
    const isNew = sizeOf(file) === 0;
    this.#database = openDatabase(file);
    try {
      const statements = prepareStatements(this.#database);
      this.#statements = statements;
      const openedAt = monotonic();
      this.#monotonic = () => monotonic() - openedAt;
      this.#clockAtOpen = clockIn(this.#database);
      this.#slotClock = new SlotClock(this.#database, this.#monotonic, options.wall);
      const bodies = new Bodies(statements, onReadFault ?? (() => undefined));
      this.#bodies = bodies;
      const known = new KnownMessages(statements);
      this.#known = known;
      known.fill(this.#database);
      const newest = this.newest;
      const { last } = options;
      const isOther = isNew && wasMoved(file);
      const isBehind = last !== undefined && newest.sequence < last.sequence && !isOther;
      // Sequences that were given away since are not given twice.
      const given = isBehind ? last.sequence + BEYOND_LOST : newest.sequence;
      const history = new HistoryTable(statements);
      this.#lists = new MessageLists(statements, history, bodies);
      const clock = (): number => this.#clock();
      const messages = new Messages(statements, known, bodies, history, clock, given, isSpare);
      this.#messages = messages;
      const seen = file === IN_MEMORY ? 0 : openingsBeside(file);
      const inFile = this.#number('openings', 0) ?? 0;
      const openings = Math.max(inFile, seen) + 1;
      this.opened = this.transaction(() => {
        if (!resumed) messages.forgetLeases();
        this.#setMeta('openings', String(openings));
        const isOlder = inFile < seen || (isBehind && options.isSalvaged !== true);
        if (isOlder) this.#noteLost();
        // Or the next start would find it behind once more.
        if (isBehind) this.#setMeta('sequence', String(messages.newest));
        messages.doubt(this.#number(UNCERTAIN, messages.newest) ?? 0);
        this.#keepSlotClock();
        const restored = isOlder && (isNew ? 'anew' : 'older');
        const lost = isOlder && { lost: lostTime(newest, isBehind ? last : undefined) };
        return { waiting: messages.waiting(), restored, ...lost, ...this.#idsLost() };
      });
      if (file !== IN_MEMORY) writeOpenings(file, openings);
      this.work = this.#workOf(messages, history);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** All of it is on the disk when this returns, or nothing is, and it throws. */
  transaction<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    let result: Result;
    try {
      result = work();
      this.#commit();
      this.#known.committed();
    } catch (error) {
      rollBack(this.#database);
      this.#known.rolledBack();
      this.#messages.forgetWork();
      this.#bodies.forget();
      throw error;
    }
    this.#bodies.read();
    return result;
  }

  /** Looks on for what is searched, in a `transaction`. @returns undefined where there is more to look at */
  search(search: Search): StoredMessage[] | undefined {
    return this.#lists.slice(search);
  }

  /** Writes the log into the file, so that it need not grow. */
  checkpointLog(): void {
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /** Empties the log into the file. After an end in such a moment the next start has nothing to check. */
  checkpoint(): void {
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** The newest message that it has had: as far as is on the disk. */
  get newest(): LastMessage {
    const { sequence = 0, received = 0 } = this.#statements.newest.get() ?? {};
    return {
      sequence: Math.max(Number(sequence), this.#number('sequence', 0) ?? 0),
      received: Number(received),
    };
  }

  /** Writes all of it into another file, which is empty; not synced. @throws Error of the disk, or of a page that is damaged */
  copyTo(file: string): void {
    this.#database.prepare('VACUUM INTO ?').run(file);
  }

  close(): void {
    this.#database.close();
  }

  #commit(): void {
    const begun = performance.now();
    try {
      this.#database.exec('COMMIT');
    } finally {
      this.#onSynced(performance.now() - begun);
    }
  }

  #workOf(messages: Messages, history: HistoryTable): Work {
    const [database, statements, known] = [this.#database, this.#statements, this.#known];
    const clock = (): number => this.#clock();
    const sweep = retentionSweep(statements, known);
    return {
      accept: (take) => messages.accept(take),
      lease: (take) => messages.lease(take),
      giveBack: (take) => messages.giveBack(take),
      leased: (take) => messages.leased(take),
      lapse: (take) => messages.lapse(take),
      again: (take) => messages.again(take),
      markDelivered: (take) => messages.markDelivered(take),
      finish: (take) => messages.finish(take),
      revive: (take) => messages.revive(take),
      dismiss: (take) => messages.dismiss(take),
      stateOf: (take) => messages.stateOf(take),
      bring: (take) => messages.bring(take),
      waiting: () => messages.waiting(),
      openAlarms: (take) => messages.openAlarms(take),
      note: (take) => history.note(take),
      look: (take) => known.look(take),
      isKnown: ({ station, id }) => known.copiesOf({ station, id, named: true }).length > 0,
      list: (take) => this.#lists.list(take),
      page: (take) => this.#lists.page(take),
      ...spareTable(database, statements, known),
      ...quarantineTable(statements, clock),
      ...figures(statements, clock),
      ...endpointTable(statements, (endpoint) => messages.waitsAt(endpoint)),
      ...slotTable(statements, this.#slotClock, () => this.#keepSlotClock()),
      quarantineKey: () => this.#key('quarantine-key'),
      viewKey: () => this.#key('view-key'),
      tidy: ({ keys, bodies }) => {
        const now = this.#keepClock();
        // The newest message may go with the others, and its sequence must not be given away once more.
        this.#setMeta('sequence', String(this.#messages.newest));
        statements.releaseOld.run(now - bodies);
        forgetSlots(statements, this.#slotClock);
        return sweep(now - bodies, now - keys);
      },
      // Written, for a disk that is full can still be read.
      ping: () => void this.#keepClock(),
    };
  }

  /** Milliseconds that the file has been open, over all its openings. */
  #clock(): number {
    return this.#clockAtOpen + this.#monotonic();
  }

  /** What came to the file that was here is not in this one; nor what became since of what is in it. */
  #noteLost(): void {
    this.#setMeta(IDS_LOST, String(Math.round(this.#clock())));
    this.#setMeta(UNCERTAIN, String(this.#messages.newest));
  }

  #idsLost(): Pick<OpenReport, 'idsLostSince'> {
    const lost = this.#number(IDS_LOST, this.#clock());
    return lost === undefined ? {} : { idsLostSince: this.#clock() - lost };
  }

  #keepClock(): number {
    const now = this.#clock();
    this.#setMeta('clock', String(Math.round(now)));
    this.#keepSlotClock();
    return now;
  }

  #keepSlotClock(): void {
    this.#setMeta(SLOT_CLOCK, String(this.#slotClock));
  }

  /** A key of this inbox, made when it is first asked for. */
  #key(name: string): Uint8Array {
    const known = Buffer.from(metaIn(this.#database, name) ?? '', 'hex');
    if (known.length === KEY_BYTES) return known;
    const key = randomBytes(KEY_BYTES);
    this.#setMeta(name, key.toString('hex'));
    return key;
  }

  /** Undefined where the file has none; `unreadable` where it is no number. */
  #number(name: string, unreadable: number): number | undefined {
    const text = metaIn(this.#database, name);
    return text === undefined ? undefined : (numberIn(text) ?? unreadable);
  }

  #setMeta(name: string, value: string): void {
    this.#statements.setMeta.run(name, value);
  }
}

/** @param last what was remembered of the file that was here */
function lostTime({ sequence, received }: LastMessage, last: LastMessage | undefined): LostTime {
  return {
    ...(sequence > 0 && received > 0 && { from: received }),
    ...(last && last.received > 0 && { to: last.received }),
  };
}

/** A store in the memory of this thread, where no file can be written. */
export class MemoryStore implements StorePort {
  readonly #store = new Store({ file: IN_MEMORY, resumed: false, isSpare: true });

  constructor(news: StoreEvents) {
    queueMicrotask(() => news.onOpened(this.#store.opened));
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    try {
      return this.#store.transaction(() => this.#store.work[name](take));
    } catch (error) {
      throw storeFailed(faultText(error));
    }
  }

  async close(): Promise<void> {
    this.#store.close();
  }
}
