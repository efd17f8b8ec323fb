import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { Consumption, Delivery } from '../../lib/inbox/model';
import type { ProvenMessage } from '../../lib/message/record';
import {
  type LocalCall,
  type StoreCalls,
  type StoredMessage,
  storeFailed,
  type StoreEvents,
  type StorePort,
} from '../../lib/inbox/store/port';
import { Store } from '../../lib/inbox/sqlite/store';
import { inboxIn } from '../support/inbox/folders';
import { failToReadBodies } from '../support/inbox/hooked-inbox';
import { may, one } from '../support/suite/deeds';
import {
  type Action,
  FlowModel,
  holdsWhateverHappens,
  LEASE,
  type Sent,
  type Terms,
  windowIsKept,
} from '../support/inbox/flow-model';
import { realImmediate, turn } from '../support/time/virtual-time';
import { ENDPOINT, proven } from './samples';

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
    private readonly news: StoreEvents,
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
    this.news.onOpened({ waiting: count === 0 ? {} : { [ENDPOINT]: count }, restored: false });
  }

  rows(state: 'open' | 'all'): Pick<StoredMessage, 'deliveryId' | 'state' | 'sequence'>[] {
    return this.store.work.list({ state, limit: 1_000_000 }).filter(({ endpoint }) => endpoint === ENDPOINT);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

type Deed =
  | { do: 'accept'; alarm: string; health: boolean }
  | { do: 'settle'; which: number; action: Action }
  | { do: 'store'; fault: Fault }
  | { do: 'turn' | 'round' | 'pause' | 'resume' | 'end' | 'attach' }
  | { do: 'wait'; time: number };

let runs = 0;

/** An inbox, a flow and a store, and what must be true of them at every moment. */
class Model extends FlowModel<Deed> {
  readonly #inbox: DurableInbox;
  #store: SteppedStore | undefined;
  readonly #rejected = new Set<string>();
  #sequences = new Map<string, number>();
  #consumption: Consumption | undefined;
  #running = false;
  #generation = 0;
  /** With the flow: id and the end of the lease. */
  readonly #atFlow = new Map<string, number>();
  /** After a fault, or what a deploy does, what is sent may come in another order. */
  #hasFailed = false;
  /** What a store that failed was asked to take back, it may have leased for a while. */
  #hasRefused = false;
  /** Where an answer was lost, a word or a count may be lost with it, but no event. */
  #hasLost = false;

  constructor(store: Store, terms: Terms) {
    super(terms);
    // No folder: what the store does not take is refused, and sent again; from memory it goes to the flow all the same.
    this.#inbox = inboxIn(__filename, {
      timeoutMs: 1e9,
      open: (news) => (this.#store = new SteppedStore(store, news)),
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
    const deliver = (delivery: Delivery): void => {
      this.noting(() => {
        assert.equal(generation, this.#generation, 'to a consumer that is gone');
        assert.ok(this.#running, 'delivered while paused');
        if (this.checkDelivery(delivery)) this.#checkOrder(delivery);
      });
      if (this.terms.handledWhen === 'settled') this.#atFlow.set(delivery.deliveryId, this.time.now + LEASE);
      this.deliver(delivery, () => this.#settle(delivery, 'done'));
    };
    this.#consumption = this.consume(this.#inbox, deliver, (deliveryId) => this.#atFlow.delete(deliveryId));
  }

  async act(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'accept':
        this.accept({ message: messageOf(deed) }, this.#inbox);
        break;
      case 'settle':
        this.#settle(this.unsettled()[deed.which % Math.max(1, this.unsettled().length)], deed.action);
        break;
      case 'store':
        this.#hasFailed ||= deed.fault !== 'none';
        this.#hasRefused ||= deed.fault !== 'none' && deed.fault !== 'unread';
        this.#hasLost ||= deed.fault === 'lost';
        this.store.step(deed.fault);
        break;
      case 'turn':
        this.time.turn();
        break;
      case 'round':
        this.store.step('none');
        await turn();
        this.time.turn();
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
        await this.wait(deed.time);
        break;
    }
    await turn();
    this.#checkWindow();
    await this.checked();
  }

  async finish(): Promise<void> {
    this.settlesAll = true;
    this.attach();
    this.#running = true;
    this.#consumption?.resume();
    for (let round = 0; round < 400; round += 1) {
      while (this.time.hasTurns || !this.store.isIdle || this.accepting.size > 0) {
        this.store.step('none');
        await turn();
        this.time.turn();
        await turn();
      }
      const unsent = this.sent.filter(({ deliveryId }) => deliveryId === undefined);
      for (const sent of unsent) this.accept(sent, this.#inbox);
      if (unsent.length === 0 && this.store.rows('open').length === 0) break;
      this.time.next(this.time.now + 1000);
      await turn();
    }
    await this.checked();
    this.#checkEnd();
  }

  /** Of one alarm and class each comes after those accepted before it; settled before it, where that is what counts. */
  #checkOrder({ deliveryId, sequence, message }: Delivery): void {
    const { alarmId } = message.event;
    // From beside the inbox, it overtakes what waits in a store that failed.
    if (alarmId === '' || sequence === null) return;
    for (const other of this.sent) {
      if (other.message.event.alarmId !== alarmId || other.deliveryId === undefined) continue;
      const isEarlier = this.#sequenceOf(other) < (sequence ?? Infinity) && other.deliveryId !== deliveryId;
      // One that died, and is wanted again, does not come in its place.
      if (!isEarlier || this.dead.includes(other.deliveryId)) continue;
      if (this.terms.handledWhen === 'settled')
        assert.ok(this.#isFinal(other.deliveryId), 'before the former of its alarm was settled');
      else if (!this.#hasFailed && other.message.event.eventClass === message.event.eventClass)
        assert.ok(
          this.deliveries.some((delivery) => delivery.deliveryId === other.deliveryId),
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

  #settle(delivery: Delivery | undefined, action: Action): void {
    if (delivery === undefined) return;
    const { deliveryId } = delivery;
    if (action === 'reject') this.#rejected.add(deliveryId);
    const told = (): void => {
      if (action !== 'extend') this.#atFlow.delete(deliveryId);
    };
    this.settle(delivery, { action, inbox: this.#inbox, told });
  }

  #checkWindow(): void {
    for (const [deliveryId, due] of this.#atFlow) if (due <= this.time.now) this.#atFlow.delete(deliveryId);
    assert.ok(windowIsKept(this.#inbox), 'more than the window');
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
    this.checkAllCame();
    const dead = this.store.rows('all').filter(({ state }) => state === 'dead');
    for (const { deliveryId } of dead)
      assert.ok(
        this.#hasLost || this.dead.includes(deliveryId) || this.#rejected.has(deliveryId),
        'dead without a word',
      );
    if (!this.#hasLost) assert.equal(this.#inbox.waiting(ENDPOINT), 0, 'the count of those that wait');
  }
}

function messageOf({ alarm, health }: { alarm: string; health: boolean }): ProvenMessage {
  return proven({ alarmId: alarm, eventClass: health ? 'health' : 'security' });
}

const deed: fc.Arbitrary<Deed> = fc.oneof(
  may(8, 'accept', { alarm: one('', 'a', 'b'), health: fc.boolean() }),
  may(6, 'settle', { which: fc.nat(5), action: one('done', 'done', 'retry', 'reject', 'extend') }),
  may(4, 'store', { fault: one('none') }),
  may(3, 'store', { fault: one('unread', 'refused', 'reopened', 'lost') }),
  may(4, 'turn'),
  may(14, 'round'),
  may(5, ['pause', 'resume', 'resume', 'end', 'attach']),
  may(8, 'wait', { time: one(1, 1000, 1000, 5000, LEASE, LEASE, LEASE) }),
);

describe('the inbox as a whole', () => {
  let folder: string;
  before(() => {
    folder = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rvm-model-'));
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  holdsWhateverHappens('loses, doubles and forgets nothing, whatever happens', {
    deed,
    begin: [{ do: 'resume' }],
    open: (terms) => {
      const store = new Store({ file: path.join(folder, `${(runs += 1)}.sqlite`), resumed: false });
      return { model: new Model(store, terms), close: () => store.close() };
    },
  });
});
