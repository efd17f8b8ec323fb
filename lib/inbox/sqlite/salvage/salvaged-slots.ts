import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isJson } from '../../../json/json';
import type { Row } from '../tables/statements';

/** Added to the last version of an owner that was found: there may have been later ones, in what is lost. */
const BEYOND_LOST = 1_000_000;

/** Puts slots that were read of a damaged file into a new one. Of several rows of one slot, old ones among them, the latest counts. */
export class SalvagedSlots {
  readonly #insert: StatementSync;

  constructor(private readonly target: DatabaseSync) {
    this.#insert =
      target.prepare(`INSERT INTO slot (owner, name, version, value, ends, written) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, value = excluded.value, ends = excluded.ends,
        written = excluded.written WHERE excluded.version > slot.version`);
  }

  /** @throws Error of SQLite where its values fit no more */
  add({ owner = null, name = null, version = null, value = null, ends = null, written = null }: Row): void {
    if (value !== null && !(typeof value === 'string' && isJson(value))) return;
    this.#insert.run(owner, name, version, value, ends, written);
  }

  /** Once all are there. Whoever asks for what has changed since a version is given all: nobody knows what else has. */
  finish(): void {
    this.target.exec(`INSERT INTO slot_owner (owner, version, forgotten)
      SELECT owner, max(version) + ${BEYOND_LOST}, max(version) + ${BEYOND_LOST} FROM slot GROUP BY owner`);
  }
}
