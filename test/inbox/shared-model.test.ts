import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Consumer, Consumption, Delivery } from '../../lib/inbox/inbox';
import { SharedInbox } from '../../lib/inbox/shared-inbox';
import { storeFailed, type SharedStore, type SharedStoreNews } from '../../lib/inbox/store/port';
import type { SharedCall, StoreCalls } from '../../lib/inbox/store/protocol';
import type { ProvenMessage } from '../../lib/message/record';
import { InstanceStore, SharedFile } from '../support/inbox/shared-store';
import { runsOf } from '../support/suite/lanes';
import { realImmediate, turn, VirtualTime } from '../support/time/virtual-time';
import { ENDPOINT, proven } from './samples';

/** `lost`: it was done, but the answers were lost with the connection. */
type Fault = 'none' | 'refused' | 'reopened' | 'lost';

/** In which order those of one batch take effect: what ends before what comes, and what is leased last. */
const ORDER: readonly (readonly SharedCall[])[] = [
  ['finish', 'markDelivered', 'giveBack', 'lapse', 'again', 'revive', 'dismiss', 'tellHolder'],
  ['accept'],
  ['lease'],
  ['leased', 'stateOf'],
];

interface Asked {
  name: SharedCall;
  act: () => Promise<() => void>;
  reject: (error: Error) => void;
}

/** The store of one instance, which answers when the model says so. */
class SteppedStore implements SharedStore {
  readonly instance: InstanceStore;
  #asked: Asked[] = [];

  constructor(
    private readonly file: SharedFile,
    private readonly news: SharedStoreNews,
  ) {
    this.instance = new InstanceStore(file, news);
    file.instances.push(this.instance);
  }

  get isIdle(): boolean {
    return this.#asked.length === 0;
  }

  call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    return new Promise((resolve, reject) => {
      const act = async (): Promise<() => void> => {
        const give = await this.instance.call(name, take);
        return () => resolve(give);
      };
      this.#asked.push({ name, act, reject });
    });
  }

  mayHandOver(): boolean {
    return this.instance.mayHandOver();
  }

  takePart(): void {
    this.instance.takePart();
  }

  standAside(): Promise<void> {
    return this.instance.standAside();
  }

  /** Works off what was asked so far. */
  async step(fault: Fault): Promise<void> {
    const batch = this.#asked.splice(0).sort((one, other) => turnOf(one) - turnOf(other));
    const isDone = fault === 'none' || fault === 'lost';
    const answers = isDone ? batch.map(({ act }) => act()) : [];
    if (fault === 'none') for (const answer of answers) (await answer)();
    else {
      this.news.onFault('of the model');
      for (const { reject } of batch) reject(storeFailed('of the model'));
    }
    if (fault === 'reopened' || fault === 'lost')
      this.news.onOpened({ waiting: this.file.waiting(), restored: false });
  }

  /** It looks around. */
  poll(): void {
    this.news.onWaiting(this.file.waiting());
  }

  async close(): Promise<void> {
    // It ends with the model.
  }
}

function turnOf({ name }: Asked): number {
  return ORDER.findIndex((names) => names.includes(name));
}

type Terms = Pick<Consumer, 'handledWhen' | 'maxInFlight' | 'maxAttempts'>;

interface Sent {
  message: ProvenMessage;
  deliveryId?: string;
}

type Action = 'done' | 'retry' | 'reject' | 'extend';

type Deed =
  | { do: 'accept'; at: number; alarm: string; health: boolean }
  | { do: 'settle'; at: number; which: number; action: Action }
  | { do: 'store'; at: number; fault: Fault }
  | { do: 'stall' | 'reap' | 'wake' | 'poll' | 'pause' | 'resume' | 'end' | 'attach'; at: number }
  | { do: 'turn' | 'round' }
  | { do: 'wait'; time: number };

const LEASE = 60_000;
/** For a hunt: `RVM_MODEL_RUNS=5000`. */
const RUNS = Number(process.env['RVM_MODEL_RUNS'] ?? runsOf(80));

interface Instance {
  inbox: SharedInbox;
  store: SteppedStore;
  consumption: Consumption | undefined;
  /** Which consumer of it may be given something: the last, while it runs. */
  generation: number;
  isRunning: boolean;
}

/** Two instances with their flows on one inbox, and what must be true of them at every moment. */
class SharedModel {
  readonly #time = new VirtualTime();
  readonly #instances: Instance[];
  readonly #sent: Sent[] = [];
  readonly #accepting = new Set<Promise<void>>();
  readonly #deliveries: Delivery[] = [];
  readonly #settled = new Set<string>();
  readonly #retried = new Set<string>();
  readonly #dead: string[] = [];
  #settlesAll = false;
  /** Of a consumer nothing may throw, so what it finds is kept. */
  #violation: unknown;

  constructor(
    private readonly file: SharedFile,
    private readonly terms: Terms,
  ) {
    this.#time.install();
    this.#instances = [this.#open(), this.#open()];
  }

  async act(deed: Deed): Promise<void> {
    const instance = 'at' in deed ? this.#at(deed.at) : this.#at(0);
    switch (deed.do) {
      case 'accept':
        this.#accept({ message: messageOf(deed.alarm, deed.health) }, instance);
        break;
      case 'settle': {
        const open = this.#unsettled();
        this.#settle(open[deed.which % Math.max(1, open.length)], deed.action, instance);
        break;
      }
      case 'store':
        await instance.store.step(deed.fault);
        break;
      case 'wait':
        await this.#wait(this.#time.now + deed.time);
        break;
      case 'turn':
        this.#time.turn();
        break;
      case 'round':
        await this.#round();
        break;
      case 'stall':
      case 'reap':
      case 'wake':
      case 'poll':
      case 'pause':
      case 'resume':
      case 'end':
      case 'attach':
        this.#change(deed.do, instance);
    }
    await turn();
    if (this.#violation !== undefined) throw this.#violation;
  }

  /** From now on nothing fails, and the flows settle whatever comes: then all must come to its end. */
  async finish(): Promise<void> {
    this.#settlesAll = true;
    for (const instance of this.#instances) {
      for (const deed of ['wake', 'attach', 'resume'] as const) this.#change(deed, instance);
      instance.store.poll();
    }
    for (let round = 0; round < 400; round += 1) {
      while (this.#isBusy) {
        await this.#round();
        await turn();
      }
      const unsent = this.#sent.filter(({ deliveryId }) => deliveryId === undefined);
      for (const sent of unsent) this.#accept(sent, this.#at(round));
      if (unsent.length === 0 && this.file.open().length === 0) break;
      this.#time.next(this.#time.now + 1000);
      for (const { store } of this.#instances) store.poll();
      await turn();
    }
    if (this.#violation !== undefined) throw this.#violation;
    this.#checkEnd();
  }

  get #isBusy(): boolean {
    return (
      this.#time.hasTurns || this.#accepting.size > 0 || this.#instances.some(({ store }) => !store.isIdle)
    );
  }

  async #round(): Promise<void> {
    for (const { store } of this.#instances) await store.step('none');
    await turn();
    this.#time.turn();
  }

  #open(): Instance {
    let store: SteppedStore | undefined;
    const inbox = new SharedInbox({
      keep: { keys: Infinity, bodies: Infinity },
      patience: 1e9,
      open: (news) => (store = new SteppedStore(this.file, news)),
    });
    const instance = {
      inbox,
      store: store ?? assert.fail(),
      consumption: undefined,
      generation: 0,
      isRunning: false,
    };
    this.#attach(instance);
    return instance;
  }

  #at(which: number): Instance {
    return this.#instances[which % this.#instances.length] ?? assert.fail();
  }

  #change(
    deed: Exclude<Deed['do'], 'accept' | 'settle' | 'store' | 'wait' | 'turn' | 'round'>,
    at: Instance,
  ): void {
    const { instance } = at.store;
    switch (deed) {
      case 'stall':
        return instance.stall();
      case 'reap':
        // Only one that hands nothing over any more.
        if (!instance.mayHandOver()) this.file.reap(instance);
        return;
      case 'wake':
        instance.findOut();
        return instance.wake();
      case 'poll':
        return at.store.poll();
      case 'pause':
      case 'resume':
        at.isRunning = deed === 'resume' && at.consumption !== undefined;
        return at.consumption?.[deed]();
      case 'end':
        at.isRunning = false;
        void at.consumption?.end();
        at.consumption = undefined;
        return;
      case 'attach':
        return this.#attach(at);
    }
  }

  #attach(at: Instance): void {
    at.generation += 1;
    at.isRunning = false;
    const { generation } = at;
    at.consumption = at.inbox.consume({
      endpointId: ENDPOINT,
      nodeId: 'node',
      ...this.terms,
      redeliverAfter: LEASE,
      deliver: (delivery) => {
        this.#noting(() => {
          assert.ok(at.isRunning && generation === at.generation, 'to a consumer that may not have it');
          assert.ok(at.store.mayHandOver(), 'while others might have it');
          this.#checkDelivery(delivery);
        });
        this.#deliver(delivery);
        return true;
      },
      onDead: ({ deliveryId }) => this.#dead.push(deliveryId),
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    });
  }

  #accept(sent: Sent, { inbox }: Instance): void {
    if (!this.#sent.includes(sent)) this.#sent.push(sent);
    const accepting = inbox.accept(sent.message).then(
      ({ deliveryId }) => {
        sent.deliveryId = deliveryId;
      },
      () => undefined,
    );
    this.#accepting.add(accepting);
    void accepting.then(() => this.#accepting.delete(accepting));
  }

  #noting(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#violation ??= error;
    }
  }

  #checkDelivery(delivery: Delivery): void {
    const { deliveryId, attempt, again } = delivery;
    assert.ok(!this.#settled.has(deliveryId), 'delivered after it was settled');
    assert.ok(
      !this.#dead.includes(deliveryId) || this.#retried.has(deliveryId),
      'delivered after it was dead, and nobody wanted it again',
    );
    const former = this.#deliveries.filter((other) => other.deliveryId === deliveryId);
    if (former.length > 0) {
      assert.ok(attempt > Math.max(...former.map((other) => other.attempt)), 'twice under one attempt');
      assert.ok(again !== undefined, 'again without saying so');
    }
    if (this.terms.handledWhen === 'settled') this.#checkOrder(delivery);
  }

  /** Wherever the former events of its alarm are, they are settled; but for one that died, and is wanted again. */
  #checkOrder({ deliveryId, sequence, message }: Delivery): void {
    const { alarmId } = message.event;
    if (alarmId === '' || this.#retried.has(deliveryId)) return;
    const former = this.file
      .open()
      .filter((row) => row.sequence < (sequence ?? 0) && this.#alarmOf(row.deliveryId) === alarmId);
    const waiting = former.filter((row) => !this.#retried.has(row.deliveryId));
    assert.deepEqual(waiting, [], 'before the former of its alarm was settled');
  }

  #alarmOf(deliveryId: string): unknown {
    const sent = this.#sent.find((each) => each.deliveryId === deliveryId);
    return sent?.message.event.alarmId;
  }

  #deliver(delivery: Delivery): void {
    this.#deliveries.push(delivery);
    if (!this.#settlesAll || this.terms.handledWhen !== 'settled') return;
    // By either instance.
    const instance = this.#at(this.#deliveries.length);
    realImmediate(() => this.#settle(delivery, 'done', instance));
  }

  #unsettled(): Delivery[] {
    const last = new Map(this.#deliveries.map((delivery) => [delivery.deliveryId, delivery]));
    return [...last.values()].filter(({ deliveryId }) => !this.#settled.has(deliveryId));
  }

  #settle(delivery: Delivery | undefined, action: Action, { inbox }: Instance): void {
    if (delivery === undefined) return;
    const { deliveryId } = delivery;
    if (action === 'retry') this.#retried.add(deliveryId);
    inbox.settle(deliveryId, { action }).then(
      (known) => {
        this.#noting(() => assert.ok(known, 'an id that is unknown'));
        if (action === 'done' || action === 'reject') this.#settled.add(deliveryId);
      },
      () => undefined,
    );
  }

  async #wait(end: number): Promise<void> {
    while (this.#time.next(end)) await turn();
  }

  #checkEnd(): void {
    assert.deepEqual(this.file.open(), [], 'left in the inbox');
    for (const { deliveryId = '' } of this.#sent) {
      const wasDelivered = this.#deliveries.some((delivery) => delivery.deliveryId === deliveryId);
      assert.ok(wasDelivered, 'acknowledged and never delivered');
    }
  }
}

function messageOf(alarm: string, health: boolean): ProvenMessage {
  return proven({ alarmId: alarm, eventClass: health ? 'health' : 'security' });
}

const at = fc.nat(1);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 18,
    arbitrary: fc.record({
      do: fc.constant('accept' as const),
      at,
      alarm: fc.constantFrom('', 'a', 'a', 'b'),
      health: fc.boolean(),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      at,
      which: fc.nat(9),
      action: fc.constantFrom(
        'done' as const,
        'done' as const,
        'retry' as const,
        'reject' as const,
        'extend' as const,
      ),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      at,
      fault: fc.constantFrom(
        'none' as const,
        'none' as const,
        'refused' as const,
        'reopened' as const,
        'lost' as const,
      ),
    }),
  },
  {
    weight: 18,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'stall' as const,
        'reap' as const,
        'reap' as const,
        'wake' as const,
        'wake' as const,
        'poll' as const,
      ),
      at,
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'pause' as const,
        'resume' as const,
        'resume' as const,
        'end' as const,
        'attach' as const,
      ),
      at,
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({ do: fc.constantFrom('turn' as const, 'round' as const, 'round' as const) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      time: fc.constantFrom(1, 1000, 5000, LEASE, LEASE),
    }),
  },
);

describe('two instances of an inbox', () => {
  for (const handledWhen of ['sent', 'settled'] as const) {
    it(`lose, double and forget nothing between them, whatever happens, with events that are ${handledWhen}`, async function () {
      this.timeout(600_000 + RUNS * 300);
      await fc.assert(
        fc.asyncProperty(
          fc.array(deed, { minLength: 5, maxLength: 100, size: 'max' }),
          fc.constantFrom(1, 2, 3),
          fc.constantFrom(1, 2, 12),
          async (deeds, maxInFlight, maxAttempts) => {
            const file = new SharedFile();
            const model = new SharedModel(file, { handledWhen, maxInFlight, maxAttempts });
            try {
              await model.act({ do: 'resume', at: 0 });
              await model.act({ do: 'resume', at: 1 });
              for (const one of deeds) await model.act(one);
              await model.finish();
            } finally {
              VirtualTime.restore();
              file.close();
            }
          },
        ),
        { numRuns: RUNS },
      );
    });
  }
});
