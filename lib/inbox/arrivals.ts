import { withTimeout } from '../concurrency/timers';
import { isForFlow, type DeadLetter, type ProvenMessage } from '../message/record';
import { enter } from './entering';
import type { Acceptance } from './inbox';
import type { ToldIncidents } from './told-incidents';
import { KnownIdCheck } from './spill/looks';
import type { EventQueues } from './queue/event-queues';
import type { OutageLog } from './spill/spells';
import type { AcceptedBeside } from './spill/spill-store-work';
import { warningsOf } from './spill/spilled-message';
import type { Spilling } from './spill/spilling';
import type { StoreHealth } from './store-health';
import { reasonOf, storeFailed, type StorePort } from './store/port';
import type { Accepted, Known, NewMessage } from './store/protocol';
import { newMessage, withWarnings } from './store/stored-message';

export interface ArrivalsOptions {
  store: StorePort;
  queues: EventQueues;
  spilling: Spilling;
  spells: OutageLog;
  health: StoreHealth;
  incidents: ToldIncidents;
  /** Time for the store to take a message before it is spilled, in milliseconds. */
  spillAfter: number;
  /** True once nothing is accepted any more. */
  isClosed: () => boolean;
  /** True while ids may be lost that a repeat could have. */
  mayRepeat: () => boolean;
}

/** What comes in, on its way into the store, or beside it. */
export class Arrivals {
  readonly #looks: KnownIdCheck;

  constructor(private readonly options: ArrivalsOptions) {
    this.#looks = new KnownIdCheck(options.store);
  }

  /** @throws RvmError STORE_FAILED */
  async accept(arrived: ProvenMessage | DeadLetter): Promise<Acceptance> {
    const { spilling, spillAfter, health, isClosed } = this.options;
    if (isClosed()) throw storeFailed('it is closed');
    // What was spilled, or is about to be, goes first, or the end of an alarm would come before its beginning.
    const isSpilled = (spilling.mayHold || this.#looks.areAhead) && !(await this.#isAllInside());
    // Only now: a store that was just opened has told what it lacks.
    const record = this.#marked(arrived);
    const message = newMessage(record);
    // What the inbox would not have is known beside it alone.
    if (isSpilled || spilling.store.concerns(message)) return this.#spill(record, message);
    const begun = performance.now();
    const { storing, giveUp } = enter(this.options, record, message);
    const accepted = await withTimeout(storing, spillAfter).catch((error: unknown) => this.#failed(error));
    if (accepted === 'failed') return this.#spill(record, message);
    if (accepted === undefined) {
      giveUp();
      this.options.queues.storeHangs();
      health.tooSlow();
      storing.then(
        () => health.slow.answered(performance.now() - begun),
        () => undefined,
      );
      return this.#spill(record, message, storing);
    }
    health.works();
    return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
  }

  #marked(record: ProvenMessage | DeadLetter): ProvenMessage | DeadLetter {
    return isForFlow(record) && this.options.mayRepeat() ? withWarnings(record, ['may-repeat']) : record;
  }

  #failed(error: unknown): 'failed' {
    if (this.options.isClosed()) throw error;
    this.options.health.failed(reasonOf(error));
    return 'failed';
  }

  /** A store that is known to fail is waited for by no alarm; but what was spilled before has to be known, for its repeats. */
  async #isAllInside(): Promise<boolean> {
    const { health, spilling, spillAfter } = this.options;
    let recovering = health.recover().catch(() => undefined);
    await withTimeout(spilling.loaded(), spillAfter);
    if (health.state.durable === false) return false;
    if (this.#looks.areAhead) {
      await this.#looks.ended();
      recovering = health.recover().catch(() => undefined);
    }
    return (await withTimeout(recovering, spillAfter)) === true;
  }

  /** @param storing where the store may take it after all */
  #spill(
    record: ProvenMessage | DeadLetter,
    message: NewMessage,
    storing?: Promise<Accepted>,
  ): Promise<Acceptance> {
    return this.#looks.inTurn(storing === undefined ? message : undefined, (known) =>
      this.#spillKnown(record, message, known, storing),
    );
  }

  async #spillKnown(
    record: ProvenMessage | DeadLetter,
    message: NewMessage,
    known: Known | undefined,
    storing: Promise<Accepted> | undefined,
  ): Promise<Acceptance> {
    if (known?.outcome === 'repeat' && known.deliveryId !== undefined)
      return { outcome: 'repeat', deliveryId: known.deliveryId };
    const late = storing?.then(
      ({ outcome, deliveryId }) => (outcome === 'repeat' ? undefined : deliveryId),
      () => undefined,
    );
    const { outcome, deliveryId, spilled } = await this.#beside(record, {
      message,
      known,
      ...(late && { late }),
    });
    if (spilled !== undefined) {
      this.options.health.spilled();
      this.options.spells.spilled(spilled.node);
    }
    return { outcome, deliveryId };
  }

  async #beside(
    record: ProvenMessage | DeadLetter,
    spill: { message: NewMessage; known: Known | undefined; late?: Promise<string | undefined> },
  ): Promise<AcceptedBeside> {
    const { spilling, queues, health, incidents, isClosed } = this.options;
    const isEvent = isForFlow(record);
    const { entrance } = queues.of(record.endpointId);
    const lease = isEvent ? entrance.leaseBeside(record) : 'no';
    const told = (accepted: AcceptedBeside | undefined): void => {
      if (!isEvent) return;
      const warnings = accepted?.spilled === undefined ? [] : warningsOf(accepted.spilled);
      entrance.spilled(withWarnings(record, warnings), lease, accepted);
    };
    try {
      const accepted = await spilling.store.accept({ ...spill, lease });
      told(accepted);
      return accepted;
    } catch (error) {
      told(undefined);
      const { fault = 'it is not open yet' } = health.state;
      const reason = `${fault}; neither can it spill: ${error instanceof Error ? error.message : 'unknown fault'}`;
      if (health.state.durable === false && !isClosed()) incidents.refused(fault);
      throw storeFailed(reason);
    }
  }
}
