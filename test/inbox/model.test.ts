import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { Consumer, Consumption, Delivery } from '../../lib/inbox/inbox';
import type { ProvenMessage } from '../../lib/message/record';
import type { LocalCall, StoreCalls, StoredMessage } from '../../lib/inbox/store/protocol';
import { Store } from '../../lib/inbox/sqlite/store';
import { storeFailed, type StoreNews, type StorePort } from '../../lib/inbox/store/port';
import { failToReadBodies } from '../support/inbox/hooked-inbox';
import { runsOf } from '../support/suite/lanes';
import { realImmediate, turn, VirtualTime } from '../support/time/virtual-time';
import { proven } from './samples';

interface Asked {
  /** Does it, and returns the way to answer. */
  work: (store: Store) => () => void;
  reject: (error: Error) => void;
}

type Fault = 'none' | 'unread' | 'refused' | 'reopened' | 'lost';

/** A store as in its thread: what was asked is one transaction, whose answers come together. */
class SteppedStore implements StorePort {
  #asked: Asked[] = [];

  constructor(
    private readonly store: Store,
    private readonly news: StoreNews,
    private readonly endpoint: string,
  ) {}

  get isIdle(): boolean {
    return this.#asked.length === 0;
  }

  call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    return new Promise((resolve, reject) => {
      const work = (store: Store) => {
        const give = store.work[name](take);
        return () => resolve(give);
      };
      this.#asked.push({ work, reject });
    });
  }

  /**
   * Works off what was asked so far. `unread`: it was done, but no body could be read. `lost`: it was done, but the answers
   * were lost with the thread.
   */
  step(fault: Fault): void {
    const batch = this.#asked;
    this.#asked = [];
    const fails = fault !== 'none' && fault !== 'unread';
    const isDone = !fails || fault === 'lost';
    const mend = fault === 'unread' ? failToReadBodies() : () => undefined;
    let answers: (() => void)[] = [];
    try {
      if (isDone) answers = this.store.transaction(() => batch.map(({ work }) => work(this.store)));
    } finally {
      mend();
    }
    if (fails) {
      this.news.onFault('of the model');
      for (const { reject } of batch) reject(storeFailed('of the model'));
    } else for (const answer of answers) answer();
    if (fault === 'reopened' || fault === 'lost') this.open();
    // What was read in vain closes the store, too, once its answers have come.
    if (fault === 'unread') realImmediate(() => this.#reopen());
  }

  #reopen(): void {
    this.news.onFault('of the model');
    this.open();
  }

  open(): void {
    const count = this.rows('open').filter(({ state }) => state === 'received').length;
    this.news.onOpened({ waiting: count === 0 ? {} : { [this.endpoint]: count }, restored: false });
  }

  rows(state: 'open' | 'all'): Pick<StoredMessage, 'deliveryId' | 'state' | 'sequence'>[] {
    return this.store.work
      .list({ state, limit: 1_000_000 })
      .filter(({ endpoint }) => endpoint === this.endpoint);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

type Terms = Pick<Consumer, 'handledWhen' | 'maxInFlight' | 'maxAttempts'>;

interface Sent {
  message: ProvenMessage;
  deliveryId?: string;
}

type Deed =
  | { do: 'accept'; alarm: string; health: boolean }
  | { do: 'settle'; which: number; action: 'done' | 'retry' | 'reject' | 'extend' }
  | { do: 'store'; fault: Fault }
  | { do: 'turn' | 'round' | 'pause' | 'resume' | 'end' | 'attach' }
  | { do: 'wait'; time: number };

const LEASE = 60_000;
/** For a hunt: `RVM_MODEL_RUNS=5000`. */
const RUNS = Number(process.env['RVM_MODEL_RUNS'] ?? runsOf(80));
let runs = 0;

/** An inbox, a flow and a store, and what must be true of them at every moment. */
class Model {
  readonly #time = new VirtualTime();
  readonly #endpoint = 'model';
  readonly #inbox: DurableInbox;
  #store: SteppedStore | undefined;
  readonly #sent: Sent[] = [];
  readonly #accepting = new Set<Promise<void>>();
  readonly #deliveries: Delivery[] = [];
  readonly #settled = new Set<string>();
  readonly #rejected = new Set<string>();
  readonly #retried = new Set<string>();
  readonly #dead: string[] = [];
  #sequences = new Map<string, number>();
  #consumption: Consumption | undefined;
  #running = false;
  #generation = 0;
  /** With the flow: id and the end of the lease. */
  readonly #atFlow = new Map<string, number>();
  #settlesAll = false;
  /** After a fault, or what a deploy does, what is sent may come in another order. */
  #hasFailed = false;
  /** What a store that failed was asked to take back, it may have leased for a while. */
  #hasRefused = false;
  /** Where an answer was lost, a word or a count may be lost with it, but no event. */
  #hasLost = false;
  /** Of a consumer nothing may throw, so what it finds is kept. */
  #violation: unknown;

  constructor(
    store: Store,
    private readonly terms: Terms,
  ) {
    this.#time.install();
    this.#inbox = new DurableInbox({
      file: path.join(__filename, 'inbox.sqlite'),
      // No folder: what the store does not take is refused, and sent again.
      spillFolder: path.join(__filename, 'spill'),
      keep: { keys: Infinity, bodies: Infinity },
      spillAfter: 1e9,
      open: (news) => (this.#store = new SteppedStore(store, news, this.#endpoint)),
    });
    this.store.open();
    this.attach();
  }

  get store(): SteppedStore {
    return this.#store ?? assert.fail();
  }

  attach(): void {
    this.#hasFailed ||= this.#generation > 0;
    this.#generation += 1;
    const generation = this.#generation;
    this.#atFlow.clear();
    this.#running = false;
    this.#consumption = this.#inbox.consume({
      endpointId: this.#endpoint,
      nodeId: 'node',
      ...this.terms,
      redeliverAfter: LEASE,
      deliver: (delivery) => {
        this.#noting(() => this.#checkDelivery(delivery, generation));
        this.#deliver(delivery);
        return true;
      },
      onDead: ({ deliveryId }) => {
        this.#dead.push(deliveryId);
        this.#atFlow.delete(deliveryId);
      },
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    });
  }

  async act(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'accept':
        this.#accept({ message: this.#message(deed.alarm, deed.health) });
        break;
      case 'settle':
        this.#settle(this.#open()[deed.which % Math.max(1, this.#open().length)], deed.action);
        break;
      case 'store':
        this.#hasFailed ||= deed.fault !== 'none';
        this.#hasRefused ||= deed.fault !== 'none' && deed.fault !== 'unread';
        this.#hasLost ||= deed.fault === 'lost';
        this.store.step(deed.fault);
        break;
      case 'turn':
        this.#time.turn();
        break;
      case 'round':
        this.store.step('none');
        await turn();
        this.#time.turn();
        break;
      case 'pause':
      case 'resume':
        this.#hasFailed ||= deed.do === 'pause';
        this.#running = deed.do === 'resume' && this.#consumption !== undefined;
        this.#consumption?.[deed.do]();
        break;
      case 'end':
        this.#hasFailed = true;
        this.#running = false;
        void this.#consumption?.end();
        this.#consumption = undefined;
        this.#atFlow.clear();
        break;
      case 'attach':
        this.attach();
        break;
      case 'wait':
        await this.#wait(this.#time.now + deed.time);
        break;
    }
    await turn();
    this.#checkWindow();
    if (this.#violation !== undefined) throw this.#violation;
  }

  /** From now on nothing fails, and the flow settles whatever comes: then all must come to its end. */
  async finish(): Promise<void> {
    this.#settlesAll = true;
    this.attach();
    this.#running = true;
    this.#consumption?.resume();
    for (let round = 0; round < 400; round += 1) {
      while (this.#time.hasTurns || !this.store.isIdle || this.#accepting.size > 0) {
        this.store.step('none');
        await turn();
        this.#time.turn();
        await turn();
      }
      const unsent = this.#sent.filter(({ deliveryId }) => deliveryId === undefined);
      for (const sent of unsent) this.#accept(sent);
      if (unsent.length === 0 && this.store.rows('open').length === 0) break;
      this.#time.next(this.#time.now + 1000);
      await turn();
    }
    if (this.#violation !== undefined) throw this.#violation;
    this.#checkEnd();
  }

  #message(alarm: string, health: boolean): ProvenMessage {
    return proven(
      {
        ...(alarm === '' ? { alarmId: '' } : { alarmId: alarm }),
        eventClass: health ? 'health' : 'security',
      },
      { endpointId: this.#endpoint, stationKey: this.#endpoint },
    );
  }

  #accept(sent: Sent): void {
    if (!this.#sent.includes(sent)) this.#sent.push(sent);
    const accepting = this.#inbox.accept(sent.message).then(
      ({ deliveryId }) => {
        sent.deliveryId = deliveryId ?? assert.fail('an acceptance without an id');
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

  #checkDelivery(delivery: Delivery, generation: number): void {
    const { deliveryId, attempt, again } = delivery;
    assert.equal(generation, this.#generation, 'to a consumer that is gone');
    assert.ok(this.#running, 'delivered while paused');
    assert.ok(!this.#settled.has(deliveryId), 'delivered after it was settled');
    assert.ok(
      !this.#dead.includes(deliveryId) || this.#retried.has(deliveryId),
      'delivered after it was dead, and nobody wanted it again',
    );
    const former = this.#deliveries.filter((other) => other.deliveryId === deliveryId);
    if (former.length > 0) {
      assert.ok(attempt > Math.max(...former.map((other) => other.attempt)), 'twice under one attempt');
      assert.ok(again !== undefined, 'again without saying so');
    } else this.#checkOrder(delivery);
  }

  #deliver(delivery: Delivery): void {
    this.#deliveries.push(delivery);
    if (this.terms.handledWhen !== 'settled') return;
    this.#atFlow.set(delivery.deliveryId, this.#time.now + LEASE);
    if (this.#settlesAll) realImmediate(() => this.#settle(delivery, 'done'));
  }

  /** Of one alarm and class each comes after those accepted before it; settled before it, where that is what counts. */
  #checkOrder({ deliveryId, sequence, message }: Delivery): void {
    const { alarmId } = message.event;
    if (alarmId === '') return;
    for (const other of this.#sent) {
      if (other.message.event.alarmId !== alarmId || other.deliveryId === undefined) continue;
      const isEarlier = this.#sequenceOf(other) < (sequence ?? Infinity) && other.deliveryId !== deliveryId;
      // One that died, and is wanted again, does not come in its place.
      if (!isEarlier || this.#dead.includes(other.deliveryId)) continue;
      if (this.terms.handledWhen === 'settled')
        assert.ok(this.#isFinal(other.deliveryId), 'before the former of its alarm was settled');
      else if (!this.#hasFailed && other.message.event.eventClass === message.event.eventClass)
        assert.ok(
          this.#deliveries.some((delivery) => delivery.deliveryId === other.deliveryId),
          'before the former of its alarm',
        );
    }
  }

  #sequenceOf({ deliveryId }: Sent): number {
    return this.#sequences.get(deliveryId ?? '') ?? this.#lookUpSequences().get(deliveryId ?? '') ?? Infinity;
  }

  #lookUpSequences(): Map<string, number> {
    const rows = this.store.rows('all');
    this.#sequences = new Map(rows.map(({ deliveryId, sequence }) => [deliveryId, sequence]));
    return this.#sequences;
  }

  #isFinal(deliveryId: string): boolean {
    return this.store.rows('open').every((row) => row.deliveryId !== deliveryId);
  }

  /** Delivered, and not settled as far as the flow knows. */
  #open(): Delivery[] {
    const last = new Map(this.#deliveries.map((delivery) => [delivery.deliveryId, delivery]));
    return [...last.values()].filter(({ deliveryId }) => !this.#settled.has(deliveryId));
  }

  #settle(delivery: Delivery | undefined, action: 'done' | 'retry' | 'reject' | 'extend'): void {
    if (delivery === undefined) return;
    const { deliveryId } = delivery;
    if (action === 'reject') this.#rejected.add(deliveryId);
    if (action === 'retry') this.#retried.add(deliveryId);
    this.#inbox.settle(deliveryId, { action }).then(
      (known) => {
        this.#noting(() => assert.ok(known, 'an id that is unknown'));
        if (action === 'done' || action === 'reject') {
          this.#settled.add(deliveryId);
          this.#atFlow.delete(deliveryId);
        }
        if (action === 'retry') this.#atFlow.delete(deliveryId);
      },
      () => undefined,
    );
  }

  async #wait(end: number): Promise<void> {
    while (this.#time.next(end)) await turn();
  }

  #checkWindow(): void {
    for (const [deliveryId, due] of this.#atFlow) if (due <= this.#time.now) this.#atFlow.delete(deliveryId);
    const { size } = this.#atFlow;
    assert.ok(this.#hasLost || size <= this.terms.maxInFlight, `${size} with the flow`);
    const leased = this.store.rows('open').filter(({ state }) => state === 'leased').length;
    assert.ok(this.#hasRefused || leased <= this.terms.maxInFlight, `${leased} leased`);
  }

  #checkEnd(): void {
    assert.deepEqual(
      this.store.rows('open').map(({ state }) => state),
      [],
      'left in the inbox',
    );
    for (const { deliveryId = '' } of this.#sent) {
      const wasDelivered = this.#deliveries.some((delivery) => delivery.deliveryId === deliveryId);
      assert.ok(wasDelivered, 'acknowledged and never delivered');
    }
    const dead = this.store.rows('all').filter(({ state }) => state === 'dead');
    for (const { deliveryId } of dead)
      assert.ok(
        this.#hasLost || this.#dead.includes(deliveryId) || this.#rejected.has(deliveryId),
        'dead without a word',
      );
    if (!this.#hasLost) assert.equal(this.#inbox.waiting(this.#endpoint), 0, 'the count of those that wait');
  }
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('accept' as const),
      alarm: fc.constantFrom('', 'a', 'b'),
      health: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which: fc.nat(5),
      action: fc.constantFrom(
        'done' as const,
        'done' as const,
        'retry' as const,
        'reject' as const,
        'extend' as const,
      ),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'store' as const, fault: 'none' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      fault: fc.constantFrom('unread' as const, 'refused' as const, 'reopened' as const, 'lost' as const),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'turn' as const }) },
  { weight: 14, arbitrary: fc.constant({ do: 'round' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'pause' as const,
        'resume' as const,
        'resume' as const,
        'end' as const,
        'attach' as const,
      ),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      time: fc.constantFrom(1, 1000, 1000, 5000, LEASE, LEASE, LEASE),
    }),
  },
);

describe('the inbox as a whole', () => {
  let folder: string;
  before(() => {
    folder = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rvm-model-'));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  for (const handledWhen of ['sent', 'settled'] as const) {
    it(`loses, doubles and forgets nothing, whatever happens, with events that are ${handledWhen}`, async function () {
      this.timeout(600_000 + RUNS * 200);
      await fc.assert(
        fc.asyncProperty(
          fc.array(deed, { minLength: 5, maxLength: 100, size: 'max' }),
          fc.constantFrom(1, 2, 3),
          fc.constantFrom(1, 2, 12),
          async (deeds, maxInFlight, maxAttempts) => {
            const store = new Store({ file: path.join(folder, `${(runs += 1)}.sqlite`), resumed: false });
            const model = new Model(store, { handledWhen, maxInFlight, maxAttempts });
            try {
              await model.act({ do: 'resume' });
              for (const one of deeds) await model.act(one);
              await model.finish();
            } finally {
              VirtualTime.restore();
              store.close();
            }
          },
        ),
        { numRuns: RUNS },
      );
    });
  }
});
