import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Consumption, Delivery } from '../../lib/inbox/model';
import { DurableInbox } from '../../lib/inbox/durable-inbox';
import {
  storeFailed,
  type SharedStore,
  type SharedStoreEvents,
  type SharedCall,
  type StoreCalls,
} from '../../lib/inbox/store/port';
import type { ProvenMessage } from '../../lib/message/record';
import { InstanceStore, SharedFile } from '../support/inbox/shared-store';
import { may, one } from '../support/suite/deeds';
import {
  type Action,
  FlowModel,
  holdsWhateverHappens,
  LEASE,
  type Terms,
  windowIsKept,
} from '../support/inbox/flow-model';
import { turn } from '../support/time/virtual-time';
import { proven } from './samples';

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
    private readonly news: SharedStoreEvents,
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

  isLeaseSafe(): boolean {
    return this.instance.isLeaseSafe();
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

type Deed =
  | { do: 'accept'; at: number; alarm: string; health: boolean }
  | { do: 'settle'; at: number; which: number; action: Action }
  | { do: 'store'; at: number; fault: Fault }
  | { do: 'stall' | 'reap' | 'wake' | 'poll' | 'pause' | 'resume' | 'end' | 'attach'; at: number }
  | { do: 'turn' | 'round' }
  | { do: 'wait'; time: number };

interface Instance {
  inbox: DurableInbox;
  store: SteppedStore;
  consumption: Consumption | undefined;
  /** Which consumer of it may be given something: the last, while it runs. */
  generation: number;
  isRunning: boolean;
}

/** Two instances with their flows on one inbox, and what must be true of them at every moment. */
class SharedModel extends FlowModel<Deed> {
  readonly #instances: Instance[];

  constructor(
    private readonly file: SharedFile,
    terms: Terms,
  ) {
    super(terms);
    this.#instances = [this.#open(), this.#open()];
  }

  async act(deed: Deed): Promise<void> {
    const instance = 'at' in deed ? this.#at(deed.at) : this.#at(0);
    switch (deed.do) {
      case 'accept':
        this.accept({ message: messageOf(deed.alarm, deed.health) }, instance.inbox);
        break;
      case 'settle': {
        const open = this.unsettled();
        const delivery = open[deed.which % Math.max(1, open.length)];
        if (delivery !== undefined) this.settle(delivery, { action: deed.action, inbox: instance.inbox });
        break;
      }
      case 'store':
        await instance.store.step(deed.fault);
        break;
      case 'wait':
        await this.wait(deed.time);
        break;
      case 'turn':
        this.time.turn();
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
    for (const { inbox } of this.#instances) assert.ok(windowIsKept(inbox), 'more than the window');
    await this.checked();
  }

  async finish(): Promise<void> {
    this.settlesAll = true;
    for (const instance of this.#instances) {
      for (const deed of ['wake', 'attach', 'resume'] as const) this.#change(deed, instance);
      instance.store.poll();
    }
    for (let round = 0; round < 400; round += 1) {
      while (this.#isBusy) {
        await this.#round();
        await turn();
      }
      const unsent = this.sent.filter(({ deliveryId }) => deliveryId === undefined);
      for (const sent of unsent) this.accept(sent, this.#at(round).inbox);
      if (unsent.length === 0 && this.file.open().length === 0) break;
      this.time.next(this.time.now + 1000);
      for (const { store } of this.#instances) store.poll();
      await turn();
    }
    await this.checked();
    assert.deepEqual(this.file.open(), [], 'left in the inbox');
    this.checkAllCame();
  }

  get #isBusy(): boolean {
    return (
      this.time.hasTurns || this.accepting.size > 0 || this.#instances.some(({ store }) => !store.isIdle)
    );
  }

  async #round(): Promise<void> {
    for (const { store } of this.#instances) await store.step('none');
    await turn();
    this.time.turn();
  }

  #open(): Instance {
    let store: SteppedStore | undefined;
    const inbox = new DurableInbox({
      keep: { keys: Infinity, bodies: Infinity },
      timeoutMs: 1e9,
      share: (news) => (store = new SteppedStore(this.file, news)),
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
        if (!instance.isLeaseSafe()) this.file.reap(instance);
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
    at.consumption = this.consume(at.inbox, (delivery) => {
      this.noting(() => {
        assert.ok(at.isRunning && generation === at.generation, 'to a consumer that may not have it');
        assert.ok(at.store.isLeaseSafe(), 'while others might have it');
        this.checkDelivery(delivery);
        if (this.terms.handledWhen === 'settled') this.#checkOrder(delivery);
      });
      // By either instance.
      const { inbox } = this.#at(this.deliveries.length + 1);
      this.deliver(delivery, () => this.settle(delivery, { action: 'done', inbox }));
    });
  }

  /** Wherever the former events of its alarm are, they are settled; but for one that died, and is wanted again. */
  #checkOrder({ deliveryId, sequence, message }: Delivery): void {
    const { alarmId } = message.event;
    if (alarmId === '' || this.retried.has(deliveryId)) return;
    const former = this.file
      .open()
      .filter((row) => row.sequence < (sequence ?? 0) && this.#alarmOf(row.deliveryId) === alarmId);
    const waiting = former.filter((row) => !this.retried.has(row.deliveryId));
    assert.deepEqual(waiting, [], 'before the former of its alarm was settled');
  }

  #alarmOf(deliveryId: string): unknown {
    const sent = this.sent.find((each) => each.deliveryId === deliveryId);
    return sent?.message.event.alarmId;
  }
}

function messageOf(alarm: string, health: boolean): ProvenMessage {
  return proven({ alarmId: alarm, eventClass: health ? 'health' : 'security' });
}

const at = fc.nat(1);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  may(18, 'accept', { at, alarm: one('', 'a', 'a', 'b'), health: fc.boolean() }),
  may(14, 'settle', { at, which: fc.nat(9), action: one('done', 'done', 'retry', 'reject', 'extend') }),
  may(14, 'store', { at, fault: one('none', 'none', 'refused', 'reopened', 'lost') }),
  may(18, ['stall', 'reap', 'reap', 'wake', 'wake', 'poll'], { at }),
  may(10, ['pause', 'resume', 'resume', 'end', 'attach'], { at }),
  may(20, ['turn', 'round', 'round']),
  may(8, 'wait', { time: one(1, 1000, 5000, LEASE, LEASE) }),
);

describe('two instances of an inbox', () => {
  holdsWhateverHappens('lose, double and forget nothing between them, whatever happens', {
    deed,
    begin: [
      { do: 'resume', at: 0 },
      { do: 'resume', at: 1 },
    ],
    open: (terms) => {
      const file = new SharedFile();
      return { model: new SharedModel(file, terms), close: () => file.close() };
    },
  });
});
