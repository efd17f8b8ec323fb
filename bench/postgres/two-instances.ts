import type { Delivery } from '../../lib/inbox/model';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { ProvenMessage } from '../../lib/message/record';
import type { PostgresServer } from '../../test/support/postgres/postgres-server';
import { ENDPOINT } from './sample-events';
import { NEVER } from './settling-inbox';
import { sharedInbox } from './shared-inboxes';

const SCHEMA = 'rvm';

/** How long the delivery of an event took, in milliseconds: since it was accepted, and since it was handed to the inbox. */
export interface Elsewhere {
  sinceAccepted: number;
  sinceHandedOver: number;
}

/** Two instances of one inbox: one accepts events and has no consumer for them, the flow of the other gets them. */
export class TwoInstances {
  #delivered: (delivery: Delivery) => void = () => undefined;

  private constructor(
    private readonly accepting: DurableInbox,
    private readonly delivering: DurableInbox,
  ) {
    const consumption = delivering.consume({
      endpointId: ENDPOINT,
      nodeId: 'bench',
      handledWhen: 'settled',
      redeliverAfter: NEVER,
      maxAttempts: 12,
      maxInFlight: 100,
      deliver: (delivery) => {
        this.#delivered(delivery);
        return true;
      },
      onDead: () => undefined,
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    });
    consumption.resume();
  }

  static async open(server: PostgresServer): Promise<TwoInstances> {
    const accepting = await sharedInbox(server, SCHEMA);
    return new TwoInstances(accepting, await sharedInbox(server, SCHEMA));
  }

  /** One event goes from one to the other, and is settled there before the next. */
  async deliver(event: ProvenMessage): Promise<Elsewhere> {
    const delivery = new Promise<Delivery & { at: number }>((resolve) => {
      this.#delivered = (delivered) => resolve({ ...delivered, at: performance.now() });
    });
    const handedOver = performance.now();
    await this.accepting.accept(event);
    const accepted = performance.now();
    const { deliveryId, at } = await delivery;
    await this.delivering.settle(deliveryId, { action: 'done' });
    return { sinceAccepted: at - accepted, sinceHandedOver: at - handedOver };
  }

  async close(): Promise<void> {
    await Promise.all([this.accepting.close(), this.delivering.close()]);
  }
}
