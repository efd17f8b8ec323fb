import type { KnownMessages } from './known-messages';
import type { Row, Statements } from './statements';

/** Rows looked at in one go, so that a commit never waits long. */
const STEP = 500;
const DAY = 24 * 60 * 60 * 1000;

/** Removes what is final and old, by order of insertion: it stops at the first row that is younger. */
export class RetentionSweep {
  /** How far each pass has come. From the start again once a day, for what was open then may be final now. */
  readonly #done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };

  constructor(
    private readonly statements: Statements,
    private readonly known: KnownMessages,
  ) {}

  /**
   * One step. A key is kept for at least its time, and as long as its body.
   * @param bodies what was stored before this time, in milliseconds of the clock of the file, needs no body any more
   * @param keys and before this one no key
   * @returns true where there is more to remove
   */
  tidy(bodies: number, keys: number): boolean {
    const more = this.#pass('bodies', bodies, ({ sequence = null }) => {
      this.statements.deleteBody.run(sequence);
      // Names and remarks of people are in it.
      this.statements.deleteHistory.run(sequence);
    });
    return this.#pass('messages', Math.min(keys, bodies), (row) => this.#removeMessage(row)) || more;
  }

  #pass(what: 'bodies' | 'messages', before: number, remove: (row: Row) => void): boolean {
    const done = this.#done[what];
    if (before - done.from > DAY) Object.assign(done, { sequence: 0, from: before });
    const rows = this.statements.aging.all(done.sequence, STEP);
    for (const row of rows) {
      const { sequence } = row;
      if (sequence === undefined || Number(row['stored']) >= before) return false;
      if (row['final'] === 1) remove(row);
      done.sequence = Number(sequence);
    }
    return rows.length === STEP;
  }

  #removeMessage({ sequence = null, id_key: key, alarm_key: alarm = null }: Row): void {
    this.statements.deleteMessage.run(sequence);
    this.known.remove(Number(sequence), Number(key), alarm === null ? null : Number(alarm));
  }
}
