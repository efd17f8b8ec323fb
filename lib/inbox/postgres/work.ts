import type { SharedCall, StoredMessage } from '../store/protocol';
import { Calls } from './calls/calls';
import type { Reply, Request, Step } from './calls/step';
import { endsConnection } from './connection/fault';
import { codeOf, isWarning, type Row, type Session } from './session';

export type { Reply, Request } from './calls/step';

/** A deadlock, a failure to serialise, and plans that are not on this connection: the same again may succeed. */
const TRY_AGAIN = new Set(['40P01', '40001', '26000', '42P05']);
/** How often a batch is tried. */
const MOST_TRIES = 5;
/**
 * Errors that are of one call, its data, a constraint, a limit, a damaged row; or of all together: no place is left for so many
 * locks.
 */
const NOT_TOGETHER = /^(22...|23...|54...|53200|XX00[12])$/;
/** A damaged row, or its entry in an index. */
const DAMAGED = /^XX00[12]$/;

/** What became of all of a batch; or the error of what it asks, and nothing of it has taken effect. */
type Outcome = { replies: Reply[] } | { error: unknown };

/** Runs batches of calls; holds the statements of one schema. */
export class PlanRunner {
  readonly #calls: Calls;

  /**
   * @param epoch of this instance, as it is now
   * @param steady milliseconds of a clock that never jumps
   */
  constructor(
    schema: string,
    private readonly epoch: () => string,
    steady: () => number = () => performance.now(),
  ) {
    this.#calls = new Calls(schema, steady);
  }

  /**
   * Runs the calls of a batch in one transaction and one round trip. Where one of them is at fault, each runs in a transaction
   * of its own, so that it keeps no other out. What was leased by an epoch that has ended meanwhile is not given.
   * @returns what became of each, in the order in which they took effect
   * @throws Error of `pg` where the connection or the database has failed; Error without code where the server warns, which is
   * to say that what it has committed may be on one disk alone: the connection is of no use any more
   */
  async run(session: Session, batch: readonly Request[]): Promise<Reply[]> {
    const epoch = this.epoch();
    const replies = await this.#run(session, batch, epoch);
    return this.epoch() === epoch ? replies : withoutLeases(batch, replies);
  }

  async #run(session: Session, batch: readonly Request[], epoch: string): Promise<Reply[]> {
    const outcome = await this.#runTogether(session, batch, epoch);
    if (!('error' in outcome)) return outcome.replies;
    const [first, ...others] = batch;
    if (first !== undefined && others.length === 0)
      return this.#runBare(session, first, { epoch, error: outcome.error });
    const replies: Reply[] = [];
    for (const request of batch) replies.push(...(await this.#runAlone(session, request, epoch)));
    return replies;
  }

  /** What fails here says nothing of those before it, which have taken effect; unless it is known of none any more what has. */
  async #runAlone(session: Session, request: Request, epoch: string): Promise<Reply[]> {
    try {
      return await this.#run(session, [request], epoch);
    } catch (error) {
      if (endsConnection(error)) throw error;
      return [{ id: request.id, error }];
    }
  }

  /** A body that a damaged disk does not give keeps no other from being given. @param error of the call as a whole */
  async #runBare(
    session: Session,
    request: Request,
    { epoch, error }: { epoch: string; error: unknown },
  ): Promise<Reply[]> {
    const steps = isDamage(error) ? this.#calls.bare(request, epoch) : undefined;
    if (steps === undefined) return [{ id: request.id, error }];
    const outcome = await this.#runSteps(session, steps);
    if ('error' in outcome) return [{ id: request.id, error: outcome.error }];
    if (request.name !== 'lease') return outcome.replies;
    const leased = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const give: StoredMessage[] = [];
    for (const message of leased) give.push(await this.#withBody(session, message));
    return [{ id: request.id, give }];
  }

  /** A message that was leased, as far as it can be read now: it stays leased. */
  async #withBody(session: Session, message: StoredMessage): Promise<StoredMessage> {
    const outcome = await this.#runSteps(session, this.#calls.one(0, message.deliveryId)).catch(
      (error: unknown) => {
        if (endsConnection(error)) throw error;
        return { error };
      },
    );
    if ('error' in outcome) return { ...message, isUnread: true };
    const [read] = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const { facts, bytes } = read ?? {};
    return facts === undefined || bytes === undefined
      ? { ...message, isIncomplete: true }
      : { ...message, facts, bytes };
  }

  async #runTogether(session: Session, batch: readonly Request[], epoch: string): Promise<Outcome> {
    const steps = this.#stepsOf(batch, epoch);
    return 'error' in steps ? steps : this.#runSteps(session, steps);
  }

  /** @throws Error of `pg` where it is not of what was asked */
  async #runSteps(session: Session, steps: readonly Step[]): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      try {
        const rows = await certainRows(session, steps);
        return { replies: steps.flatMap((step, index) => step.read?.(rows[index] ?? []) ?? []) };
      } catch (error) {
        if (NOT_TOGETHER.test(codeOf(error) ?? '')) return { error };
        if (tries === MOST_TRIES || !TRY_AGAIN.has(codeOf(error) ?? '')) throw error;
      }
    }
  }

  /** What cannot be sent, a time that is no number say, is the fault of its call. */
  #stepsOf(batch: readonly Request[], epoch: string): Step[] | { error: unknown } {
    try {
      return this.#calls.steps(batch, epoch);
    } catch (error) {
      return { error };
    }
  }
}

function isDamage(error: unknown): boolean {
  return DAMAGED.test(codeOf(error) ?? '');
}

/**
 * A commit whose wait for the standby was cancelled is answered as if all was well, with a warning: it is on one disk alone.
 * Nothing else of a batch gives reason for a warning.
 */
async function certainRows(session: Session, steps: readonly Step[]): Promise<Row[][]> {
  let warning: string | undefined;
  const hear = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (isWarning({ code })) warning ??= message ?? code;
  };
  session.client.on('notice', hear);
  try {
    const rows = await session.transaction(() =>
      steps.map(({ statement, values }) => session.run(statement, values)),
    );
    if (warning !== undefined) throw new Error(`the database warns: ${warning}`);
    return rows;
  } finally {
    session.client.off('notice', hear);
  }
}

/** By call: what is given where the epoch that asked has ended. */
const NOTHING_LEASED: { readonly [Name in SharedCall]?: (give: unknown) => unknown } = {
  accept: (give) => (typeof give === 'object' && give !== null ? { ...give, leased: false } : give),
  lease: () => [],
  leased: () => [],
  lapse: () => undefined,
  again: () => undefined,
};

/** Others have taken this instance for dead, and have what it has leased, or will. */
function withoutLeases(batch: readonly Request[], replies: readonly Reply[]): Reply[] {
  const names = new Map(batch.map(({ id, name }) => [id, name]));
  return replies.map((reply) => {
    const name = names.get(reply.id);
    const without = name && NOTHING_LEASED[name];
    return without === undefined || 'error' in reply ? reply : { ...reply, give: without(reply.give) };
  });
}
