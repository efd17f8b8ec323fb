import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ASK_AGAIN_AFTER } from '../../lib/inbox/queue/back-off';
import type { InboxNews } from '../../lib/inbox/store-health';
import { InlineInbox } from '../support/inbox/each-store';
import { slowIt } from '../support/suite/lanes';
import { eventually } from '../support/time/patience';
import { proven, Taker } from './samples';

describe('an inbox whose store fails', () => {
  let folder: string;
  let inbox: InlineInbox;
  let news: InboxNews[];
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    news = [];
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20, log: (line) => news.push(line) });
    await eventually(() => inbox.state().durable === true, 'the store to be open');
  });
  afterEach(async () => {
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const kinds = () => news.map(({ kind }) => kind);
  const isEmpty = (): boolean => fs.readdirSync(folder).length === 0;
  const rows = () => {
    const { store } = inbox;
    return store.transaction(() => store.work.list({ state: 'all', limit: 1000 }));
  };

  it('C-125 hands what it spills to the flow at once, in order, and takes it in when the store works again', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = Array.from({ length: 30 }, () => proven());
    for (const message of messages) assert.equal((await inbox.accept(message)).outcome, 'new');
    assert.deepEqual(inbox.state(), { durable: false, fault: 'the disk is gone', spilled: 30 });
    await eventually(() => taker.ids.length === 30, 'all deliveries');
    assert.deepEqual(
      taker.ids,
      messages.map(({ envelope }) => envelope.messageId),
    );
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true && isEmpty(), 'the end of the fault');
    await eventually(() => kinds().includes('read-back'), 'the end of reading back');
    assert.deepEqual(kinds(), ['fault', 'spilling', 'read-back', 'back']);
    await eventually(() => rows().every(({ state }) => state === 'delivered'), 'the state that they have');
    assert.deepEqual(
      rows()
        .map(({ deliveryId }) => deliveryId)
        .toSorted(),
      taker.deliveries.map(({ deliveryId }) => deliveryId).toSorted(),
    );
    assert.equal(taker.ids.length, 30);
  });

  it('tells each consumer once where neither store nor spill folder takes anything, and that it is over', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder: path.join(__filename, 'spill') });
    for (const message of [proven(), proven()])
      await assert.rejects(inbox.accept(message), { code: 'STORE_FAILED' });
    assert.deepEqual(taker.incidents, [{ kind: 'refuses', reason: 'the disk is gone' }]);
    inbox.fails = false;
    await eventually(() => taker.incidents.length === 2, 'the end');
    assert.deepEqual(taker.incidents.at(-1), { kind: 'takes' });
    assert.deepEqual(inbox.state(), { durable: true });
    assert.equal((await inbox.accept(proven())).outcome, 'new');
  });

  it('goes on in a spill folder that was removed with all that is in it', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name), { recursive: true });
    assert.equal((await inbox.accept(proven())).outcome, 'new');
    await eventually(() => taker.ids.length === 2, 'both');
    assert.equal(fs.readdirSync(folder).length, 1);
  });

  it('says of an event that it is in no inbox, and that it may come twice where known ids cannot be read', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    inbox.isReadable = true;
    await inbox.accept(proven());
    await eventually(() => taker.ids.length === 2, 'both');
    const told = taker.deliveries.map(({ sequence, first, ended, message: { warnings } }) => [
      sequence,
      first,
      ended,
      warnings,
    ]);
    assert.deepEqual(told, [
      [null, null, null, ['not-in-inbox', 'may-repeat']],
      [null, true, false, ['not-in-inbox']],
    ]);
  });

  it('tells of the first message that is spilled, and once when all are in the inbox, how many there were', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
    assert.deepEqual(taker.spells, [{ count: 1, isOver: false }]);
    inbox.fails = false;
    await eventually(() => taker.spells.length > 1, 'the end');
    assert.deepEqual(taker.spells, [
      { count: 1, isOver: false },
      { count: 3, isOver: true },
    ]);
  });

  it('knows repeats and conflicts of what it spilled', async () => {
    const taker = new Taker(inbox);
    const message = proven();
    const conflict = proven({ eventName: 'Another' }, { messageId: message.envelope.messageId });
    inbox.fails = true;
    const outcomes = [];
    for (const each of [message, message, conflict]) outcomes.push((await inbox.accept(each)).outcome);
    assert.deepEqual(outcomes, ['new', 'repeat', 'conflict']);
    inbox.fails = false;
    await eventually(isEmpty, 'the spill folder to be empty');
    assert.equal((await inbox.accept(message)).outcome, 'repeat');
    assert.equal((await inbox.accept(conflict)).outcome, 'repeat');
    assert.deepEqual(taker.ids, [message.envelope.messageId]);
  });

  it('knows a repeat of what it stored before, where it can read but not write', async () => {
    const taker = new Taker(inbox);
    const message = proven();
    const { deliveryId } = await inbox.accept(message);
    inbox.fails = true;
    inbox.isReadable = true;
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
    await eventually(() => taker.ids.length === 1, 'the first');
    assert.deepEqual(taker.spells, []);
  });

  it('leases, delivers again and gives up while the store fails', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 2 });
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    assert.deepEqual(
      taker.deliveries.map(({ attempt, again }) => [attempt, again]),
      [
        [1, undefined],
        [2, 'lease'],
      ],
    );
    inbox.fails = false;
    await eventually(isEmpty, 'the spill folder to be empty');
    assert.deepEqual(
      rows().map(({ deliveryId: id, state, attempt }) => [id, state, attempt]),
      [[deliveryId, 'dead', 2]],
    );
  });

  it('lets the flow go on with an event that enters the inbox meanwhile, under the same id', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    inbox.fails = false;
    await eventually(isEmpty, 'the spill folder to be empty');
    assert.deepEqual(
      rows().map(({ state }) => state),
      ['leased'],
    );
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    assert.deepEqual(
      rows().map(({ state }) => state),
      ['delivered'],
    );
    assert.equal(taker.ids.length, 1);
  });

  it('hands over one event of an alarm after the other, also where the former is in the inbox', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const inside = await inbox.accept(proven({ alarmId: 'a' }));
    await eventually(() => taker.ids.length === 1, 'the first');
    inbox.fails = true;
    const beside = await inbox.accept(proven({ alarmId: 'a' }));
    const other = await inbox.accept(proven({ alarmId: 'b' }));
    await inbox.accept(proven({ alarmId: 'a' }));
    await eventually(() => taker.ids.length === 2, 'the other alarm');
    assert.equal(taker.deliveries[1]?.deliveryId, other.deliveryId);
    await inbox.settle(inside.deliveryId, { action: 'done' });
    await eventually(() => taker.ids.length === 3, 'the second of the alarm');
    assert.equal(taker.deliveries[2]?.deliveryId, beside.deliveryId);
    await inbox.settle(beside.deliveryId, { action: 'done' });
    await eventually(() => taker.ids.length === 4, 'the third of the alarm');
  });

  slowIt(
    'lets one that it could not tell to come again wait for the one of its alarm that has overtaken it',
    async () => {
      const taker = new Taker(inbox, { handledWhen: 'settled' });
      const inside = await inbox.accept(proven({ alarmId: 'a' }));
      await eventually(() => taker.ids.length === 1, 'the first');
      await inbox.settle(inside.deliveryId, { action: 'retry' });
      inbox.fails = true;
      const beside = await inbox.accept(proven({ alarmId: 'a' }));
      await eventually(() => taker.ids.length === 2, 'the second, once the pause of the first is over');
      assert.equal(taker.deliveries[1]?.deliveryId, beside.deliveryId);
      inbox.fails = false;
      await eventually(() => inbox.state().spilled === undefined, 'all in the inbox');
      // Once more than the store would have been asked whether it may come again.
      await delay(2 * ASK_AGAIN_AFTER);
      assert.equal(taker.ids.length, 2);
      await inbox.settle(beside.deliveryId, { action: 'done' });
      await eventually(() => taker.ids.length === 3, 'the first again');
      assert.deepEqual(
        [taker.deliveries[2]?.deliveryId, taker.deliveries[2]?.again],
        [inside.deliveryId, 'retry'],
      );
    },
  );

  it('keeps what the flow says of an event in the inbox, and tells it once the store works', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the event');
    inbox.fails = true;
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    inbox.fails = false;
    await eventually(() => rows().every(({ state }) => state === 'delivered') && isEmpty(), 'the end');
    assert.equal(taker.ids.length, 1);
  });

  it('rejects what it can neither store nor spill, and says why', async () => {
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder: path.join(process.execPath, 'spill') });
    inbox.fails = true;
    await assert.rejects(inbox.accept(proven()), {
      code: 'STORE_FAILED',
      message: /the disk is gone; neither can it spill: /,
    });
  });

  it('takes in what was spilled elsewhere before its setting changed', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder: path.join(folder, 'another') });
    await inbox.accept(proven());
    inbox.fails = false;
    await eventually(() => rows().length === 2, 'both');
    assert.equal(taker.ids.length, 2);
  });

  it('takes in what it spilled in the order of receipt, so that the end of an alarm is not its beginning', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    inbox.fails = true;
    const [begin, end] = [
      proven({ alarmId: 'A', eventEndTime: null }),
      proven({ alarmId: 'A', eventEndTime: '2026-03-04T05:06:09Z' }),
    ];
    await inbox.accept(begin);
    await eventually(() => taker.ids.length === 1, 'the beginning');
    // What is settled has to be read again to enter; the end is still in memory.
    await inbox.settle(String(taker.deliveries[0]?.deliveryId), { action: 'done' });
    await inbox.accept(end);
    inbox.fails = false;
    await eventually(() => isEmpty() && rows().length === 2, 'both in the inbox');
    const isFirst = new Map(rows().map(({ id, first }) => [id, first]));
    assert.deepEqual(
      [begin, end].map(({ envelope }) => isFirst.get(envelope.messageId)),
      [true, false],
    );
  });

  it('says of an event that waited in the inbox meanwhile that its alarm has ended, where the end went before it', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', maxInFlight: 1 });
    const other = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 1, 'the one that fills the window');
    await inbox.accept(proven({ alarmId: 'A', eventEndTime: null }));
    inbox.fails = true;
    const end = await inbox.accept(proven({ alarmId: 'A', eventEndTime: '2026-03-04T05:06:09Z' }));
    await inbox.settle(other.deliveryId, { action: 'done' });
    await eventually(() => taker.ids.length === 2, 'the end');
    assert.equal(taker.deliveries[1]?.deliveryId, end.deliveryId);
    await inbox.settle(end.deliveryId, { action: 'done' });
    inbox.fails = false;
    await eventually(() => taker.ids.length === 3, 'the beginning');
    assert.deepEqual([taker.deliveries[2]?.first, taker.deliveries[2]?.ended], [true, true]);
  });

  it('keeps the order of one alarm: what arrives while something is spilled does not overtake it', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = [proven({ alarmId: 'a' }), proven({ alarmId: 'a' })];
    await inbox.accept(messages[0] ?? proven());
    inbox.fails = false;
    await inbox.accept(messages[1] ?? proven());
    await eventually(() => taker.ids.length === 2, 'both');
    assert.deepEqual(
      taker.ids,
      messages.map(({ envelope }) => envelope.messageId),
    );
  });

  it('spills what a slow store does not take in time, and delivers it once all the same', async () => {
    await inbox.close();
    inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20, spillAfter: 0 });
    const taker = new Taker(inbox);
    const message = proven();
    await eventually(() => inbox.state().durable === true, 'the store to be open');
    await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the delivery');
    await eventually(isEmpty, 'the spill folder to be empty');
    await eventually(() => rows().every(({ state }) => state === 'delivered'), 'its end');
    assert.equal(rows().length, 1);
    assert.deepEqual(taker.ids, [message.envelope.messageId]);
  });

  for (const handledWhen of ['sent', 'settled'] as const) {
    it(`delivers once what the store has taken, and answered too late, and has it once, with events that are ${handledWhen}`, async () => {
      await inbox.close();
      inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20, spillAfter: 30 });
      const taker = new Taker(inbox, { handledWhen });
      await eventually(() => inbox.state().durable === true, 'the store to be open');
      // So that the next one is leased as it is stored.
      const first = await inbox.accept(proven());
      await eventually(() => taker.ids.length === 1, 'the first');
      await inbox.settle(first.deliveryId, { action: 'done' });
      const late = inbox.answersLate();
      const { outcome, deliveryId } = await inbox.accept(proven());
      assert.equal(outcome, 'new');
      await eventually(() => taker.ids.length === 2, 'the event');
      late.answer();
      await eventually(() => inbox.state().durable === true && isEmpty(), 'its end');
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
      await eventually(() => rows().every(({ state }) => state === 'delivered'), 'the end of both');
      assert.deepEqual([rows().length, taker.ids.length, inbox.waiting('webhook-in')], [2, 2, 0]);
    });
  }
});
