import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Messages } from './messages';
import { openDatabase } from './open';
import type { CallName, Opened, StoreCalls } from './protocol';
import { Quarantine } from './quarantine';
import { Retention } from './retention';

type Work = { [Name in CallName]: (take: StoreCalls[Name]['take']) => StoreCalls[Name]['give'] };

export interface StoreOptions {
  file: string;
  /** True where this thread had the file open before: its leases go on. */
  resumed: boolean;
  /** Delivery ids of leases that go on in no case. */
  doubtful?: string[];
  /** Milliseconds of a clock that never jumps. */
  steady?: () => number;
}

/**
 * One SQLite file with the tables of an inbox. Synchronous: it belongs into a thread of its own. It ages by a clock of
 * its own, which runs while the file is open: a wall clock that was set wrong, or right, ages nothing.
 */
export class Store {
  readonly opened: Opened;
  /** What may be asked of it, by name, in a `transaction`: that adds the bodies of messages. */
  readonly work: Work;
  readonly #database: DatabaseSync;
  readonly #messages: Messages;
  readonly #steady: () => number;
  readonly #clockAtOpen: number;

  /** @throws Error as `openDatabase` does */
  constructor({ file, resumed, doubtful = [], steady = () => performance.now() }: StoreOptions) {
    this.#database = openDatabase(file);
    try {
      const openedAt = steady();
      this.#steady = () => steady() - openedAt;
      this.#clockAtOpen = Number(this.#meta('clock') ?? 0);
      const messages = new Messages(this.#database, () => this.#clock());
      this.#messages = messages;
      this.opened = this.transaction(() => {
        messages.giveBack({ unsent: doubtful, cutOff: [] });
        if (!resumed) messages.forgetLeases();
        return { waiting: messages.waiting(), restored: this.#countOpening(file) };
      });
      this.work = this.#workOf(messages);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** All of it is on the disk when this returns, or nothing is. */
  transaction<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      this.#messages.readBodies();
      return result;
    } catch (error) {
      // A failed commit may have ended the transaction by itself.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  #workOf(messages: Messages): Work {
    const quarantine = new Quarantine(this.#database);
    const retention = new Retention(this.#database);
    return {
      accept: (take) => messages.accept(take),
      lease: (take) => messages.lease(take),
      giveBack: (take) => messages.giveBack(take),
      lapse: (take) => messages.lapse(take),
      again: (take) => messages.again(take),
      markDelivered: (take) => messages.markDelivered(take),
      finish: (take) => messages.finish(take),
      stateOf: (take) => messages.stateOf(take),
      list: (take) => messages.list(take),
      quarantine: (take) => quarantine.add(take),
      quarantined: (take) => quarantine.ofEndpoint(take),
      release: (take) => quarantine.release(take),
      quarantineKey: () => this.#quarantineKey(),
      tidy: ({ keys, bodies }) => this.#tidy(retention, keys, bodies),
      // Written, for a disk that is full can still be read.
      ping: () => this.#keepClock(),
    };
  }

  /** Milliseconds that the file has been open, over all its openings. */
  #clock(): number {
    return this.#clockAtOpen + this.#steady();
  }

  #keepClock(): void {
    this.#setMeta('clock', String(Math.round(this.#clock())));
  }

  #tidy(retention: Retention, keys: number, bodies: number): boolean {
    this.#keepClock();
    const now = this.#clock();
    return retention.tidy(now - bodies, now - keys);
  }

  #quarantineKey(): Uint8Array {
    const known = this.#meta('quarantine-key');
    if (known !== undefined) return Buffer.from(known, 'hex');
    const key = randomBytes(32);
    this.#setMeta('quarantine-key', key.toString('hex'));
    return key;
  }

  /**
   * Openings are counted in the file and beside it. Where the file has seen fewer, it is an old copy: what came since the
   * copy was made is not known to it.
   */
  #countOpening(file: string): boolean {
    const beside = path.join(path.dirname(file), 'inbox.openings');
    const inFile = Number(this.#meta('openings') ?? 0);
    const seen = openingsIn(beside);
    const count = Math.max(inFile, seen) + 1;
    this.#setMeta('openings', String(count));
    fs.writeFileSync(beside, `${count}\n`, { mode: 0o600 });
    return inFile < seen;
  }

  #meta(name: string): string | undefined {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name);
    return row === undefined ? undefined : String(row['value']);
  }

  #setMeta(name: string, value: string): void {
    this.#database
      .prepare('INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
      .run(name, value);
  }
}

function openingsIn(file: string): number {
  try {
    const count = Number(fs.readFileSync(file, 'utf8'));
    return Number.isSafeInteger(count) ? count : 0;
  } catch {
    return 0;
  }
}
