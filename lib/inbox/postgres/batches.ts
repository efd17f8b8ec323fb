import { RvmError } from '../../error';
import { type SharedCall, type SlowBatch, type StoreCalls, storeFailed } from '../store/port';
import { keepsProcess } from './connect';
import type { Link } from './link';
import { endsConnection, faultText, type Session } from './session';
import type { Reply, Request } from './sql';

/** Requests sent without waiting for more of the same turn of the event loop. */
const SHARE = 100;
/** Milliseconds after which what nobody waits for is sent by itself. */
const NO_HURRY = 5;
/** What comes to the same when it is done once more: what is accepted is a repeat then, and what is settled stays so. */
const SENT_AGAIN: ReadonlySet<SharedCall> = new Set<SharedCall>([
  'accept',
  'finish',
  'markDelivered',
  'dismiss',
  'note',
  'page',
  'slots',
  'slotOwners',
  'dropSlots',
  'slotVersions',
  'ping',
]);
/** What concerns a lease that the one who asks has. */
const OF_A_LEASE: ReadonlySet<SharedCall> = new Set<SharedCall>(['giveBack', 'lapse', 'again']);
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

/** Does what is asked, a batch at a time. */
interface Batches {
  /** @returns what became of each. @throws Error of `pg`: of none it is known */
  run(session: Session, batch: readonly Request[]): Promise<Reply[]>;
}

export interface LineOptions {
  link: Pick<Link, 'session' | 'fault' | 'use'>;
  work: Batches;
  limits: BatchLimits;
  onSlow: (batch: SlowBatch) => void;
  /** Told of each batch that is durable, and how long it took, in milliseconds. */
  onDone?: (took: number) => void;
  /** The fencing token of what is leased now. */
  epoch: () => string;
}

interface Asked {
  readonly request: Request;
  /** Of this instance when it was asked for. */
  readonly epoch: string;
  /** Steady time, in milliseconds. */
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

  constructor(private readonly options: LineOptions) {}

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
        epoch: this.options.epoch(),
        at: performance.now(),
        resolve: (give) => resolve(give as StoreCalls[Name]['give']),
        reject,
      });
      this.#expireLater();
      this.#sendSoon(hurry);
    });
  }

  /** There is a connection. */
  up(): void {
    this.#send();
  }

  /** Takes nothing more. Resolves when all that was asked is answered, or failed. */
  async drain(): Promise<void> {
    this.#closed = true;
    this.#send();
    if (!this.#isBusy && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** What was not sent has failed. */
  close(): void {
    this.#closed = true;
    this.#ended = true;
    this.#failAll(this.#queue.splice(0), storeFailed('it is closed'));
    this.#settleTimers();
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
    const { session } = this.options.link;
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

  /** What was to be done with a lease of a former epoch would be done with that of another, of the same event. */
  #failFormer(): void {
    const epoch = this.options.epoch();
    const isFormer = (asked: Asked): boolean => asked.epoch !== epoch && OF_A_LEASE.has(asked.request.name);
    const former = this.#queue.filter(isFormer);
    if (former.length === 0) return;
    this.#queue = this.#queue.filter((asked) => !isFormer(asked));
    this.#failAll(former, storeFailed('others took this instance for dead meanwhile'));
  }

  #nextBatch(): Asked[] {
    const { requests, acceptances, bytes } = this.options.limits;
    let accepted = 0;
    let size = 0;
    const end = this.#queue.findIndex(({ request }, index) => {
      if (isAcceptance(request)) accepted += 1;
      size += sizeOf(request);
      return index === requests || accepted > acceptances || (index > 0 && size > bytes);
    });
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  async #run(session: Session, batch: readonly Asked[]): Promise<void> {
    const begun = performance.now();
    keepsProcess(session, true);
    try {
      const requests = batch.map(({ request }) => request);
      const replies = await this.options.link.use(session, () => this.options.work.run(session, requests));
      const took = performance.now() - begun;
      if (took > LONG) this.options.onSlow({ work: took, sync: 0 });
      this.options.onDone?.(took);
      this.#reply(batch, replies);
    } catch (error) {
      this.#failed(batch, error);
    } finally {
      keepsProcess(session, false);
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
    this.#failAll([...asked.values()], storeFailed('it gave no answer'));
  }

  /** Nobody knows what was done of it. Messages and settlements are sent again while there is time. */
  #failed(batch: readonly Asked[], error: unknown): void {
    const failure = asFailure(error);
    const mayGoAgain = ({ request, at }: Asked): boolean =>
      !this.#ended && SENT_AGAIN.has(request.name) && isInTime(at);
    const again = endsConnection(error) ? batch.filter(mayGoAgain) : [];
    const isAgain = new Set(again);
    this.#failAll(
      batch.filter((each) => !isAgain.has(each)),
      failure,
    );
    this.#queue.unshift(...again);
    this.#expireLater();
  }

  #failAll(all: readonly Asked[], failure: RvmError): void {
    for (const { reject } of all) reject(failure);
  }

  #expireLater(): void {
    const [oldest] = this.#queue;
    if (oldest === undefined || this.#expiring !== undefined) return;
    const left = Math.max(0, oldest.at + PATIENCE - performance.now());
    this.#expiring = setTimeout(() => {
      this.#expiring = undefined;
      this.#expire();
    }, left);
  }

  #expire(): void {
    // One moment for all: what becomes late between two would be neither failed nor kept.
    const now = performance.now();
    const late = this.#queue.filter(({ at }) => !isInTime(at, now));
    this.#queue = this.#queue.filter(({ at }) => isInTime(at, now));
    this.#failAll(late, storeFailed(this.options.link.fault));
    this.#expireLater();
    if (this.#queue.length === 0 && !this.#isBusy) this.#tellIdle();
  }

  #settleTimers(): void {
    if (this.#queue.length > 0) return;
    clearTimeout(this.#expiring);
    this.#expiring = undefined;
  }
}

function isAcceptance(request: Request): request is Request<'accept'> {
  return request.name === 'accept';
}

function sizeOf(request: Request): number {
  if (isAcceptance(request)) return request.take.message.bytes.byteLength;
  if (!isPut(request)) return 0;
  return request.take.writes.reduce((sum, { value = '' }) => sum + value.length, 0);
}

function isPut(request: Request): request is Request<'putSlots'> {
  return request.name === 'putSlots';
}

function isInTime(at: number, now = performance.now()): boolean {
  return now - at < PATIENCE;
}

function asFailure(error: unknown): RvmError {
  return error instanceof RvmError ? error : storeFailed(`its database: ${faultText(error)}`);
}
