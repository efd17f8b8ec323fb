import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fail, hookedInboxes, type HookedInbox } from '../support/inbox/hooked-inbox';
import { InlineInbox } from '../support/inbox/each-store';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('what a flow says of an event while the store fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  let taker: Taker;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20 });
    taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const stateOf = (deliveryId: string) => {
    const { store } = inbox;
    return store.transaction(() => store.work.stateOf(deliveryId));
  };

  it('tells of the dead letter that a rejection makes of an event in the inbox', async () => {
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    inbox.fails = true;
    assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'no such panel' }), true);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'no such panel' }]);
    inbox.fails = false;
    await eventually(() => stateOf(deliveryId) === 'dead', 'its end in the inbox');
    assert.equal(taker.dead.length, 1);
  });

  it('is in the history of an event that was kept beside the inbox, with what a person found, once it has entered', async () => {
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    await inbox.settle(deliveryId, { action: 'retry' }, { user: 'anna' });
    await eventually(() => taker.ids.length === 2, 'the next delivery');
    const finding = { verdict: 'false', note: 'a cat' } as const;
    await inbox.settle(deliveryId, { action: 'done', finding }, { node: { id: '1a', name: 'panel' } });
    const query = { state: 'all', deliveryId, history: true, limit: 1 } as const;
    const steps = async (): Promise<unknown[]> => {
      const { messages } = await inbox.list(query);
      return (messages[0]?.history ?? []).map(({ step, by, verdict }) => by ?? verdict ?? step);
    };
    const known = ['received', 'delivered', 'anna', 'delivered', 'panel', 'false'];
    assert.deepEqual(new Set(await steps()), new Set(known), 'beside it');
    inbox.fails = false;
    await eventually(() => stateOf(deliveryId) === 'delivered', 'its end in the inbox');
    const inside = await steps();
    assert.deepEqual([inside.length, new Set(inside)], [known.length, new Set(known)]);
    assert.equal((await inbox.list(query)).messages[0]?.verdict, 'false');
  });

  const spillTo = (spillFolder: string): void =>
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder });
  /** Nothing can be spilled from now on. */
  const spillNowhere = (): Promise<void> => {
    spillTo(path.join(process.execPath, 'spill'));
    const isRefused = () =>
      inbox.accept(proven({}, { endpointId: 'another' })).then(
        () => false,
        () => true,
      );
    return eventually(isRefused, 'the end of the former file');
  };

  it('says STORE_FAILED where that can neither be stored nor spilled, and takes it when it is said again', async () => {
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    await spillNowhere();
    for (const action of ['done', 'reject'] as const)
      await assert.rejects(inbox.settle(deliveryId, { action }), {
        code: 'STORE_FAILED',
        message: /the spill folder cannot be written: /,
      });
    spillTo(folder);
    assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'twice' }), true);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'twice' }]);
    inbox.fails = false;
    await eventually(() => stateOf(deliveryId) === 'dead', 'its end in the inbox');
    assert.deepEqual([taker.dead.length, taker.ids.length], [1, 1]);
  });

  it('hands over the next event of an alarm once an end is taken that could not be written at first', async () => {
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven({ alarmId: 'A' }));
    await inbox.accept(proven({ alarmId: 'A' }));
    await eventually(() => taker.ids.length === 1, 'the first');
    await spillNowhere();
    await assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
    spillTo(folder);
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    await eventually(() => taker.ids.length === 2, 'the next of its alarm');
  });
});

describe('an event that the store leases late, when one of its alarm has gone from beside it', () => {
  const open = hookedInboxes();
  let inbox: HookedInbox;
  let taker: Taker;
  let beside: string;
  let late: string;
  /** In the order in which they come. */
  let others: string[];

  /** The end of the first could not be stored, so the third went from beside; the second was asked for before that. */
  beforeEach(async () => {
    let answer: (() => void) | undefined;
    let [leasesLate, cannotFinish] = [false, false];
    inbox = open((name, pass) => {
      if (name === 'finish' && cannotFinish) return fail();
      if (name === 'bring') return fail();
      if (name !== 'lease' || !leasesLate) return pass();
      return new Promise<void>((resolve) => (answer = resolve)).then(pass);
    });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
    taker = new Taker(inbox, { handledWhen: 'settled' });
    const first = await inbox.accept(proven({ alarmId: 'a' }));
    await eventually(() => taker.ids.length === 1, 'the first');
    leasesLate = true;
    late = (await inbox.accept(proven({ alarmId: 'a' }))).deliveryId;
    await eventually(() => answer !== undefined, 'the lease that is answered late');
    cannotFinish = true;
    await inbox.settle(first.deliveryId, { action: 'done' });
    beside = (await inbox.accept(proven({ alarmId: 'a' }))).deliveryId;
    await eventually(() => taker.ids.length === 2, 'the one beside');
    [leasesLate, cannotFinish] = [false, false];
    await eventually(() => inbox.state().durable === true, 'the store to know the end of the first');
    answer?.();
    const other = await inbox.accept(proven({ alarmId: 'b' }));
    await eventually(() => deliveryIds().includes(other.deliveryId), 'one of another alarm');
    others = [first.deliveryId, beside, other.deliveryId];
  });
  const deliveryIds = (): string[] => taker.deliveries.map(({ deliveryId }) => deliveryId);

  async function comesAfterIt(): Promise<void> {
    assert.deepEqual(deliveryIds(), others);
    await inbox.settle(beside, { action: 'done' });
    await eventually(() => taker.ids.length === 4, 'the late one');
    const { deliveryId, attempt, again } = taker.deliveries[3] ?? assert.fail();
    assert.deepEqual([deliveryId, attempt, again], [late, 1, undefined]);
  }

  it('is held until that is settled', () => comesAfterIt());

  it('goes back where the flow stops meanwhile, and that is no attempt', async () => {
    taker.consumption.pause();
    await eventually(() => inbox.waiting('webhook-in') === 1, 'it to wait in the store');
    taker.consumption.resume();
    await comesAfterIt();
  });
});
