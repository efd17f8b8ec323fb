import { RvmError } from '../../error';
import {
  type SharedCall,
  type SharedStoreEvents,
  type StoreCalls,
  type StoredMessage,
  storeFailed,
} from '../store/port';
import type { Answers, BatchPlanner, Reply, Request, Step } from './call-plans';
import type { Link, LinkOptions, Links } from './link';
import { codeOf, endsConnection, faultText, isWarning, type Session } from './session';

/** Requests sent without waiting for more of the same turn of the event loop. */
const SHARE = 100;
/** Milliseconds after which what nobody waits for is sent by itself. */
const NO_HURRY = 5;
/** What may not have been sent for so long has failed, in milliseconds. */
const PATIENCE = 3000;
/** A batch that took longer is told of, in milliseconds. */
const LONG = 500;

/** Requests of one transaction: enough to share a commit, few enough to keep it short. */
interface BatchLimits {
  readonly requests: number;
  /** Bytes of the bodies and values in it; one that is larger goes alone. */
  readonly bytes: number;
  /** Each takes places in the table of locks, which all of the server share. */
  readonly acceptances: number;
}

interface BatchQueueOptions extends Partial<LinkOptions> {
  runner: BatchRunner;
  limits: BatchLimits;
  news: Pick<SharedStoreEvents, 'onSlow'>;
  /** Told of each batch that is durable, and how long it took, in milliseconds. */
  onDone?: (took: number) => void;
}

interface Asked {
  readonly request: Request;
  /** Of this instance when it was asked for. */
  readonly epoch: string;
  /** Monotonic time, in milliseconds. */
  readonly at: number;
  readonly resolve: (give: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Calls on their way over one connection, a batch at a time: what is asked while one is under way goes together as the next.
 * What could not be sent in time has failed, and nothing of it was done.
 */
export class BatchQueue {
  #queue: Asked[] = [];
  #lastId = 0;
  #isBusy = false;
  #sending: NodeJS.Immediate | undefined;
  #sendingLater: NodeJS.Timeout | undefined;
  #expiring: NodeJS.Timeout | undefined;
  #closed = false;
  #ended = false;
  #idle: (() => void)[] = [];

  readonly link: Link;

  /** @param purpose of its connection, one more of these links */
  constructor(
    links: Links,
    purpose: string,
    private readonly options: BatchQueueOptions,
  ) {
    this.link = links.add(purpose, {
      ...options,
      onUp: () => {
        options.onUp?.();
        this.#send();
      },
    });
  }

  call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry: boolean,
  ): Promise<StoreCalls[Name]['give']> {
    if (this.#closed) return Promise.reject(storeFailed('it is closed'));
    this.#lastId += 1;
    const request: Request<Name> = { id: this.#lastId, name, take };
    return new Promise((resolve, reject) => {
      this.#queue.push({
        request,
        epoch: this.options.runner.epoch(),
        at: performance.now(),
        resolve: (give) => resolve(give as StoreCalls[Name]['give']),
        reject,
      });
      this.#expireLater();
      this.#sendSoon(hurry);
    });
  }

  /** Takes nothing more, where there is a connection. Resolves when all that was asked is answered, or failed. */
  async drain(): Promise<void> {
    if (this.link.session === undefined) return;
    this.#closed = true;
    this.#send();
    if (!this.#isBusy && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** What was not sent has failed. Resolves when the connection has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#ended = true;
    this.#failWhere(() => true, 'it is closed');
    this.#settleTimers();
    await this.link.close();
  }

  #sendSoon(hurry: boolean): void {
    if (this.#isBusy) return;
    if (this.#queue.length >= SHARE) this.#send();
    else if (hurry) this.#sending ??= setImmediate(() => this.#send());
    else this.#sendingLater ??= setTimeout(() => this.#send(), NO_HURRY);
  }

  #send(): void {
    clearImmediate(this.#sending);
    clearTimeout(this.#sendingLater);
    this.#sending = undefined;
    this.#sendingLater = undefined;
    const { session } = this.link;
    if (this.#isBusy || session === undefined || this.#queue.length === 0) return;
    this.#failFormer();
    if (this.#queue.length === 0) return this.#tellIdle();
    this.#isBusy = true;
    const batch = this.#nextBatch();
    void this.#run(session, batch).finally(() => this.#done());
  }

  #done(): void {
    this.#isBusy = false;
    this.#settleTimers();
    if (this.#queue.length > 0) this.#sending ??= setImmediate(() => this.#send());
    else this.#tellIdle();
  }

  #tellIdle(): void {
    for (const idle of this.#idle.splice(0)) idle();
  }

  #traitsOf({ name }: Request): ReturnType<BatchPlanner['traits']> {
    return this.options.runner.planner.traits(name);
  }

  /** What was to be done with a lease of a former epoch would be done with that of another, of the same event. */
  #failFormer(): void {
    const epoch = this.options.runner.epoch();
    this.#failWhere(
      (asked) => asked.epoch !== epoch && this.#traitsOf(asked.request).isOfLease === true,
      'others took this instance for dead meanwhile',
    );
  }

  #failWhere(isLost: (asked: Asked) => boolean, reason: string): void {
    const lost = this.#queue.filter(isLost);
    if (lost.length === 0) return;
    this.#queue = this.#queue.filter((asked) => !isLost(asked));
    const failure = storeFailed(reason);
    for (const { reject } of lost) reject(failure);
  }

  #nextBatch(): Asked[] {
    const { requests, acceptances, bytes } = this.options.limits;
    let accepted = 0;
    let size = 0;
    const end = this.#queue.findIndex(({ request }, index) => {
      if (request.name === 'accept') accepted += 1;
      size += this.#traitsOf(request).bytes?.(request.take) ?? 0;
      return index === requests || accepted > acceptances || (index > 0 && size > bytes);
    });
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  async #run(session: Session, batch: readonly Asked[]): Promise<void> {
    const begun = performance.now();
    session.keepProcess(true);
    try {
      const requests = batch.map(({ request }) => request);
      const replies = await this.link.use(session, () => this.options.runner.run(session, requests));
      const took = performance.now() - begun;
      if (took > LONG) this.options.news.onSlow({ work: took, sync: 0 });
      this.options.onDone?.(took);
      this.#reply(batch, replies);
    } catch (error) {
      this.#failed(batch, error);
    } finally {
      session.keepProcess(false);
    }
  }

  #reply(batch: readonly Asked[], replies: readonly Reply[]): void {
    const asked = new Map(batch.map((each) => [each.request.id, each]));
    for (const { id, give, error } of replies) {
      const each = asked.get(id);
      asked.delete(id);
      if (each === undefined) continue;
      if (error === undefined) each.resolve(give);
      else each.reject(asFailure(error));
    }
    for (const { reject } of asked.values()) reject(storeFailed('it gave no answer'));
  }

  /** Nobody knows what was done of it. Messages and settlements are sent again while there is time. */
  #failed(batch: readonly Asked[], error: unknown): void {
    const failure = asFailure(error);
    const mayGoAgain = ({ request, at }: Asked): boolean =>
      !this.#ended && this.#traitsOf(request).isRepeatable === true && isInTime(at);
    const again = endsConnection(error) ? batch.filter(mayGoAgain) : [];
    for (const each of batch) if (!again.includes(each)) each.reject(failure);
    this.#queue.unshift(...again);
    this.#expireLater();
  }

  #expireLater(): void {
    const [oldest] = this.#queue;
    if (oldest === undefined || this.#expiring !== undefined) return;
    const left = Math.max(0, oldest.at + PATIENCE - performance.now());
    this.#expiring = setTimeout(() => this.#expire(), left);
  }

  #expire(): void {
    this.#expiring = undefined;
    // One moment for all: what becomes late between two would be neither failed nor kept.
    const now = performance.now();
    this.#failWhere(({ at }) => !isInTime(at, now), this.link.fault);
    this.#expireLater();
    if (this.#queue.length === 0 && !this.#isBusy) this.#tellIdle();
  }

  #settleTimers(): void {
    if (this.#queue.length > 0) return;
    clearTimeout(this.#expiring);
    this.#expiring = undefined;
  }
}

function isInTime(at: number, now = performance.now()): boolean {
  return now - at < PATIENCE;
}

function asFailure(error: unknown): RvmError {
  return error instanceof RvmError ? error : storeFailed(`its database: ${faultText(error)}`);
}

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
type Outcome = { replies: readonly Reply[] } | { error: unknown };

/** @throws the error where it is known of nothing any more what has taken effect */
function unlessLost(error: unknown): { error: unknown } {
  if (endsConnection(error)) throw error;
  return { error };
}

export class BatchRunner {
  /** @param epoch of this instance, as it is now */
  constructor(
    readonly planner: BatchPlanner,
    readonly epoch: () => string,
  ) {}

  /**
   * Runs the calls of a batch in one transaction and one round trip. Where one of them is at fault, each runs in a transaction
   * of its own, so that it keeps no other out. What was leased by an epoch that has ended meanwhile is not given.
   * @returns what became of each, in the order in which they took effect
   * @throws Error of `pg` where the connection or the database has failed; Error without code where the server warns, which is
   * to say that what it has committed may be on one disk alone: the connection is of no use any more
   */
  async run(session: Session, batch: readonly Request[]): Promise<readonly Reply[]> {
    const epoch = this.epoch();
    const replies = await this.#run(session, batch, epoch);
    return this.epoch() === epoch ? replies : this.#withoutLeases(batch, replies);
  }

  async #run(session: Session, batch: readonly Request[], epoch: string): Promise<readonly Reply[]> {
    const outcome = await this.#runTogether(session, batch, epoch);
    if (!('error' in outcome)) return outcome.replies;
    const [first, ...others] = batch;
    if (first !== undefined && others.length === 0)
      return this.#runBare(session, first, epoch, outcome.error);
    const replies: Reply[] = [];
    for (const request of batch) {
      // What fails here says nothing of those before it, which have taken effect.
      const alone = await this.#run(session, [request], epoch).catch(unlessLost);
      replies.push(...('error' in alone ? [{ id: request.id, error: alone.error }] : alone));
    }
    return replies;
  }

  /** A body that a damaged disk does not give keeps no other from being given. @param error of the call as a whole */
  async #runBare(
    session: Session,
    request: Request,
    epoch: string,
    error: unknown,
  ): Promise<readonly Reply[]> {
    const { id, name, take } = request;
    if (!DAMAGED.test(codeOf(error) ?? '') || this.planner.traits(name).givesBodies?.(take) !== true)
      return [{ id, error }];
    const outcome = await this.#runSteps(session, this.planner.steps([request], epoch, true));
    if ('error' in outcome) return [{ id, error: outcome.error }];
    if (name !== 'lease') return outcome.replies;
    const leased = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const give: StoredMessage[] = [];
    for (const message of leased) give.push(await this.#withBody(session, message, epoch));
    return [{ id, give }];
  }

  /** A message that was leased, as far as it can be read now: it stays leased. */
  async #withBody(session: Session, message: StoredMessage, epoch: string): Promise<StoredMessage> {
    const take = { state: 'all', deliveryId: message.deliveryId, limit: 1 } as const;
    const steps = this.planner.steps([{ id: 0, name: 'list', take }], epoch);
    const outcome = await this.#runSteps(session, steps).catch(unlessLost);
    if ('error' in outcome) return { ...message, isUnread: true };
    const [read] = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const { facts, bytes } = read ?? {};
    return facts === undefined || bytes === undefined
      ? { ...message, isIncomplete: true }
      : { ...message, facts, bytes };
  }

  /** What cannot be sent, a time that is no number say, is the fault of its call. */
  async #runTogether(session: Session, batch: readonly Request[], epoch: string): Promise<Outcome> {
    let steps: readonly Step[];
    try {
      steps = this.planner.steps(batch, epoch);
    } catch (error) {
      return { error };
    }
    return this.#runSteps(session, steps);
  }

  /** @throws Error of `pg` where it is not of what was asked */
  async #runSteps(session: Session, steps: readonly Step[]): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answers = await certainAnswers(session, steps);
        return { replies: steps.flatMap((step, index) => step.read?.(answers[index] as Answers) ?? []) };
      } catch (error) {
        if (NOT_TOGETHER.test(codeOf(error) ?? '')) return { error };
        if (tries === MOST_TRIES || !TRY_AGAIN.has(codeOf(error) ?? '')) throw error;
      }
    }
  }

  /** Others have taken this instance for dead, and have what it has leased, or will. */
  #withoutLeases(batch: readonly Request[], replies: readonly Reply[]): Reply[] {
    const names = new Map(batch.map(({ id, name }) => [id, name]));
    return replies.map((reply) => {
      const name = names.get(reply.id);
      const without = name && this.planner.traits(name).withoutLease;
      if (without === undefined || 'error' in reply) return reply;
      return { ...reply, give: without(reply.give as never) };
    });
  }
}

/**
 * A commit whose wait for the standby was cancelled is answered as if all was well, with a warning: it is on one disk alone.
 * Nothing else of a batch gives reason for a warning.
 */
async function certainAnswers(session: Session, steps: readonly Step[]): Promise<Answers[]> {
  let warning: string | undefined;
  const hear = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (isWarning({ code })) warning ??= message ?? code;
  };
  session.client.on('notice', hear);
  try {
    const rows = await session.transaction(steps.flatMap(({ statements }) => statements));
    if (warning !== undefined) throw new Error(`the database warns: ${warning}`);
    return steps.map(({ statements: { length } }) => {
      const [first = [], second = [], third = [], fourth = [], ...others] = rows.splice(0, length);
      return [first, second, third, fourth, ...others];
    });
  } finally {
    session.client.off('notice', hear);
  }
}
