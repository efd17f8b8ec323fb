import { TimeoutBreaker, withTimeout } from '../concurrency/timers';
import { type DeadLetter, isForFlow, type ProvenMessage } from '../message/record';
import type { OutageLog, ToldIncidents } from './incidents';
import type { Acceptance } from './model';
import type { EventQueues } from './queue/event-queues';
import type { Tidying } from './retention';
import type { AcceptedBeside, Spill } from './spare/beside';
import type { Spares } from './spare/spares';
import {
  type Accepted,
  type AnyStore,
  type Known,
  type NewMessage,
  reasonOf,
  storeFailed,
  type StorePort,
} from './store/port';
import { messageKeyOf, newMessage, withWarnings } from './store/stored-message';
import type { StoreHealth } from './store-health';

/** Why a store cannot take anything that has told of no fault. */
const NOT_OPEN = 'it is not open yet';

/** A message on its way; `storing` where the store may take it after all. */
interface Arrival {
  record: ProvenMessage | DeadLetter;
  message: NewMessage;
  storing?: Promise<Accepted>;
}

/** Time for a store that fails to say whether a message is known, in milliseconds: it may read what it cannot write. */
const LOOK_WITHIN = 250;

/**
 * What a store that fails knows of messages: asked of all at once, and told in the order in which they came, so that none
 * overtakes another. None waits longer than the store has for an answer, however many wait.
 */
class KnownIdCheck {
  /** Settles when all that came until now had their turn. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** It is asked nothing while a question is not answered. */
  readonly #breaker = new TimeoutBreaker();

  constructor(private readonly store: StorePort) {}

  /**
   * Its turn comes when all before it had theirs.
   * @param message undefined where the store need not be asked
   * @param act told what the store knows; undefined where it cannot read that now
   */
  async inTurn<Result>(
    message: NewMessage | undefined,
    act: (known: Known | undefined) => Promise<Result>,
  ): Promise<Result> {
    const looking = message && this.#look(message);
    this.#waiting += 1;
    // The next one comes when it has begun, not when it is done.
    const begun = this.#last.then(async () => {
      const known = await looking;
      this.#waiting -= 1;
      return { acting: act(known) };
    });
    this.#last = begun;
    return (await begun).acting;
  }

  /** True while some that came wait for their turn. */
  get areAhead(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all that came until now had their turn. */
  async ended(): Promise<void> {
    await this.#last;
  }

  async #look(message: NewMessage): Promise<Known | undefined> {
    if (this.#breaker.isOpen) return undefined;
    const looking = this.store.call('look', messageKeyOf(message)).catch(() => undefined);
    return (await this.#breaker.within(looking, LOOK_WITHIN))?.give;
  }
}

/** What is beside a store of a file. */
export interface Beside {
  /** The store of the file. */
  main: StorePort;
  spares: Spares;
  outages: OutageLog;
}

interface ArrivalsOptions {
  store: AnyStore;
  /** Undefined where several instances share the store: what it cannot take is refused, and its sender comes again, perhaps to another one. */
  beside: Beside | undefined;
  queues: EventQueues;
  health: StoreHealth;
  incidents: ToldIncidents;
  tidying: Tidying;
  /** Time for the store to take a message, in milliseconds. */
  timeoutMs: number;
}

/** What comes in, on its way into the store, or beside it. */
export class Arrivals {
  readonly #looks: KnownIdCheck | undefined;
  #isClosed = false;
  /** So many wait until all that was spilled is in the inbox. */
  #waiting = 0;

  constructor(private readonly options: ArrivalsOptions) {
    this.#looks = options.beside && new KnownIdCheck(options.beside.main);
  }

  /** From now on nothing is accepted. */
  close(): void {
    this.#isClosed = true;
  }

  /** @throws RvmError STORE_FAILED */
  async accept(arrived: ProvenMessage | DeadLetter): Promise<Acceptance> {
    const { beside } = this.options;
    if (this.#isClosed) throw storeFailed('it is closed');
    const isBeside = beside !== undefined && (await this.#isBeside(beside, arrived));
    // Only now: a store that was just opened, or could not be asked, has told what it lacks.
    const record = this.#marked(arrived, isBeside);
    const message = newMessage(record);
    return isBeside === true ? this.#spill(beside, { record, message }) : this.#store(record, message);
  }

  async #store(record: ProvenMessage | DeadLetter, message: NewMessage): Promise<Acceptance> {
    const { queues, beside, timeoutMs, health } = this.options;
    const begun = performance.now();
    const { storing, giveUp } = this.#enter(record, message);
    const accepted = await withTimeout(storing, timeoutMs).catch((error: unknown) => this.#failed(error));
    if (accepted === 'failed') return this.#spill(beside, { record, message });
    if (accepted === undefined) {
      health.tooSlow();
      storing.then(
        () => health.slow.answered(performance.now() - begun),
        () => undefined,
      );
      if (beside === undefined) throw storeFailed(health.state.fault ?? NOT_OPEN);
      giveUp();
      for (const queue of queues.all()) queue.onStoreTimeout();
      return this.#spill(beside, { record, message, storing });
    }
    health.works();
    return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
  }

  /** Gives a message to the store; the queue of an event is told what became of it, unless it is given up before. */
  #enter(
    record: ProvenMessage | DeadLetter,
    message: NewMessage,
  ): { storing: Promise<Accepted>; giveUp: () => void } {
    const { store, queues } = this.options;
    if (!isForFlow(record))
      return { storing: store.call('accept', { message, lease: 'no' }), giveUp: () => undefined };
    const queue = queues.of(record.endpointId);
    const lease = queue.lease(record);
    const storing = store.call('accept', { message, lease });
    let isAwaited = true;
    const stored = (accepted?: Accepted): void => {
      if (isAwaited) queue.stored(record, lease, accepted);
      else if (accepted !== undefined) queue.storedLate(accepted);
      isAwaited = false;
    };
    storing.then(stored, () => stored());
    return { storing, giveUp: stored };
  }

  #marked(record: ProvenMessage | DeadLetter, isBeside: boolean | undefined): ProvenMessage | DeadLetter {
    const mayRepeat = isBeside === undefined || this.#mayRepeat;
    return isForFlow(record) && mayRepeat ? withWarnings(record, ['may-repeat']) : record;
  }

  /** True while ids may be missing that a repeat could have. */
  get #mayRepeat(): boolean {
    const { beside, tidying } = this.options;
    return tidying.lacksIds || beside?.spares.isAllKnown === false;
  }

  #failed(error: unknown): 'failed' {
    const { beside, health } = this.options;
    if (!this.#isClosed) health.failed(reasonOf(error));
    if (this.#isClosed || beside === undefined) throw error;
    return 'failed';
  }

  /** Whether it has to go beside the inbox; undefined where a spare cannot tell whether it knows it. */
  async #isBeside({ spares }: Beside, record: ProvenMessage | DeadLetter): Promise<boolean | undefined> {
    if (this.#mustWait(spares)) {
      this.#waiting += 1;
      const isAllInside = await this.#isAllInside(spares).finally(() => (this.#waiting -= 1));
      if (!isAllInside) return true;
    }
    // What the inbox would not have is known beside it alone.
    return spares.size > 0 ? spares.concern(newMessage(record)) : false;
  }

  /** What was spilled, or is about to be, goes first, or the end of an alarm would come before its beginning; so does what waits for that. */
  #mustWait(spares: Spares): boolean {
    const { durable } = this.options.health.state;
    return spares.mayHold || this.#areAhead || this.#waiting > 0 || durable === undefined;
  }

  get #areAhead(): boolean {
    return this.#looks?.areAhead === true;
  }

  /** A store that is known to fail is waited for by no alarm; but what was spilled before has to be known, for its repeats. */
  async #isAllInside(spares: Spares): Promise<boolean> {
    const { health, timeoutMs } = this.options;
    let recovering = health.recover().catch(() => undefined);
    await withTimeout(spares.loaded(), timeoutMs);
    if (health.state.durable === false) return false;
    if (this.#areAhead) {
      await this.#looks?.ended();
      recovering = health.recover().catch(() => undefined);
    }
    return (await withTimeout(recovering, timeoutMs)) === true;
  }

  #spill(beside: Beside | undefined, { record, message, storing }: Arrival): Promise<Acceptance> {
    if (beside === undefined || this.#looks === undefined) throw storeFailed(NOT_OPEN);
    const { moves } = beside.spares;
    const late = storing?.then(
      ({ outcome, deliveryId }) => (outcome === 'repeat' ? undefined : deliveryId),
      () => undefined,
    );
    return this.#looks.inTurn(storing === undefined ? message : undefined, async (known) => {
      if (known?.outcome === 'repeat' && known.deliveryId !== undefined)
        return { outcome: 'repeat', deliveryId: known.deliveryId };
      return this.#accepted(beside, record, { message, known, moves, ...(late && { late }) });
    });
  }

  async #accepted(
    { spares, outages }: Beside,
    record: ProvenMessage | DeadLetter,
    spill: Omit<Spill, 'lease'>,
  ): Promise<Acceptance> {
    const queue = this.options.queues.of(record.endpointId);
    const isEvent = isForFlow(record);
    const lease = isEvent ? queue.leaseBeside(record) : 'no';
    const told = (accepted: AcceptedBeside | undefined): void => {
      if (!isEvent) return;
      const { warnings = [] } = accepted?.spilled ?? {};
      queue.spilled(withWarnings(record, warnings), lease, accepted);
    };
    const accepted = await spares.accept({ ...spill, lease }).catch((error: unknown) => {
      told(undefined);
      throw this.#refused(reasonOf(error));
    });
    told(accepted);
    const { outcome, deliveryId, spilled, fault } = accepted;
    if (spilled !== undefined) outages.spilled(spilled.node);
    // In memory alone: it goes to the flow, and its sender, who is told nothing, keeps it for us.
    if (fault !== undefined) throw this.#refused(fault);
    if (spilled !== undefined) this.options.health.spilled();
    return { outcome, deliveryId };
  }

  #refused(spareFault: string): Error {
    const { health, incidents } = this.options;
    const { fault = NOT_OPEN } = health.state;
    const reason = `${fault}; neither can it spill: ${spareFault}`;
    if (health.state.durable === false && !this.#isClosed) {
      incidents.refused(fault);
      health.refused(reason);
    }
    return storeFailed(reason);
  }
}
