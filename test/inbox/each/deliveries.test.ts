import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { backOff } from '../../../lib/inbox/queue/delivery-window';
import type { ProvenMessage } from '../../../lib/message/record';
import { uncertainProblem } from '../../../lib/webhook/problem';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { MovableTimers } from '../../support/time/virtual-time';
import { assertPause, eventually, PATIENCE } from '../../support/time/patience';
import { allSettled, ENDPOINT, idOf, proven, Taker } from '../samples';

let inbox: TestedInbox;

/** Accepts them one after the other. */
async function accept(...messages: ProvenMessage[]): Promise<string[]> {
  const ids: string[] = [];
  for (const message of messages) ids.push((await inbox.accept(message)).deliveryId);
  return ids;
}

inEachStore('deliveries of the inbox', (open) => {
  beforeEach(async () => (inbox = await open()));

  it('keep events for a consumer that comes afterwards, in order of acceptance, also of those that come at once', async () => {
    const [first, ...others] = Array.from({ length: 100 }, () => proven());
    await accept(first ?? proven());
    await Promise.all(others.map((message) => accept(message)));
    await eventually(() => inbox.waiting(ENDPOINT) === 100, 'the count of them');
    const taker = new Taker(inbox);
    await taker.came(100);
    assert.deepEqual(taker.ids.slice(1), others.map(idOf));
    await eventually(() => inbox.waiting(ENDPOINT) === 0, 'none to be counted');
    await allSettled(inbox);
  });

  it('bring security before health, whichever came first', async () => {
    const messages = ['health', 'security', 'weather'].map((eventClass) => proven({ eventClass }));
    await accept(...messages);
    const taker = new Taker(inbox);
    await taker.came(3);
    const [health, ...others] = messages.map(idOf);
    assert.deepEqual(taker.ids, [...others, health]);
  });

  it('go to the consumer of now', async () => {
    const former = new Taker(inbox);
    const later = new Taker(inbox);
    await later.takes();
    assert.deepEqual(former.ids, []);
    void former.consumption.end();
    await later.takes();
  });

  it('hold the exact content of the event, over the store too', async () => {
    const message = proven({ eventName: 'Ærø 港', extra: { nested: [1, '1e400'] } });
    await accept(message);
    const taker = new Taker(inbox);
    await taker.came(1);
    const { body, ...rest } = taker.deliveries[0]?.message ?? assert.fail();
    const { body: sent, ...accepted } = message;
    assert.deepEqual(rest, accepted);
    assert.deepEqual(Buffer.from(body), sent);
  });

  it('count as handled a moment after they were sent, and only then', async () => {
    const taker: Taker = new Taker(inbox, {
      deliver: () => {
        void taker.consumption.end();
        return true;
      },
    });
    const [deliveryId] = await accept(proven());
    await eventually(() => inbox.waiting(ENDPOINT) === 1, 'the event to be given back');
    const next = new Taker(inbox);
    await next.came(1);
    const [again] = next.deliveries;
    assert.deepEqual([again?.deliveryId, again?.attempt, again?.again], [deliveryId, 2, 'restart']);
    await allSettled(inbox);
  });

  it('come all again, of those sent in one go, where the consumer ended with the last of them', async () => {
    await accept(proven(), proven());
    const sent: string[] = [];
    const taker: Taker = new Taker(inbox, {
      deliver: ({ deliveryId }) => {
        if (sent.push(deliveryId) === 2) void taker.consumption.end();
        return true;
      },
    });
    await eventually(() => sent.length === 2 && inbox.waiting(ENDPOINT) === 2, 'both to be given back');
    // Time enough for what has left to be marked.
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    const next = new Taker(inbox);
    await next.came(2);
    assert.deepEqual(
      next.deliveries.map(({ deliveryId, again }) => [deliveryId, again]),
      sent.map((deliveryId) => [deliveryId, 'restart']),
    );
    await allSettled(inbox);
  });

  it('wait while the consumer is paused, and are not further attempts', async () => {
    const taker = new Taker(inbox);
    taker.consumption.pause();
    await accept(proven(), proven());
    assert.equal(inbox.waiting(ENDPOINT), 2);
    assert.deepEqual(taker.ids, []);
    taker.consumption.resume();
    await taker.came(2);
    assert.ok(taker.deliveries.every(({ attempt }) => attempt === 1));
  });

  it('count as handled where nothing waits for them in the flow', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled', deliver: () => false });
    await accept(proven());
    await allSettled(inbox);
    assert.deepEqual(taker.dead, []);
  });

  it('go on after a consumer that threw', async () => {
    let calls = 0;
    const lines: unknown[] = [];
    await inbox.close();
    inbox = await open({ log: (news) => lines.push(news) });
    const taker = new Taker(inbox, {
      deliver: () => {
        calls += 1;
        throw new Error('secret content');
      },
    });
    const ids = await accept(proven(), proven());
    await allSettled(inbox);
    assert.equal(calls, 2);
    assert.deepEqual(taker.dead, []);
    assert.match(JSON.stringify(lines), new RegExp(ids[0] ?? ''));
    assert.doesNotMatch(JSON.stringify(lines), /secret content/);
  });

  for (const how of ['one after the other', 'at once'] as const)
    it(`C-66 know the first event of an alarm, and what comes after its end, where they come ${how}`, async () => {
      const taker = new Taker(inbox);
      const end = { eventEndTime: '2026-03-04T05:06:07' };
      const long = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join();
      const messages = [
        proven({ alarmId: 'a' }),
        proven({ alarmId: 'a', ...end }),
        proven({ alarmId: 'a' }),
        proven({ alarmId: 'b' }),
        proven({ alarmId: 'a' }, { stationKey: 'south' }),
        proven({ alarmId: '' }),
        proven({ alarmId: long }),
        proven({ alarmId: long }),
        proven({ alarmId: `${long}!` }),
        proven({ alarmId: 'a' }),
      ];
      if (how === 'at once') await Promise.all(messages.map((message) => accept(message)));
      else await accept(...messages);
      await eventually(() => taker.ids.length === messages.length, 'all deliveries');
      const marks = taker.deliveries.map(({ first, ended }) => (first ? 'first' : ended ? 'ended' : 'more'));
      assert.equal(marks.join(' '), 'first more ended first first first first more first ended');
    });

  it('leave nothing behind that seems to wait, when the consumer changes while they are marked', async () => {
    for (let change = 0; change < 20; change += 1) {
      const taker = new Taker(inbox);
      await accept(proven(), proven());
      await eventually(() => taker.ids.length >= 2, 'the deliveries');
      for (let turn = 0; turn < change % 5; turn += 1) await nextTurn();
      await taker.consumption.end();
    }
    const last = new Taker(inbox);
    await last.takes();
    await allSettled(inbox);
    assert.equal(inbox.waiting(ENDPOINT), 0);
  });

  it('C-78 are one for each of many messages, though each comes three times', async () => {
    const taker = new Taker(inbox);
    const messages = Array.from({ length: 500 }, () => proven());
    const sent = [...messages, ...messages.toReversed(), ...messages];
    const outcomes = await Promise.all(sent.map(async (message) => (await inbox.accept(message)).outcome));
    assert.equal(outcomes.filter((outcome) => outcome === 'new').length, 500);
    await eventually(() => taker.ids.length >= 500, 'all deliveries');
    await allSettled(inbox);
    assert.equal(new Set(taker.ids).size, 500);
    assert.equal(taker.ids.length, 500);
  });
});

inEachStore('events that have to be settled', (open) => {
  const LEASE = 60;
  beforeEach(async () => (inbox = await open()));

  const settled = { handledWhen: 'settled', redeliverAfter: LEASE } as const;
  const patient = { handledWhen: 'settled' } as const;
  const idsIn = async (state: 'settled'): Promise<string[]> =>
    (await inbox.list({ state, limit: 9 })).messages.map(({ deliveryId }) => deliveryId);

  it('are done when the flow says so, once and for all', async () => {
    const taker = new Taker(inbox, settled);
    const { deliveryId } = await taker.takes();
    for (const action of ['done', 'done', 'reject', 'retry', 'extend'] as const) {
      assert.equal(await inbox.settle(deliveryId, { action }), true);
      assert.deepEqual(await idsIn('settled'), [deliveryId]);
    }
    assert.deepEqual(taker.dead, []);
    const [row = assert.fail()] = (await inbox.list({ state: 'all', limit: 9 })).messages;
    assert.equal('reason' in row, false);
  });

  it('are unknown by an id that is none of theirs', async () => {
    for (const action of ['done', 'reject', 'retry', 'extend'] as const) {
      assert.equal(await inbox.settle('no such id', { action }), false);
    }
  });

  it('C-132 come again a second after their lease has ended, under the same id, as uncertain', async () => {
    const taker = new Taker(inbox, settled);
    await inbox.accept(proven());
    const from = performance.now();
    await taker.came(2);
    assertPause(performance.now() - from, LEASE + 1000);
    const [first = assert.fail(), second = assert.fail()] = taker.deliveries;
    assert.deepEqual(second, { ...first, attempt: 2, again: 'lease', message: second.message });
    assert.deepEqual([first.attempt, uncertainProblem(first)], [1, undefined]);
    const { kind, reason, deliveryId, messageId, event } = uncertainProblem(second) ?? assert.fail();
    assert.deepEqual([kind, reason, deliveryId], ['uncertain', 'lease', first.deliveryId]);
    assert.deepEqual([messageId, event], [taker.ids[0], first.message.event]);
  });

  it('C-132 wait longer and longer: 1 s, 5 s, 30 s, 2 min, then every 10 min', () => {
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 60].map((attempts) => backOff(attempts) / 1000),
      [1, 5, 30, 120, 600, 600, 600],
    );
  });

  it('C-132 are dead letters after so many attempts, which can be had again, and ended', async () => {
    const taker = new Taker(inbox, { ...settled, maxAttempts: 2 });
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    assert.equal(taker.ids.length, 2);
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'attempts', note: undefined }]);
    const [row] = (await inbox.list({ state: 'dead', limit: 9 })).messages;
    assert.deepEqual([row?.deliveryId, row?.attempts, row?.state], [deliveryId, 2, 'dead']);
    assert.deepEqual([row?.reason, row?.canRetry], ['attempts', true]);
    assert.equal(await inbox.settle(deliveryId, { action: 'retry' }), true);
    await taker.came(3);
    assert.deepEqual([taker.deliveries[2]?.attempt, taker.deliveries[2]?.again], [3, 'retry']);
    await eventually(() => taker.dead.length === 2, 'the next death');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    assert.deepEqual(await idsIn('settled'), [deliveryId]);
  });

  it('are dead letters for good where the flow rejects them, with its reason', async () => {
    const taker = new Taker(inbox, patient);
    const { deliveryId } = await taker.takes();
    await inbox.settle(deliveryId, { action: 'reject', note: 'no such zone' });
    for (const action of ['retry', 'done'] as const) await inbox.settle(deliveryId, { action });
    assert.deepEqual(taker.dead, [{ deliveryId, reason: 'rejected', note: 'no such zone' }]);
    const [row, ...others] = (await inbox.list({ state: 'dead', limit: 9 })).messages;
    assert.deepEqual([row?.deliveryId, row?.reason, others], [deliveryId, 'rejected', []]);
  });

  it('have more time where the flow wants it', async () => {
    const timers = new MovableTimers();
    timers.start();
    try {
      const taker = new Taker(inbox, { ...settled, redeliverAfter: 60_000 });
      const { deliveryId } = await inbox.accept(proven());
      const other = proven();
      await inbox.accept(other);
      await taker.came(2);
      for (let turn = 0; turn < 2; turn += 1) {
        timers.advance(40);
        assert.equal(await inbox.settle(deliveryId, { action: 'extend' }), true);
      }
      await taker.came(3);
      assert.equal(taker.ids[2], other.envelope.messageId);
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    } finally {
      timers.stop();
    }
  });

  it('come again a second after the flow asked for it, which is not uncertain, however often a node that works on them wants more time; then the next of their alarm', async () => {
    const taker = new Taker(inbox, { ...patient, redeliverAfter: 300_000 });
    const { deliveryId } = await inbox.accept(proven({ alarmId: 'a' }));
    const { deliveryId: next } = await inbox.accept(proven({ alarmId: 'a' }));
    await taker.came(1);
    const from = performance.now();
    await inbox.settle(deliveryId, { action: 'retry' });
    await eventually(async () => {
      await inbox.settle(deliveryId, { action: 'extend' });
      return taker.ids.length === 2;
    }, 'the second delivery');
    assertPause(performance.now() - from, 1000);
    const [, second = assert.fail()] = taker.deliveries;
    assert.deepEqual([second.attempt, second.again], [2, 'retry']);
    assert.equal(uncertainProblem(second), undefined);
    await inbox.settle(deliveryId, { action: 'done' });
    await eventually(() => taker.deliveries[2]?.deliveryId === next, 'the next of its alarm');
  });

  it('of one alarm come one after the other, each when the former is settled', async () => {
    const taker = new Taker(inbox, patient);
    const ids = await accept(...['a', 'a', 'a', 'b'].map((alarmId) => proven({ alarmId })));
    const came = () => taker.deliveries.map(({ deliveryId }) => ids.indexOf(deliveryId));
    await taker.came(2);
    assert.deepEqual(came(), [0, 3]);
    await inbox.settle(ids[0] ?? '', { action: 'done' });
    await taker.came(3);
    await inbox.settle(ids[1] ?? '', { action: 'reject' });
    await taker.came(4);
    assert.deepEqual(came(), [0, 3, 1, 2]);
    assert.equal(inbox.waiting(ENDPOINT), 0);
  });

  it('of one alarm come one after the other also where a dead letter is wanted again while a later one is at work', async () => {
    const taker = new Taker(inbox, { ...patient, maxAttempts: 1 });
    const ids: string[] = [];
    const send = async (alarmId: string) => ids.push((await inbox.accept(proven({ alarmId }))).deliveryId);
    const delivered = () => taker.deliveries.map(({ deliveryId }) => ids.indexOf(deliveryId));
    await send('a');
    await send('a');
    await eventually(() => delivered().length === 1, 'the first');
    await inbox.settle(ids[0] ?? '', { action: 'retry' });
    await eventually(() => delivered().length === 2, 'the second, once the first is dead');
    await inbox.settle(ids[0] ?? '', { action: 'retry' });
    await send('b');
    await eventually(() => delivered().includes(2), 'one of another alarm');
    assert.deepEqual(delivered(), [0, 1, 2]);
    await inbox.settle(ids[1] ?? '', { action: 'done' });
    await eventually(() => delivered().length === 4, 'the dead letter');
    assert.deepEqual(delivered(), [0, 1, 2, 0]);
  });

  it('of one alarm that share it by the hundred do not stop others', async () => {
    const taker = new Taker(inbox, patient);
    await Promise.all(Array.from({ length: 300 }, () => inbox.accept(proven({ alarmId: 'shared' }))));
    const other = proven({ alarmId: 'other' });
    await inbox.accept(other);
    await eventually(() => taker.ids.includes(idOf(other)), 'the other alarm');
    assert.equal(taker.ids.length, 2);
  });

  it('fill the window, which is told once, and the rest waits in the inbox', async () => {
    const taker = new Taker(inbox, { ...patient, maxInFlight: 2 });
    const ids = await accept(proven(), proven(), proven(), proven(), proven());
    await taker.came(2);
    assert.equal(taker.blocked.length, 1);
    assert.equal(inbox.waiting(ENDPOINT), 3);
    await inbox.settle(ids[0] ?? '', { action: 'done' });
    await taker.came(3);
    for (const id of ids) await inbox.settle(id, { action: 'done' });
    await allSettled(inbox);
    assert.equal(inbox.waiting(ENDPOINT), 0);
    assert.equal(taker.blocked.length, 1);
    for (let i = 0; i < 3; i += 1) await inbox.accept(proven());
    await eventually(() => taker.blocked.length === 2, 'the next time that it is full');
  });

  it('of class health leave room for an alarm, however many of them are unsettled', async () => {
    const taker = new Taker(inbox, { ...patient, maxInFlight: 20 });
    for (let i = 0; i < 30; i += 1) await inbox.accept(proven({ eventClass: 'health' }));
    await taker.came(18);
    await eventually(() => taker.blocked.length === 1, 'the word about it');
    const alarm = proven();
    await inbox.accept(alarm);
    await eventually(() => taker.ids.includes(alarm.envelope.messageId), 'the alarm');
    assert.equal(taker.ids.length, 19);
    for (const { deliveryId } of taker.deliveries) await inbox.settle(deliveryId, { action: 'done' });
    await taker.came(31);
  });

  it('stay with the flow while only the consumer pauses, and can be settled there', async () => {
    const taker = new Taker(inbox, patient);
    const { deliveryId } = await taker.takes();
    taker.consumption.pause();
    taker.consumption.resume();
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    await allSettled(inbox);
    assert.equal(taker.ids.length, 1);
  });

  it('C-76 come to the next consumer again; what a restart cut off does not count as an attempt', async () => {
    const { deliveryId } = await inbox.accept(proven());
    for (let restart = 1; restart <= 3; restart += 1) {
      const taker = new Taker(inbox, { ...settled, maxAttempts: 1 });
      await taker.came(1);
      const [{ attempt, again } = assert.fail()] = taker.deliveries;
      assert.deepEqual([attempt, again], [restart, restart === 1 ? undefined : 'restart']);
      void taker.consumption.end();
    }
    const last = new Taker(inbox, { ...settled, maxAttempts: 1 });
    await eventually(() => last.dead.length === 1, 'the dead letter');
    assert.deepEqual(last.dead[0]?.deliveryId, deliveryId);
  });

  it('go first to the next consumer although the store failed to take them back', async () => {
    const first = await inbox.accept(proven());
    await inbox.accept(proven());
    const narrow = { ...settled, redeliverAfter: PATIENCE, maxInFlight: 1 };
    const taker = new Taker(inbox, narrow);
    await taker.came(1);
    inbox.fails = true;
    await taker.consumption.end();
    inbox.fails = false;
    const next = new Taker(inbox, narrow);
    await inbox.accept(proven());
    await next.came(1);
    assert.equal(next.deliveries[0]?.deliveryId, first.deliveryId);
  });

  it('can be settled while no consumer has them', async () => {
    const { deliveryId } = await inbox.accept(proven());
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    assert.equal(inbox.waiting(ENDPOINT), 0);
    const taker = new Taker(inbox, patient);
    const next = proven();
    await inbox.accept(next);
    await eventually(() => taker.ids.length > 0, 'the next one');
    assert.deepEqual(taker.ids, [idOf(next)]);
  });
});
