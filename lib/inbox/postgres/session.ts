import type { Client } from 'pg';
import type { Row, Plan } from './calls/statement';

export type { Row, Plan } from './calls/statement';

/** What PostgreSQL says of a statement or plan that is not there: behind a pooler that shares connections between transactions. */
const NO_PLAN = new Set(['26000', '42P05']);

/** Whatever the database has as its default: each statement sees what was committed before it, also behind a lock. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/**
 * A connection to PostgreSQL. Statements are sent as they are asked for, without waiting for the answers before, and take
 * effect in that order.
 */
export class Session {
  /** Plans are kept by the connection. Behind a pooler that gives each transaction another one, they are not. */
  #keepsPlans = true;
  #isPooled = false;

  /** @param client connected, with `pipeline` */
  constructor(readonly client: Client) {}

  /** True behind a pooler that gives each transaction another connection: what is set on one is not on the next. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** It is behind such a pooler. */
  pool(): void {
    this.#isPooled = true;
    this.#keepsPlans = false;
  }

  /** @throws Error of `pg`, with `code` where the server says one */
  async run({ name, text }: Plan, values: readonly unknown[] = []): Promise<Row[]> {
    const named = this.#keepsPlans ? { name } : {};
    try {
      const { rows } = await this.client.query<Row>({ ...named, text, values: [...values] });
      return rows;
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /**
   * Sends `BEGIN`, what `send` asks for, and `COMMIT` in one go: one round trip, of which all takes effect or nothing.
   * @param send asks with `run`, without waiting
   * @returns the rows of each
   * @throws Error of `pg`: the first of all; nothing took effect, unless the connection was lost
   */
  async transaction(send: () => Promise<Row[]>[]): Promise<Row[][]> {
    const results = await Promise.allSettled(this.#together(send));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return results
      .slice(1, -1)
      .map((result) => (result.status === 'fulfilled' ? (result.value as Row[]) : []));
  }

  /** In one write: else each statement is a packet of its own, and wakes the server. */
  #together(send: () => Promise<Row[]>[]): Promise<unknown>[] {
    const { stream } = this.client.connection;
    stream.cork();
    try {
      return [this.client.query(BEGIN), ...send(), this.client.query('COMMIT')];
    } finally {
      stream.uncork();
    }
  }

  #noted(error: unknown): unknown {
    if (codeOf(error) !== undefined && NO_PLAN.has(String(codeOf(error)))) this.#keepsPlans = false;
    return error;
  }
}

/** True where a notice of the server is a warning. */
export function isWarning({ code }: { code?: string | undefined }): boolean {
  return code?.startsWith('01') === true;
}

/** The SQLSTATE of an error of the server. */
export function codeOf(error: unknown): string | undefined {
  const { code } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return typeof code === 'string' ? code : undefined;
}
