import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { ProvenMessage } from '../../lib/message/record';
import type { CallName, StoreCalls, StorePort } from '../../lib/inbox/store/port';
import { inboxIn } from '../support/inbox/folders';
import { visits } from '../support/inbox/hooked-inbox';
import { ENDPOINT, proven, Taker } from './samples';

type Answers = { [Name in CallName]?: (take: StoreCalls[Name]['take']) => StoreCalls[Name]['give'] };

/** Leases whatever comes, and keeps nothing: what is counted is the work of the queue alone. */
class LeasingStore implements StorePort {
  #last = 0;
  delivered = 0;
  givenBack = 0;
  readonly #answers: Answers = {
    accept: ({ lease }) => {
      this.#last += 1;
      return {
        outcome: 'new',
        deliveryId: `delivery ${this.#last}`,
        sequence: this.#last,
        first: true,
        ended: false,
        leased: lease !== 'no',
      };
    },
    lease: () => [],
    leased: () => [],
    giveBack: ({ unsent, cutOff }) => {
      this.givenBack += unsent.length + cutOff.length;
      return unsent.length + cutOff.length;
    },
    markDelivered: ({ length }) => void (this.delivered += length),
    finish: () => ({ was: 'leased', endpoint: ENDPOINT }),
    stateOf: () => 'leased',
    ping: () => undefined,
  };

  async call<Name extends CallName>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const answer = this.#answers[name];
    if (answer === undefined) throw new Error(`nobody should ask for ${name}`);
    return answer(take);
  }

  async close(): Promise<void> {
    // It holds nothing.
  }
}

const FEW = 100;
const MANY = 10_000;

describe('the work of the inbox for one event', () => {
  let store: LeasingStore;
  let inbox: DurableInbox;

  async function open(): Promise<void> {
    store = new LeasingStore();
    inbox = inboxIn(path.join(os.tmpdir(), 'rvm-no-inbox'), {
      open: (news) => {
        queueMicrotask(() => news.onOpened({ waiting: {}, restored: false }));
        return store;
      },
    });
    // Until it has looked for what was spilled.
    await inbox.accept(proven({}, { kind: 'other' }));
  }

  async function turns(isDone: () => boolean): Promise<void> {
    while (!isDone()) await new Promise((resolve) => setImmediate(resolve));
  }

  async function acceptMany(count: number): Promise<void> {
    // Of one alarm they would wait for each other.
    const message = (number: number): ProvenMessage =>
      proven({ eventClass: 'health', alarmId: `alarm ${number}` });
    for (let i = 0; i < count; i += 1) void inbox.accept(message(i));
    await inbox.accept(message(count));
  }

  /** How often in all, with a window of so many events. */
  async function counted(
    count: number,
    terms: ConstructorParameters<typeof Taker>[1],
    work: (taker: Taker) => Promise<void>,
  ): Promise<number> {
    await open();
    // So wide that none has to wait, also while half of it is for what may wait in the store.
    const taker = new Taker(inbox, { maxInFlight: count * 3, ...terms });
    const visited = await visits(() => work(taker));
    await inbox.close();
    return visited;
  }

  const settleAll = async ({ deliveries }: Taker): Promise<void> => {
    for (const action of ['extend', 'done'] as const)
      for (const { deliveryId } of deliveries) await inbox.settle(deliveryId, { action });
  };
  const end = async ({ consumption }: Taker, events: number): Promise<void> => {
    await consumption.end();
    assert.equal(store.givenBack, events + 1);
  };
  const marked = (_taker: Taker, events: number): Promise<void> => turns(() => store.delivered > events);
  for (const [what, handledWhen, waits, act] of [
    ['come in one go, and are handled once they are sent', 'sent', true, marked],
    ['wait for their settlement', 'settled', true, settleAll],
    ['are given back before the flow had them', 'settled', false, end],
    ['are given back when the flow has them', 'settled', true, end],
  ] as const)
    it(`does not grow with those that ${what}`, async () => {
      const count = (events: number): Promise<number> =>
        counted(events, { handledWhen }, async (taker) => {
          await acceptMany(events);
          if (waits) await turns(() => taker.deliveries.length > events);
          assert.equal(taker.deliveries.length, waits ? events + 1 : 0);
          await act(taker, events);
        });
      const few = await count(FEW);
      const many = await count(MANY);
      // As many for each event, give or take a half.
      assert.ok(many / MANY < (few / FEW) * 1.5 + 1, `${few} of ${FEW}, ${many} of ${MANY}`);
    });
});
