import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Quarantined, QuarantinedSum } from '../store/protocol';

/** Messages kept of one address, and of all: a flood of forgeries from one place leaves room for others. */
const MAX_OF_ADDRESS = 200;
const MAX_MESSAGES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Messages that nothing proved, the oldest of which make room for new ones. */
export class QuarantineTable {
  readonly #insert: StatementSync;
  readonly #ofEndpoint: StatementSync;
  readonly #sums: StatementSync;
  readonly #deleteUpTo: StatementSync;
  readonly #deleteOld: StatementSync;
  readonly #delete: StatementSync;
  readonly #trimAddress: StatementSync;
  readonly #trim: StatementSync;
  readonly #size: StatementSync;
  #bytes: number;

  /** @param clock the clock of the file, in milliseconds */
  constructor(
    database: DatabaseSync,
    private readonly clock: () => number,
  ) {
    this.#insert = database.prepare(
      'INSERT INTO quarantine (endpoint, address, facts, bytes, stored) VALUES (?, ?, ?, ?, ?)',
    );
    this.#ofEndpoint = database.prepare(
      'SELECT id, endpoint, address, facts, bytes FROM quarantine WHERE endpoint = ? ORDER BY id',
    );
    this.#sums = database.prepare(
      `SELECT sum.endpoint, sum.count, sum.id, newest.facts
       FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM quarantine GROUP BY endpoint) AS sum
       JOIN quarantine AS newest ON newest.id = sum.id`,
    );
    this.#deleteUpTo = database.prepare('DELETE FROM quarantine WHERE endpoint = ? AND id <= ?');
    this.#deleteOld = database.prepare('DELETE FROM quarantine WHERE stored < ?');
    this.#delete = database.prepare('DELETE FROM quarantine WHERE id = ?');
    this.#trimAddress = database.prepare(
      `DELETE FROM quarantine WHERE id IN
       (SELECT id FROM quarantine WHERE address = ? ORDER BY id DESC LIMIT -1 OFFSET ${MAX_OF_ADDRESS})`,
    );
    this.#trim = database.prepare(
      `DELETE FROM quarantine WHERE id IN (SELECT id FROM quarantine ORDER BY id DESC LIMIT -1 OFFSET ?)`,
    );
    this.#size = database.prepare('SELECT count(*) AS count, total(length(bytes)) AS bytes FROM quarantine');
    this.#bytes = this.#measure().bytes;
  }

  add({ endpoint, address, facts, bytes }: Quarantined): void {
    this.#insert.run(endpoint, address, facts, bytes, Math.round(this.clock()));
    this.#trimAddress.run(address);
    this.#trim.run(MAX_MESSAGES);
    this.#bytes += bytes.byteLength;
    // Measured anew only when it may be too much: what was trimmed is counted out then, too.
    while (this.#bytes > MAX_BYTES) {
      const { count, bytes: held } = this.#measure();
      this.#bytes = held;
      if (held > MAX_BYTES) this.#trim.run(Math.floor(count * 0.9));
    }
  }

  ofEndpoint(endpoint: string): (Quarantined & { id: number })[] {
    return this.#ofEndpoint.all(endpoint).map((row) => ({
      id: Number(row['id']),
      endpoint: String(row['endpoint']),
      address: String(row['address']),
      facts: String(row['facts']),
      bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
    }));
  }

  sums(): QuarantinedSum[] {
    return this.#sums.all().map((row) => ({
      endpoint: String(row['endpoint']),
      count: Number(row['count']),
      id: Number(row['id']),
      facts: String(row['facts']),
    }));
  }

  releaseUpTo(endpoint: string, id: number): void {
    this.#deleteUpTo.run(endpoint, id);
  }

  release(ids: readonly number[]): void {
    for (const id of ids) this.#delete.run(id);
  }

  /** @param before what was stored before this time, in milliseconds of the clock of the file, goes */
  tidy(before: number): void {
    this.#deleteOld.run(before);
  }

  #measure(): { count: number; bytes: number } {
    const row = this.#size.get();
    return { count: Number(row?.['count'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) };
  }
}
