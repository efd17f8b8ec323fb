import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { openDatabase } from './open';

/** A message on its way into the store: plain values only, for it comes from another thread. */
export interface NewMessage {
  station: string;
  /** The message id, or a digest of the content where it has none. */
  id: string;
  fingerprint: string;
  endpoint: string;
  /** What becomes of it where its id is new. */
  state: 'received' | 'other' | 'dead' | 'stale';
  /** Absent where the event names none. */
  alarm?: string;
  isEnd: boolean;
  /** Milliseconds since 1970. */
  received: number;
  /** JSON of what is needed to deliver it. */
  record: string;
  bytes: Uint8Array;
}

export interface Accepted {
  outcome: 'new' | 'repeat' | 'conflict';
  deliveryId: string;
}

/** An event that is not settled yet. */
export interface OpenEvent {
  sequence: number;
  deliveryId: string;
  attempt: number;
  first: boolean;
  ended: boolean;
  record: string;
  bytes: Uint8Array;
}

/** The tables of an inbox, one transaction a call. Synchronous: it belongs into a thread of its own. */
export class Store {
  readonly #database: DatabaseSync;
  readonly #known: StatementSync;
  readonly #insert: StatementSync;
  readonly #insertBody: StatementSync;
  readonly #alarm: StatementSync;
  readonly #noteAlarm: StatementSync;
  readonly #open: StatementSync;
  readonly #lease: StatementSync;
  readonly #release: StatementSync;
  readonly #settle: StatementSync;

  /** @throws Error as `openDatabase` does */
  constructor(file: string) {
    this.#database = openDatabase(file);
    const prepare = (sql: string): StatementSync => this.#database.prepare(sql);
    this.#known = prepare('SELECT delivery_id, fingerprint FROM message WHERE station = ? AND id = ?');
    this.#insert = prepare(
      `INSERT INTO message (delivery_id, station, id, fingerprint, endpoint, state, first, ended, alarm, received)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertBody = prepare('INSERT INTO body (sequence, record, bytes) VALUES (?, ?, ?)');
    this.#alarm = prepare('SELECT ended FROM alarm WHERE station = ? AND id = ?');
    this.#noteAlarm = prepare(
      `INSERT INTO alarm (station, id, ended, seen) VALUES (?, ?, ?, ?)
       ON CONFLICT (station, id) DO UPDATE SET ended = max(ended, excluded.ended), seen = excluded.seen`,
    );
    this.#open = prepare(
      `SELECT sequence, delivery_id, attempt, first, ended, record, bytes FROM message JOIN body USING (sequence)
       WHERE endpoint = ? AND state IN ('received', 'leased') AND sequence > ? ORDER BY sequence LIMIT ?`,
    );
    this.#lease = prepare(
      `UPDATE message SET state = 'leased', attempt = attempt + 1 WHERE delivery_id = ? AND state IN ('received', 'leased')`,
    );
    this.#release = prepare(
      `UPDATE message SET state = 'received', attempt = attempt - 1 WHERE delivery_id = ? AND state = 'leased'`,
    );
    this.#settle = prepare(
      `UPDATE message SET state = ? WHERE delivery_id = ? AND state IN ('received', 'leased')`,
    );
  }

  /** Stores a batch in one transaction: all of it is on the disk when this returns, or nothing is. */
  accept(messages: readonly NewMessage[]): Accepted[] {
    return this.#transaction(() => messages.map((message) => this.#acceptOne(message)));
  }

  /** Events of an endpoint that are not settled, oldest first, behind a sequence number. */
  openEvents(endpoint: string, after: number, limit: number): OpenEvent[] {
    return this.#open.all(endpoint, after, limit).map((row) => ({
      sequence: Number(row['sequence']),
      deliveryId: String(row['delivery_id']),
      attempt: Number(row['attempt']),
      first: row['first'] === 1,
      ended: row['ended'] === 1,
      record: String(row['record']),
      bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
    }));
  }

  /** Notes that events go to the flow: after a crash their next delivery counts as a further attempt. */
  lease(deliveryIds: readonly string[]): void {
    this.#transaction(() => {
      for (const id of deliveryIds) this.#lease.run(id);
    });
  }

  /** Takes back what was leased and did not go to the flow after all. */
  release(deliveryIds: readonly string[]): void {
    this.#transaction(() => {
      for (const id of deliveryIds) this.#release.run(id);
    });
  }

  /** Ends deliveries. What is ended already stays as it is. */
  settle(deliveryIds: readonly string[], state: 'delivered' | 'dead'): void {
    this.#transaction(() => {
      for (const id of deliveryIds) this.#settle.run(state, id);
    });
  }

  close(): void {
    this.#database.close();
  }

  #acceptOne(message: NewMessage): Accepted {
    const known = this.#known.all(message.station, message.id);
    const copy = known.find((row) => row['fingerprint'] === message.fingerprint);
    if (copy !== undefined) return { outcome: 'repeat', deliveryId: String(copy['delivery_id']) };
    const deliveryId = randomUUID();
    if (known.length > 0) {
      this.#store(message, deliveryId, 'conflict', { first: false, ended: false });
      return { outcome: 'conflict', deliveryId };
    }
    const phase = message.state === 'received' ? this.#notePhase(message) : { first: false, ended: false };
    this.#store(message, deliveryId, message.state, phase);
    return { outcome: 'new', deliveryId };
  }

  #store(
    message: NewMessage,
    deliveryId: string,
    state: string,
    { first, ended }: { first: boolean; ended: boolean },
  ): void {
    const { station, id, fingerprint, endpoint, alarm, received, record, bytes } = message;
    const { lastInsertRowid } = this.#insert.run(
      deliveryId,
      station,
      id,
      fingerprint,
      endpoint,
      state,
      Number(first),
      Number(ended),
      alarm ?? null,
      received,
    );
    this.#insertBody.run(lastInsertRowid, record, bytes);
  }

  #notePhase({ station, alarm, isEnd, received }: NewMessage): { first: boolean; ended: boolean } {
    if (alarm === undefined) return { first: true, ended: false };
    const before = this.#alarm.get(station, alarm);
    this.#noteAlarm.run(station, alarm, Number(isEnd), received);
    return { first: before === undefined, ended: before?.['ended'] === 1 };
  }

  #transaction<Result>(work: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      // A failed commit may have ended the transaction by itself.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
