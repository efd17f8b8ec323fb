import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { fail, type Hook, pass } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, Gate } from '../support/time/patience';
import { MovableTimers } from '../support/time/virtual-time';
import { proven, SETTLED, Taker, waitingRecord } from './samples';

/** The inbox works, and takes nothing of what was spilled. */
const refuse: Hook = (name, act) => (name === 'bring' ? fail() : act());

describe('what was spilled, on its way into the inbox', () => {
  const stand = new SpillStand();
  const open = (hook = pass, folder?: string): HookedInbox => stand.open({ hook, ...(folder && { folder }) });

  const timers = new MovableTimers();
  beforeEach(() => timers.start());
  afterEach(() => timers.stop());

  const works = (inbox: HookedInbox): Promise<void> =>
    eventually(() => inbox.state().durable === true, 'an inbox that works');
  const isInside = (inbox: HookedInbox, count: number): Promise<void> =>
    eventually(
      async () =>
        inbox.state().durable === true &&
        (await inbox.list({ state: 'all', limit: 1000 })).messages.length === count,
      `${count} events in the inbox`,
    );

  it('enters all the same where the inbox would not have it the first time', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => (name === 'bring' && (asked += 1) === 1 ? fail() : act());
    await isInside(inbox, 1);
  });

  it('stays where it is while the inbox, which works, would not have it, and goes to the flow over a restart', async () => {
    const inbox = open(fail);
    for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
    inbox.hook = refuse;
    await works(inbox);
    const next = open(undefined, inbox.image());
    const taker = new Taker(next);
    await taker.came(3);
    await isInside(next, 3);
  });

  it('is laid over no row that waits to come again, which keeps its id, its attempt and why', async () => {
    const message = proven();
    const inbox = open();
    const taker = new Taker(inbox, SETTLED);
    const { deliveryId } = await taker.takes(message);
    const next = open(fail, inbox.image());
    await next.accept(message);
    next.hook = pass;
    await isInside(next, 1);
    const again = new Taker(next, SETTLED);
    await again.came(1);
    assert.deepEqual(again.told, [[deliveryId, 2, 'restart']]);
  });

  for (const [what, hook] of [
    ['has entered it', pass],
    ['is not taken by it', refuse],
  ] as const)
    it(`is the only one of its alarm at the flow until it is settled, where it went before one that waits in the inbox, and ${what}`, async () => {
      const inbox = open();
      const taker = new Taker(inbox, SETTLED);
      const of = (alarmId: string) => proven({ alarmId });
      const [first, waiting, spilled, other] = [of('a'), of('a'), of('a'), of('b')];
      const { deliveryId } = await taker.takes(first);
      await inbox.accept(waiting);
      inbox.hook = fail;
      const { deliveryId: spilledId } = await inbox.accept(spilled);
      await inbox.settle(deliveryId, { action: 'done' });
      await taker.came(2);
      inbox.hook = hook;
      await works(inbox);
      await taker.takes(other);
      await inbox.settle(spilledId, { action: 'done' });
      await taker.came(4);
      const order = [first, spilled, other, waiting].map(({ envelope }) => envelope.messageId);
      assert.deepEqual(taker.ids, order);
    });

  it('is known while the inbox, which works, would not have it: its repeat, other content under its id, and the next of its alarm', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, SETTLED);
    const message = proven({ alarmId: 'a' });
    const { deliveryId } = await inbox.accept(message);
    inbox.hook = refuse;
    await works(inbox);
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    const { messageId } = message.envelope;
    assert.equal((await inbox.accept(proven({ alarmId: 'b' }, { messageId }))).outcome, 'conflict');
    const next = await inbox.accept(proven({ alarmId: 'a' }));
    const other = await taker.takes(proven({ alarmId: 'c' }));
    assert.deepEqual(taker.deliveryIds, [deliveryId, other.deliveryId]);
    await inbox.settle(deliveryId, { action: 'done' });
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    await taker.came(3);
    assert.equal(taker.deliveryIds[2], next.deliveryId);
  });

  it('does not come again after a kill, once the inbox was told its end', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, SETTLED);
    const { deliveryId } = await inbox.accept(proven());
    for (let count = 0; count < 100; count += 1) await inbox.accept(proven({}, { endpointId: 'another' }));
    await taker.came(1);
    let brought = 0;
    let isHeld = true;
    // The second hundred does not enter.
    inbox.hook = (name, act) => (name === 'bring' && (brought += 1) > 100 && isHeld ? fail() : act());
    await eventually(() => brought > 100, 'the first hundred');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    const next = open(undefined, inbox.image());
    isHeld = false;
    const again = new Taker(next, SETTLED);
    await isInside(next, 101);
    assert.deepEqual(again.ids, []);
  });

  it('ends where it is settled beside the inbox after a kill, though it had entered before', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let image = '';
    inbox.hook = (name, act) => {
      const given = act();
      if (name === 'bring') image = inbox.image();
      return given;
    };
    await eventually(() => image !== '', 'the kill, right after it has entered');
    const next = open(fail, image);
    const taker = new Taker(next, SETTLED);
    await taker.came(1);
    assert.equal(await next.settle(deliveryId, { action: 'done' }), true);
    next.hook = pass;
    await eventually(async () => (await stand.list('settled')).length === 1, 'its end');
    await works(next);
    assert.equal(taker.ids.length, 1);
  });

  it('goes to the flow, and is settled, while the inbox does not answer', async () => {
    const inbox = open(fail);
    const { deliveryId } = await inbox.accept(proven());
    let asked = 0;
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      asked += 1;
      return new Promise(() => undefined);
    };
    await eventually(() => asked > 0, 'the question');
    const taker = new Taker(inbox, SETTLED);
    await taker.came(1);
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
  });

  it('goes to the flow when it could not enter after all', async () => {
    const inbox = open(fail);
    await inbox.accept(proven());
    const gate = new Gate();
    let asked = 0;
    inbox.hook = async (name, act) => {
      if (name !== 'bring') return act();
      asked += 1;
      await gate.opened;
      return fail();
    };
    await eventually(() => asked > 0, 'the question');
    const taker = new Taker(inbox);
    inbox.hook = fail;
    gate.open();
    await taker.came(1);
  });

  const ENDS = (taker: Taker): Promise<void> => taker.consumption.end();
  const lapses = async (): Promise<void> => timers.advance(61);
  for (const [what, maxAttempts, act, told] of [
    ['a deploy gave it back', 9, ENDS, [2, 'restart']],
    ['its lease has ended', 9, lapses, [2, 'lease']],
    [
      'it was dead, and is wanted again',
      1,
      async ({ dead, deliveryIds: [deliveryId = ''] }: Taker, inbox: HookedInbox) => {
        await lapses();
        await eventually(() => dead.length === 1, 'the dead letter');
        await inbox.settle(deliveryId, { action: 'retry' });
      },
      [2, 'retry'],
    ],
  ] as const)
    it(`comes again where ${what} while the inbox was taking it too slowly`, async () => {
      const inbox = open();
      const taker = new Taker(inbox, { ...SETTLED, redeliverAfter: 60_000, maxAttempts });
      await works(inbox);
      inbox.hook = fail;
      const { deliveryId } = await taker.takes();
      // It takes all late: what it is asked first once it is told, and what comes then not before that is over.
      const gate = new Gate();
      let asked = 0;
      let isOver = false;
      inbox.hook = async (name, act) => {
        if (name !== 'bring' || isOver) return act();
        asked += 1;
        if (asked > 1) return new Promise(() => undefined);
        const given = act();
        await gate.opened;
        return given;
      };
      await eventually(() => inbox.state().fault?.includes('slow') === true && asked > 0, 'that it is slow');
      await act(taker, inbox);
      isOver = true;
      gate.open();
      await works(inbox);
      await taker.consumption.end();
      const next = new Taker(inbox, SETTLED);
      await eventually(() => taker.ids.length + next.ids.length === 2, 'the event again');
      assert.deepEqual([...taker.told, ...next.told][1], [deliveryId, ...told]);
    });

  it('is left where the flow of the inbox has it, whatever a former process has noted of it', () => {
    const { store } = open();
    const message = newMessage(proven());
    const deliveryId = randomUUID();
    const record = waitingRecord(message, deliveryId);
    const bring = () => store.transaction(() => store.work.bring({ record }));
    assert.equal(bring(), 1);
    const lease = { endpoint: message.endpoint, limit: 1, health: 1, ordered: false };
    assert.equal(store.transaction(() => store.work.lease(lease)).length, 1);
    assert.equal(bring(), 0);
    assert.equal(store.work.stateOf(deliveryId), 'leased');
  });
});
