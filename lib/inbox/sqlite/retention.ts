import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Rows looked at in one go, so that a commit never waits long. */
const STEP = 500;
const DAY = 24 * 60 * 60 * 1000;
const FINAL: ReadonlySet<unknown> = new Set(['delivered', 'conflict', 'stale', 'other']);

/**
 * Removes what is final and old, by order of insertion: it stops at the first row that is younger. Dead letters stay
 * until somebody deals with them, or discards them.
 */
export class Retention {
  readonly #rows: StatementSync;
  readonly #deleteMessage: StatementSync;
  readonly #deleteBody: StatementSync;
  /** How far each pass has come. From the start again once a day, for what was open then may be final now. */
  readonly #done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };

  constructor(database: DatabaseSync) {
    this.#rows = database.prepare(
      'SELECT sequence, state, again, stored FROM message WHERE sequence > ? ORDER BY sequence LIMIT ?',
    );
    this.#deleteMessage = database.prepare('DELETE FROM message WHERE sequence = ?');
    this.#deleteBody = database.prepare('DELETE FROM body WHERE sequence = ?');
  }

  /**
   * One step. A key is kept for at least its time, and as long as its body.
   * @param bodies what was stored before this time, in milliseconds of the clock of the file, needs no body any more
   * @param keys and before this one no key
   * @returns true where there is more to remove
   */
  tidy(bodies: number, keys: number): boolean {
    const more = this.#pass('bodies', bodies, this.#deleteBody);
    return this.#pass('messages', Math.min(keys, bodies), this.#deleteMessage) || more;
  }

  #pass(what: 'bodies' | 'messages', before: number, remove: StatementSync): boolean {
    const done = this.#done[what];
    if (before - done.from > DAY) Object.assign(done, { sequence: 0, from: before });
    const rows = this.#rows.all(done.sequence, STEP);
    for (const row of rows) {
      const { sequence } = row;
      if (sequence === undefined || Number(row['stored']) >= before) return false;
      if (isFinal(row)) remove.run(sequence);
      done.sequence = Number(sequence);
    }
    return rows.length === STEP;
  }
}

function isFinal({ state, again }: Record<string, SQLOutputValue>): boolean {
  return FINAL.has(state) || (state === 'dead' && again === 'dismissed');
}
