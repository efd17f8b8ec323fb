import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Consumer, Consumption, Delivery, Inbox } from '../../../lib/inbox/model';
import type { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { ProvenMessage } from '../../../lib/message/record';
import { ENDPOINT } from '../../inbox/samples';
import { runsOf } from '../suite/lanes';
import { realImmediate, turn, VirtualTime } from '../time/virtual-time';

/** For a hunt: `RVM_MODEL_RUNS=5000`. */
const RUNS = Number(process.env['RVM_MODEL_RUNS'] ?? runsOf(80));
/** Of an event, in milliseconds. */
export const LEASE = 60_000;

export type Terms = Pick<Consumer, 'handledWhen' | 'maxInFlight' | 'maxAttempts'>;
export type Action = 'done' | 'retry' | 'reject' | 'extend';

export interface Sent {
  message: ProvenMessage;
  deliveryId?: string;
}

/** What is leased, and what may come on top of it, has room in the window of the consumer. */
export function windowIsKept(inbox: DurableInbox): boolean {
  const { held, health, reserved, size } = inbox['queues'].of(ENDPOINT).window.inspect();
  const isSound = held >= 0 && health >= 0 && reserved >= 0;
  // Without a consumer nothing is leased on top of what is just going back.
  return isSound && (size === 0 || held + reserved <= size);
}

/** A sender and a flow of an inbox, or of several instances of it, and what must be true of each delivery. */
export abstract class FlowModel<Deed> {
  protected readonly time = new VirtualTime();
  protected readonly sent: Sent[] = [];
  protected readonly deliveries: Delivery[] = [];
  protected readonly settled = new Set<string>();
  protected readonly retried = new Set<string>();
  protected readonly dead: string[] = [];
  /** Not answered yet. */
  protected readonly accepting = new Set<Promise<void>>();
  protected settlesAll = false;
  /** Of a consumer nothing may throw, so what it finds is kept. */
  #violation: unknown;

  constructor(protected readonly terms: Terms) {
    this.time.install();
  }

  abstract act(deed: Deed): Promise<void>;
  /** From now on nothing fails, and the flow settles whatever comes: then all must come to its end. */
  abstract finish(): Promise<void>;

  protected async checked(): Promise<void> {
    await turn();
    if (this.#violation !== undefined) throw this.#violation;
  }

  protected noting(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#violation ??= error;
    }
  }

  protected consume(
    inbox: Inbox,
    deliver: (delivery: Delivery) => void,
    isDead: (deliveryId: string) => void = () => undefined,
  ): Consumption {
    return inbox.consume({
      endpointId: ENDPOINT,
      nodeId: 'node',
      ...this.terms,
      redeliverAfter: LEASE,
      deliver: (delivery) => {
        deliver(delivery);
        return true;
      },
      onDead: ({ deliveryId }) => {
        this.dead.push(deliveryId);
        isDead(deliveryId);
      },
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    });
  }

  protected accept(sent: Sent, inbox: Inbox): void {
    if (!this.sent.includes(sent)) this.sent.push(sent);
    const accepting = inbox.accept(sent.message).then(
      ({ deliveryId }) => {
        sent.deliveryId = deliveryId ?? assert.fail('an acceptance without an id');
      },
      () => undefined,
    );
    this.accepting.add(accepting);
    void accepting.then(() => this.accepting.delete(accepting));
  }

  /** @returns whether it is the first of its event */
  protected checkDelivery({ deliveryId, attempt, again }: Delivery): boolean {
    assert.ok(!this.settled.has(deliveryId), 'delivered after it was settled');
    assert.ok(
      !this.dead.includes(deliveryId) || this.retried.has(deliveryId),
      'delivered after it was dead, and nobody wanted it again',
    );
    const former = this.deliveries.filter((other) => other.deliveryId === deliveryId);
    if (former.length === 0) return true;
    assert.ok(attempt > Math.max(...former.map((other) => other.attempt)), 'twice under one attempt');
    assert.ok(again !== undefined, 'again without saying so');
    return false;
  }

  protected deliver(delivery: Delivery, settle: () => void): void {
    this.deliveries.push(delivery);
    if (this.settlesAll && this.terms.handledWhen === 'settled') realImmediate(settle);
  }

  /** Delivered, and not settled as far as the flow knows. */
  protected unsettled(): Delivery[] {
    const last = new Map(this.deliveries.map((delivery) => [delivery.deliveryId, delivery]));
    return [...last.values()].filter(({ deliveryId }) => !this.settled.has(deliveryId));
  }

  protected settle(
    { deliveryId }: Delivery,
    { action, inbox, told }: { action: Action; inbox: Inbox; told?: () => void },
  ): void {
    if (action === 'retry') this.retried.add(deliveryId);
    inbox.settle(deliveryId, { action }).then(
      (known) => {
        this.noting(() => assert.ok(known, 'an id that is unknown'));
        if (action === 'done' || action === 'reject') this.settled.add(deliveryId);
        told?.();
      },
      () => undefined,
    );
  }

  protected async wait(ms: number): Promise<void> {
    const end = this.time.now + ms;
    while (this.time.next(end)) await turn();
  }

  protected checkAllCame(): void {
    // Not by the delivery id: a copy that waits gets that of the one that was kept beside.
    const delivered = new Set(this.deliveries.map(({ message }) => message.envelope.messageId));
    for (const { message } of this.sent)
      assert.ok(delivered.has(message.envelope.messageId), 'acknowledged and never delivered');
  }
}

/** Whatever is done to a model, it finds nothing. @param begin what is done first */
export function holdsWhateverHappens<Deed>(
  title: string,
  {
    deed,
    begin,
    open,
  }: {
    deed: fc.Arbitrary<Deed>;
    begin: readonly Deed[];
    open: (terms: Terms) => { model: FlowModel<Deed>; close: () => void };
  },
): void {
  for (const handledWhen of ['sent', 'settled'] as const)
    it(`${title}, with events that are ${handledWhen}`, async function () {
      this.timeout(600_000 + RUNS * 300);
      await fc.assert(
        fc.asyncProperty(
          fc.array(deed, { minLength: 5, maxLength: 100, size: 'max' }),
          fc.constantFrom(1, 2, 3),
          fc.constantFrom(1, 2, 12),
          async (deeds, maxInFlight, maxAttempts) => {
            const { model, close } = open({ handledWhen, maxInFlight, maxAttempts });
            try {
              for (const each of [...begin, ...deeds]) await model.act(each);
              await model.finish();
            } finally {
              VirtualTime.restore();
              close();
            }
          },
        ),
        { numRuns: RUNS },
      );
    });
}
