import type { Consumption, Delivery, Inbox } from '../../lib/inbox/model';
import type { ProvenMessage } from '../../lib/message/record';
import { ENDPOINT } from './sample-events';
import { inFlight } from './in-flight';

/** Longer than any round takes, in milliseconds: nothing comes twice. */
export const NEVER = 24 * 60 * 60 * 1000;

/** An inbox with a flow that settles each event as soon as it has it. */
export class SettlingInbox {
  readonly #consumption: Consumption;
  #left = 0;
  #allSettled: () => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  constructor(readonly inbox: Inbox) {
    this.#consumption = inbox.consume({
      endpointId: ENDPOINT,
      nodeId: 'bench',
      handledWhen: 'settled',
      redeliverAfter: NEVER,
      maxAttempts: 12,
      maxInFlight: 100,
      deliver: (delivery) => this.#settle(delivery),
      onDead: () => undefined,
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    });
  }

  /** Accepts events, so many at once. @returns how many were accepted, delivered and settled a second */
  async perSecond(events: readonly ProvenMessage[], senders: number): Promise<number> {
    const settled = this.settled(events.length);
    const begun = performance.now();
    await inFlight(events, senders, (event) => this.inbox.accept(event));
    await settled;
    return (events.length / (performance.now() - begun)) * 1000;
  }

  /** Resolves when so many more are settled. From now on it takes them. */
  settled(count: number): Promise<void> {
    this.#left = count;
    this.#consumption.resume();
    return new Promise((resolve, reject) => {
      this.#allSettled = resolve;
      this.#failed = reject;
    });
  }

  #settle({ deliveryId }: Delivery): boolean {
    this.inbox.settle(deliveryId, { action: 'done' }).then(
      () => {
        this.#left -= 1;
        if (this.#left === 0) this.#allSettled();
      },
      (error: unknown) => this.#failed(error),
    );
    return true;
  }
}
