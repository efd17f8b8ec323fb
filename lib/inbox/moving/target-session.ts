import { DURABLE, WARNED } from '../postgres/calls/batch-settings';
import { BEGIN, isWarning, type Row, type Session, type Plan } from '../postgres/session';

/** Transactions of several round trips. Statements have no names, so that it works behind any pooler. */
export class TargetSession {
  #warning: string | undefined;

  constructor(private readonly session: Session) {
    session.client.on('notice', ({ code, message }) => {
      if (isWarning({ code })) this.#warning ??= message;
    });
  }

  /** @throws Error of `pg` */
  async run({ text }: Plan, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.session.client.query<Row>({ text, values: [...values] });
    return rows;
  }

  /**
   * @param isDurable false where what is lost with the server's machine is simply done again
   * @throws Error of `pg`; also where the database has not waited for its standby, and says so with a warning
   */
  async transaction<Result>(isDurable: boolean, work: () => Promise<Result>): Promise<Result> {
    const { client } = this.session;
    this.#warning = undefined;
    await client.query(BEGIN);
    try {
      await client.query(isDurable ? KEPT : NOT_KEPT);
      const result = await work();
      await client.query('COMMIT');
      if (this.#warning !== undefined) throw new Error(this.#warning);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.session.client.end().catch(() => undefined);
  }
}

/** The tables grow too quickly for the server to know them: it would take each statement for one that is worth compiling. */
const SHORT = `set_config('jit', 'off', true)`;
const KEPT = `SELECT ${SHORT}, ${WARNED}, ${DURABLE}`;
const NOT_KEPT = `SELECT ${SHORT}, set_config('synchronous_commit', 'off', true)`;
