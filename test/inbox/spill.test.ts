import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { ASK_AGAIN_AFTER } from '../../lib/inbox/queue/delivery-window';
import { endOfAlarm } from '../../lib/inbox/searches';
import { DISK_FULL, storeFailed } from '../../lib/inbox/store/port';
import type { ProvenMessage } from '../../lib/message/record';
import type { LocalCall } from '../../lib/inbox/store/port';
import { fail, pass } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { slowIt } from '../support/suite/lanes';
import { eventually, Gate, PATIENCE, soon } from '../support/time/patience';
import { allSettled, idOf, proven, SETTLED, Taker } from './samples';

const ENDED = '2026-03-04T05:06:09Z';
const brings = (asked: readonly string[]): number => asked.filter((name) => name === 'bring').length;
const begin = (): ProvenMessage => proven({ alarmId: 'A', eventEndTime: null });
const end = (): ProvenMessage => proven({ alarmId: 'A', eventEndTime: ENDED });

describe('an inbox whose store fails', () => {
  const stand = new SpillStand({});
  let inbox: HookedInbox;
  beforeEach(() => ({ inbox } = stand));

  const kinds = () => stand.news.map(({ kind }) => kind);
  const spillTo = (spillFolder: string): void =>
    inbox.configure({ keep: { keys: 1, bodies: 1 }, spillFolder });
  /** What is beside it is held up when it is asked this. */
  function heldSpare(held: LocalCall): { asked: Promise<void>; go: () => void } {
    const [asked, going] = [new Gate(), new Gate()];
    inbox.spareHook = (name, act) => {
      if (name !== held) return act();
      asked.open();
      return going.opened.then(act);
    };
    return { asked: asked.opened, go: () => going.open() };
  }
  const NOWHERE = path.join(process.execPath, 'spill');
  /** By message id: whether it is the first of its alarm. */
  const firsts = (): Map<string, boolean | null> => {
    const rows = inbox.store.transaction(() => inbox.store.work.list({ state: 'all', limit: 9 }));
    return new Map(rows.map(({ id, first }) => [id, first]));
  };

  it('C-125 hands what it spills to the flow at once, in order, and takes it in when the store works again', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = Array.from({ length: 30 }, () => proven());
    for (const message of messages) assert.equal((await inbox.accept(message)).outcome, 'new');
    assert.deepEqual(inbox.state(), { durable: false, fault: 'the disk is gone', spilled: 30 });
    await taker.came(30);
    assert.deepEqual(taker.ids, messages.map(idOf));
    await stand.mend();
    await eventually(() => kinds().includes('back'), 'the end of the fault');
    assert.deepEqual(kinds(), ['fault', 'spilling', 'read-back', 'back']);
    await allSettled(inbox);
    const rows = await stand.list();
    assert.ok(rows.every(({ state }) => state === 'delivered'));
    assert.deepEqual(rows.map(({ deliveryId }) => deliveryId).toSorted(), taker.deliveryIds.toSorted());
    assert.equal(taker.ids.length, 30);
  });

  it('tells each consumer once where neither store nor spill folder takes anything, and that it is over', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    spillTo(NOWHERE);
    for (const message of [proven(), proven()])
      await assert.rejects(inbox.accept(message), {
        code: 'STORE_FAILED',
        message: /the disk is gone; neither can it spill: /,
      });
    assert.deepEqual(taker.incidents, [{ kind: 'refuses', reason: 'the disk is gone' }]);
    inbox.fails = false;
    await eventually(() => taker.incidents.length === 2, 'the end');
    assert.deepEqual(taker.incidents.at(-1), { kind: 'takes' });
    assert.deepEqual(inbox.state(), { durable: true });
    assert.equal((await inbox.accept(proven())).outcome, 'new');
  });

  it('says once in the log that neither store nor spill folder takes anything, and why', async () => {
    inbox.fails = true;
    spillTo(NOWHERE);
    for (const message of [proven(), proven()])
      await assert.rejects(inbox.accept(message), { code: 'STORE_FAILED' });
    const told = stand.news.filter((line) => line.kind === 'refuses');
    assert.equal(told.length, 1);
    assert.match(told[0]?.reason ?? '', /^the disk is gone; neither can it spill: ./);
  });

  it('says once in the log that the store, which works, does not take what waits beside it, however often it is offered', async () => {
    inbox.hook = (name, act) => (name === 'accept' || name === 'bring' ? fail() : act());
    await inbox.accept(proven());
    const lines = () => stand.news.flatMap((news) => (news.kind === 'line' ? [news.line] : []));
    await eventually(() => lines().length > 0, 'what is said');
    const looks = () => inbox.questions.filter((name) => name === 'ping').length;
    const before = looks();
    await eventually(() => looks() > before + 3, 'some looks more');
    assert.equal(lines().length, 1);
    assert.match(lines()[0] ?? '', /^The inbox does not take 1 message of what was kept beside it/);
  });

  describe('where no file can be written either', () => {
    let taker: Taker;
    const refused = (message: ProvenMessage): Promise<void> =>
      assert.rejects(inbox.accept(message), { code: 'STORE_FAILED' });
    beforeEach(() => {
      taker = new Taker(inbox, { ...SETTLED, maxInFlight: 2000 });
      inbox.fails = true;
      inbox.spareHook = fail;
    });

    it('hands an event to the flow at once, and refuses it, so that its sender keeps it; the same again is no further one', async () => {
      const message = proven();
      await refused(message);
      await taker.came(1);
      assert.deepEqual(taker.deliveries[0]?.message.warnings, ['not-in-inbox', 'may-repeat']);
      await refused(message);
      assert.deepEqual([taker.ids, await inbox.canAccept()], [[idOf(message)], true]);
    });

    it('leaves nothing of what it tried in the spill folder', async () => {
      await refused(proven());
      assert.deepEqual(fs.readdirSync(path.join(inbox.folder, 'spill')), []);
    });

    it('takes what the flow says of it, and has it as that in the inbox, which knows it when it is sent again', async () => {
      const message = proven();
      await refused(message);
      await taker.came(1);
      const [deliveryId = ''] = taker.deliveryIds;
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
      inbox.spareHook = pass;
      await stand.mend();
      assert.equal(await stand.stateOf(deliveryId), 'delivered');
      assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
      assert.equal(taker.ids.length, 1);
    });

    it('keeps it in a file as soon as one can be written, and accepts it then', async () => {
      const message = proven();
      await refused(message);
      inbox.spareHook = pass;
      await eventually(() => inbox.accept(message).then(Boolean, () => false), 'that it is accepted');
      inbox = stand.open({ folder: inbox.image(), fails: true });
      const next = new Taker(inbox, SETTLED);
      await next.came(1);
      assert.deepEqual([next.ids, next.deliveries[0]?.again], [[idOf(message)], 'restart']);
    });

    it('keeps it in a file as soon as the disk of that has room again', async () => {
      inbox.spareHook = (name, act) => {
        if (name === 'accept' || name === 'bring') throw storeFailed(`${DISK_FULL} (SQLite 13)`);
        return act();
      };
      const message = proven();
      await refused(message);
      // Now it was to enter the file.
      await refused(message);
      inbox.spareHook = pass;
      await eventually(() => inbox.accept(message).then(Boolean, () => false), 'that it is accepted');
    });

    it('has it in the inbox, although the file would not have it', async () => {
      inbox.spareHook = (name, act) => (name === 'accept' || name === 'bring' ? fail() : act());
      const message = proven();
      await refused(message);
      await refused(message);
      await stand.mend();
      assert.equal((await inbox.accept(message)).outcome, 'repeat');
    });

    it('takes what the flow says of it while it goes from memory into a file', async () => {
      await refused(proven());
      await taker.came(1);
      const [deliveryId = ''] = taker.deliveryIds;
      const [moving, moved] = [new Gate(), new Gate()];
      inbox.spareHook = (name, act) => {
        if (name !== 'bring') return act();
        moving.open();
        return moved.opened.then(act);
      };
      await moving.opened;
      const settling = inbox.settle(deliveryId, { action: 'done' });
      moved.open();
      assert.equal(await settling, true);
      await stand.mend();
      assert.equal(await stand.stateOf(deliveryId), 'delivered');
    });

    it('counts it among those that the flow is told of, begin and end, once', async () => {
      const message = proven();
      await refused(message);
      await refused(message);
      assert.deepEqual(taker.spells, [{ count: 1, isOver: false }]);
      inbox.spareHook = pass;
      await stand.mend();
      assert.deepEqual(taker.spells.slice(1), [{ count: 1, isOver: true }]);
      assert.equal(
        stand.news.some(({ kind }) => kind === 'spilling'),
        false,
      );
    });

    it('holds a thousand also where a file fails that was to take more at once', async () => {
      inbox.spareHook = pass;
      await inbox.accept(proven());
      let asked = 0;
      const failing = new Gate();
      inbox.spareHook = () => {
        asked += 1;
        return failing.opened.then(fail);
      };
      const accepting = Array.from({ length: 1001 }, () => refused(proven()));
      await eventually(() => asked === accepting.length, 'all on their way into the file');
      inbox.spareHook = fail;
      failing.open();
      await Promise.all(accepting);
      assert.equal(inbox.state().spilled, 1 + 1000);
    });

    it('holds a thousand, and hands over none beyond them', async () => {
      const messages = Array.from({ length: 1001 }, () => proven());
      for (const message of messages) await refused(message);
      await taker.came(1000);
      assert.deepEqual(taker.ids, messages.slice(0, -1).map(idOf));
    });
  });

  it('says of an event that it is in no inbox, and that it may come twice where known ids cannot be read', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    inbox.isReadable = true;
    await inbox.accept(proven());
    await taker.came(2);
    assert.deepEqual(
      taker.deliveries.map(({ sequence, first, ended, message }) => [
        sequence,
        first,
        ended,
        message.warnings,
      ]),
      [
        [null, null, null, ['not-in-inbox', 'may-repeat']],
        [null, true, false, ['not-in-inbox']],
      ],
    );
  });

  it('knows repeats and conflicts of what it spilled', async () => {
    const taker = new Taker(inbox);
    const message = proven();
    const conflict = proven({ eventName: 'Another' }, { messageId: idOf(message) });
    inbox.fails = true;
    const outcomes = [];
    for (const each of [message, message, conflict]) outcomes.push((await inbox.accept(each)).outcome);
    assert.deepEqual(outcomes, ['new', 'repeat', 'conflict']);
    await stand.mend();
    assert.equal((await inbox.accept(message)).outcome, 'repeat');
    assert.equal((await inbox.accept(conflict)).outcome, 'repeat');
    assert.deepEqual(taker.ids, [idOf(message)]);
  });

  it('knows repeats of what it stored before, of however many that come at once, where it can read but not write', async () => {
    const taker = new Taker(inbox);
    const messages = Array.from({ length: 3 }, () => proven());
    const known = await Promise.all(messages.map((message) => taker.takes(message)));
    inbox.fails = true;
    inbox.isReadable = true;
    const again = await Promise.all(messages.map((message) => inbox.accept(message)));
    assert.deepEqual(
      again,
      known.map(({ deliveryId }) => ({ outcome: 'repeat', deliveryId })),
    );
    assert.deepEqual([taker.ids.length, taker.spells], [3, []]);
  });

  it('leases, delivers again and gives up while the store fails', async () => {
    const taker = new Taker(inbox, { ...SETTLED, redeliverAfter: 1, maxAttempts: 2 });
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    assert.deepEqual(taker.told, [
      [deliveryId, 1, undefined],
      [deliveryId, 2, 'lease'],
    ]);
    await stand.mend();
    const rows = await stand.list();
    assert.deepEqual(
      rows.map((row) => [row.deliveryId, row.state, row.attempts]),
      [[deliveryId, 'dead', 2]],
    );
  });

  it('lets the flow go on with an event that enters the inbox meanwhile, under the same id', async () => {
    const taker = new Taker(inbox, SETTLED);
    inbox.fails = true;
    const { deliveryId } = await taker.takes();
    await stand.mend();
    assert.equal(await stand.stateOf(deliveryId), 'leased');
    assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
    assert.equal(await stand.stateOf(deliveryId), 'delivered');
    assert.equal(taker.ids.length, 1);
  });

  it('hands over one event of an alarm after the other, also where the former is in the inbox', async () => {
    const taker = new Taker(inbox, SETTLED);
    const inside = await taker.takes(proven({ alarmId: 'a' }));
    inbox.fails = true;
    const beside = await inbox.accept(proven({ alarmId: 'a' }));
    const other = await inbox.accept(proven({ alarmId: 'b' }));
    const last = await inbox.accept(proven({ alarmId: 'a' }));
    await taker.came(2);
    await inbox.settle(inside.deliveryId, { action: 'done' });
    await taker.came(3);
    await inbox.settle(beside.deliveryId, { action: 'done' });
    await taker.came(4);
    const order = [inside, other, beside, last].map(({ deliveryId }) => deliveryId);
    assert.deepEqual(taker.deliveryIds, order);
  });

  slowIt(
    'lets one that it could not tell to come again wait for the one of its alarm that has overtaken it',
    async () => {
      const taker = new Taker(inbox, SETTLED);
      const inside = await taker.takes(proven({ alarmId: 'a' }));
      await inbox.settle(inside.deliveryId, { action: 'retry' });
      inbox.fails = true;
      // Once the pause of the first is over.
      const beside = await taker.takes(proven({ alarmId: 'a' }));
      inbox.fails = false;
      await eventually(() => inbox.state().spilled === undefined, 'all in the inbox');
      // Once more than the store would have been asked whether it may come again.
      await delay(2 * ASK_AGAIN_AFTER);
      assert.equal(taker.ids.length, 2);
      await inbox.settle(beside.deliveryId, { action: 'done' });
      await taker.came(3);
      assert.deepEqual(taker.told[2], [inside.deliveryId, 2, 'retry']);
    },
  );

  it('takes in what was spilled elsewhere before its setting changed', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    spillTo(path.join(inbox.folder, 'spill', 'another'));
    await inbox.accept(proven());
    await stand.mend();
    assert.deepEqual([(await stand.list()).length, taker.ids.length], [2, 2]);
  });

  it('takes in what it spilled in the order of receipt, so that the end of an alarm is not its beginning', async () => {
    const taker = new Taker(inbox, SETTLED);
    inbox.fails = true;
    const messages = [begin(), end()];
    const { deliveryId } = await taker.takes(messages[0]);
    // What is settled has to be read again to enter; the end is still in memory.
    await inbox.settle(deliveryId, { action: 'done' });
    await inbox.accept(messages[1] ?? proven());
    await stand.mend();
    assert.deepEqual(
      messages.map((message) => firsts().get(idOf(message))),
      [true, false],
    );
  });

  it('says of an event that waited in the inbox meanwhile that its alarm has ended, where the end went before it', async () => {
    const taker = new Taker(inbox, { ...SETTLED, maxInFlight: 1 });
    const other = await taker.takes();
    await inbox.accept(begin());
    inbox.fails = true;
    const last = await inbox.accept(end());
    await inbox.settle(other.deliveryId, { action: 'done' });
    await taker.came(2);
    assert.equal(taker.deliveryIds[1], last.deliveryId);
    await inbox.settle(last.deliveryId, { action: 'done' });
    inbox.fails = false;
    await taker.came(3);
    assert.deepEqual([taker.deliveries[2]?.first, taker.deliveries[2]?.ended], [true, true]);
  });

  it('keeps the order of one alarm: what arrives while something is spilled does not overtake it', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const messages = [proven({ alarmId: 'a' }), proven({ alarmId: 'a' })];
    await inbox.accept(messages[0] ?? proven());
    inbox.fails = false;
    await inbox.accept(messages[1] ?? proven());
    await taker.came(2);
    assert.deepEqual(taker.ids, messages.map(idOf));
  });

  it('keeps the order of one alarm: what arrives overtakes nothing that the store is asked about', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    inbox.isReadable = true;
    const late = inbox.answersLate();
    const messages = [begin(), end()];
    const first = inbox.accept(messages[0] ?? proven());
    await eventually(() => inbox.state().durable === false, 'the fault');
    const second = inbox.accept(messages[1] ?? proven());
    await turn();
    late.answer();
    await Promise.all([first, second]);
    await taker.came(2);
    assert.deepEqual(taker.ids, messages.map(idOf));
  });

  it('keeps the order of one alarm: what arrives overtakes nothing that waits until all is inside', async () => {
    await stand.end();
    inbox = await stand.works({ timeoutMs: PATIENCE, lookAgain: 200 });
    const taker = new Taker(inbox);
    inbox.fails = true;
    await inbox.accept(proven());
    const written = heldSpare('accept');
    const entering = inbox.accept(proven());
    await written.asked;
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'the inbox, while one is on its way beside it');
    written.go();
    await entering;
    const removed = heldSpare('gone');
    const messages = [begin(), end()];
    const first = inbox.accept(messages[0] ?? proven());
    await removed.asked;
    const second = inbox.accept(messages[1] ?? proven());
    await turn();
    removed.go();
    await Promise.all([first, second]);
    await taker.came(4);
    assert.deepEqual(taker.ids.slice(2), messages.map(idOf));
  });

  it('waits for a store that does not answer but once, however many come', async () => {
    await stand.end();
    inbox = await stand.works();
    inbox.fails = true;
    inbox.isReadable = true;
    const late = inbox.answersLate();
    const accepting = [inbox.accept(proven())];
    await eventually(() => inbox.state().durable === false, 'the fault');
    for (let count = 0; count < 20; count += 1) accepting.push(inbox.accept(proven()));
    await soon(Promise.all(accepting));
    const oneAfterAnother = async (): Promise<void> => {
      for (let count = 0; count < 20; count += 1) await inbox.accept(proven());
    };
    await soon(oneAfterAnother());
    late.answer();
  });

  it('says that an event may come twice while what was spilled before is not read yet', async () => {
    inbox.fails = true;
    await inbox.accept(proven());
    const gate = new Gate();
    inbox = stand.open({ folder: inbox.image(), fails: true, timeoutMs: 500 });
    let isHeld = true;
    inbox.spareHook = async (name, act) => {
      const isFirst = isHeld && name === 'kept';
      if (isFirst) isHeld = false;
      if (isFirst) await gate.opened;
      return act();
    };
    inbox.isReadable = true;
    const taker = new Taker(inbox);
    await taker.takes();
    gate.open();
    await taker.came(2);
    await taker.takes();
    assert.deepEqual(
      [0, 2].map((index) => [
        taker.deliveries[index]?.first,
        taker.deliveries[index]?.message.warnings.toSorted(),
      ]),
      [
        [null, ['may-repeat', 'not-in-inbox']],
        [true, ['not-in-inbox']],
      ],
    );
  });

  for (const handledWhen of ['sent', 'settled'] as const)
    it(`delivers once what the store has taken, and answered too late, and has it once, with events that are ${handledWhen}`, async () => {
      // The spare has as long as the store, and a busy machine may take its time to open it.
      inbox = await stand.works({ timeoutMs: 500 });
      const taker = new Taker(inbox, { handledWhen });
      // So that the next one is leased as it is stored.
      const first = await taker.takes();
      await inbox.settle(first.deliveryId, { action: 'done' });
      const late = inbox.answersLate();
      const { outcome, deliveryId } = await taker.takes();
      assert.equal(outcome, 'new');
      late.answer();
      await stand.mend();
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
      await allSettled(inbox);
      const rows = await stand.list();
      assert.deepEqual([rows.length, taker.ids.length, inbox.waiting('webhook-in')], [2, 2, 0]);
    });

  it('changes its spill folder under what comes, also in that moment: nothing is refused, and all of it comes once', async () => {
    inbox.fails = true;
    const taker = new Taker(inbox, { maxInFlight: 10_000 });
    const over = new AbortController();
    const sent: Promise<unknown>[] = [];
    const send = async (): Promise<void> => {
      for (; !over.signal.aborted; await sent.at(-1)) sent.push(inbox.accept(proven()));
    };
    const sending = Promise.all([send(), send(), send()]);
    for (let change = 0; change < 20; change += 1) {
      const before = taker.ids.length;
      spillTo(path.join(inbox.folder, 'spill', `${change}`));
      await eventually(() => taker.ids.length > before, 'what comes meanwhile');
    }
    over.abort();
    await sending;
    await stand.mend();
    assert.equal((await stand.list('all', { limit: 10_000 })).length, sent.length);
    assert.equal(new Set(taker.ids).size, sent.length);
  });

  it('is used again once it works, under a steady load', async () => {
    inbox.fails = true;
    const taker = new Taker(inbox);
    const over = new AbortController();
    const send = async (): Promise<void> => {
      for (; !over.signal.aborted; await turn()) await inbox.accept(proven());
    };
    const sending = Promise.all(Array.from({ length: 4 }, send));
    await eventually(() => taker.ids.length > 100, 'events beside the inbox');
    inbox.fails = false;
    const works = eventually(() => inbox.state().durable === true, 'the inbox');
    await works.finally(() => over.abort());
    await sending;
  });

  it('keeps an event that is filtered beside it, for no flow, and has it as filtered in the end', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const message = proven({ alarmId: 'one' }, { filteredBy: ['rules'] });
    const { outcome, deliveryId } = await inbox.accept(message);
    assert.equal(outcome, 'new');
    const taken = await taker.takes(proven({ alarmId: 'one' }));
    const isKnown = { outcome: 'repeat', deliveryId };
    assert.deepEqual(await inbox.accept(message), isKnown);
    const filtered = async () => (await stand.list('filtered')).map((row) => [row.deliveryId, row.canRetry]);
    assert.deepEqual(await filtered(), [[deliveryId, false]]);
    await stand.mend();
    await stand.end();
    inbox = await stand.works({ folder: inbox.folder });
    assert.deepEqual(await filtered(), [[deliveryId, true]]);
    assert.equal(await stand.stateOf(taken.deliveryId), 'delivered');
    assert.deepEqual(await inbox.accept(message), isKnown);
    const [row] = await stand.list('filtered', { history: true });
    assert.equal(row?.history?.find(({ step }) => step === 'filtered')?.reason, 'rules');
    assert.deepEqual(taker.deliveryIds, [taken.deliveryId]);
  });

  it('lists the events of one alarm that are beside it', async () => {
    await inbox.accept(proven({ alarmId: 'alarm-2' }));
    inbox.fails = true;
    await inbox.accept(proven({ alarmId: 'alarm-2' }));
    const { deliveryId } = await inbox.accept(begin());
    const rows = await stand.list('all', { alarm: { station: 'north', alarmId: 'A' } });
    assert.deepEqual(
      rows.map((row) => row.deliveryId),
      [deliveryId],
    );
  });

  it('tells when an alarm ended, though it could not store that message', async () => {
    await inbox.accept(begin());
    inbox.fails = true;
    await inbox.accept(end());
    const ended = await endOfAlarm([inbox], { station: 'north', alarmId: 'A' }, Date.now() - 60_000);
    assert.equal(ended, Date.parse(ENDED));
  });

  describe('keeps what the flow says of an event', () => {
    let taker: Taker;
    beforeEach(() => {
      taker = new Taker(inbox, SETTLED);
    });

    for (const [action, state, dead] of [
      ['done', 'delivered', []],
      ['reject', 'dead', [{ reason: 'rejected', note: 'no such panel' }]],
    ] as const)
      it(`in the inbox, tells of a dead letter at once, and the store once it works: ${action}`, async () => {
        const { deliveryId } = await taker.takes();
        const letters = dead.map((letter) => ({ deliveryId, ...letter }));
        inbox.fails = true;
        assert.equal(await inbox.settle(deliveryId, { action, note: 'no such panel' }), true);
        assert.deepEqual(taker.dead, letters);
        await stand.mend();
        assert.equal(await stand.stateOf(deliveryId), state);
        assert.deepEqual([taker.dead, taker.ids.length], [letters, 1]);
      });

    it('in the history of one beside the inbox, with what a person found, also once it has entered', async () => {
      inbox.fails = true;
      const { deliveryId } = await taker.takes();
      await inbox.settle(deliveryId, { action: 'retry' }, { user: 'anna' });
      await taker.came(2);
      const finding = { verdict: 'false', note: 'a cat' } as const;
      await inbox.settle(deliveryId, { action: 'done', finding }, { node: { id: '1a', name: 'panel' } });
      const row = async () => (await stand.list('all', { deliveryId, history: true }))[0];
      const steps = async () =>
        ((await row())?.history ?? []).map(({ step, by, verdict }) => by ?? verdict ?? step);
      const known = ['received', 'delivered', 'anna', 'delivered', 'panel', 'false'];
      assert.deepEqual(new Set(await steps()), new Set(known), 'beside it');
      await stand.mend();
      const inside = await steps();
      assert.deepEqual([inside.length, new Set(inside)], [known.length, new Set(known)]);
      const { state, verdict } = (await row()) ?? {};
      assert.deepEqual([state, verdict], ['delivered', 'false']);
    });

    it('or says STORE_FAILED where it can neither be stored nor spilled, and takes it when it is said again', async () => {
      inbox.fails = true;
      const { deliveryId } = await taker.takes();
      inbox.spareHook = fail;
      for (const action of ['done', 'reject'] as const)
        await assert.rejects(inbox.settle(deliveryId, { action }), {
          code: 'STORE_FAILED',
          message: /the spill folder cannot be written: /,
        });
      inbox.spareHook = pass;
      assert.equal(await inbox.settle(deliveryId, { action: 'reject', note: 'twice' }), true);
      const dead = [{ deliveryId, reason: 'rejected', note: 'twice' }];
      assert.deepEqual(taker.dead, dead);
      inbox.fails = false;
      await eventually(async () => (await stand.stateOf(deliveryId)) === 'dead', 'its end');
      assert.deepEqual([taker.dead, taker.ids.length], [dead, 1]);
    });

    it('and hands over the next of its alarm once an end is taken that could not be written at first', async () => {
      inbox.fails = true;
      const { deliveryId } = await taker.takes(proven({ alarmId: 'A' }));
      await inbox.accept(proven({ alarmId: 'A' }));
      inbox.spareHook = fail;
      await assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
      inbox.spareHook = pass;
      assert.equal(await inbox.settle(deliveryId, { action: 'done' }), true);
      await taker.came(2);
    });
  });

  describe('tells the flow', () => {
    const BEGIN = { count: 1, isOver: false };
    beforeEach(() => (inbox.fails = true));

    it('of the first message that is spilled, and once when all are in the inbox, how many there were', async () => {
      const taker = new Taker(inbox);
      for (let count = 0; count < 3; count += 1) await inbox.accept(proven());
      assert.deepEqual(taker.spells, [BEGIN]);
      inbox.fails = false;
      await eventually(() => taker.spells.length > 1, 'the end');
      assert.deepEqual(taker.spells, [BEGIN, { count: 3, isOver: true }]);
    });

    it('of the begin when there is a flow to tell, where there was none at first', async () => {
      for (let count = 0; count < 2; count += 1) await inbox.accept(proven());
      const taker = new Taker(inbox);
      assert.deepEqual(taker.spells, [{ count: 2, isOver: false }]);
      await inbox.accept(proven());
      inbox.fails = false;
      await eventually(() => taker.spells.length > 1, 'the end');
      assert.deepEqual(taker.spells[1], { count: 3, isOver: true });
    });

    it('of the begin when it is started, where nothing would reach it yet', async () => {
      const taker = new Taker(inbox, {}, 'paused');
      await inbox.accept(proven());
      assert.deepEqual(taker.spells, []);
      taker.consumption.resume();
      assert.deepEqual(taker.spells, [BEGIN]);
    });

    it('that is the next, of the end, where the one that was told of the begin is gone', async () => {
      const former = new Taker(inbox);
      await former.takes();
      await former.consumption.end();
      await stand.mend();
      assert.deepEqual(new Taker(inbox).spells, [{ count: 1, isOver: true }]);
    });

    it('of the end after a restart, with what was spilled before it', async () => {
      for (let count = 0; count < 2; count += 1) await inbox.accept(proven());
      const taker = new Taker(stand.open({ folder: inbox.image() }));
      await eventually(() => taker.spells.length > 0, 'the end');
      assert.deepEqual(taker.spells, [{ count: 2, isOver: true }]);
    });

    for (const [what, count, counted, fails, until] of [
      [
        'counts each once where it fails once more meanwhile',
        150,
        150,
        (asked: string[]) => brings(asked) > 100,
        101,
      ],
      // The first one, each of the two times that it is offered.
      [
        'does not count what it would not have',
        3,
        2,
        (asked: string[]) => asked.at(-1) === 'bring' && [1, 4].includes(brings(asked)),
        4,
      ],
    ] as const)
      it(`and the log of the same end, and ${what}`, async () => {
        const taker = new Taker(inbox);
        for (let sent = 0; sent < count; sent += 1) await inbox.accept(proven());
        const asked: string[] = [];
        inbox.hook = (name, act) => {
          asked.push(name);
          return fails(asked) ? fail() : act();
        };
        inbox.fails = false;
        await eventually(() => brings(asked) >= until, 'those that fail');
        inbox.hook = pass;
        const told = () => taker.spells.filter(({ isOver }) => isOver).map((spell) => spell.count);
        const inLog = () => stand.news.flatMap((news) => (news.kind === 'read-back' ? [news.count] : []));
        await eventually(() => told().length > 0 && inLog().length > 0, 'the end');
        assert.deepEqual([told(), inLog()], [[counted], [counted]]);
      });
  });
});

describe('an event that the store leases late, when one of its alarm has gone from beside it', () => {
  const stand = new SpillStand();
  let inbox: HookedInbox;
  let taker: Taker;
  let beside: string;
  let late: string;
  /** In the order in which they come. */
  let others: string[];

  /** The end of the first could not be stored, so the third went from beside; the second was asked for before that. */
  beforeEach(async () => {
    const gate = new Gate();
    let [leasesLate, isAsked, cannotFinish] = [false, false, false];
    inbox = await stand.works({
      hook: async (name, act) => {
        if ((name === 'finish' && cannotFinish) || name === 'bring') return fail();
        if (name === 'lease' && leasesLate) {
          isAsked = true;
          await gate.opened;
        }
        return act();
      },
    });
    taker = new Taker(inbox, SETTLED);
    const first = await taker.takes(proven({ alarmId: 'a' }));
    leasesLate = true;
    late = (await inbox.accept(proven({ alarmId: 'a' }))).deliveryId;
    await eventually(() => isAsked, 'the lease that is answered late');
    cannotFinish = true;
    await inbox.settle(first.deliveryId, { action: 'done' });
    beside = (await taker.takes(proven({ alarmId: 'a' }))).deliveryId;
    [leasesLate, cannotFinish] = [false, false];
    await eventually(() => inbox.state().durable === true, 'the store to know the end of the first');
    gate.open();
    const other = await taker.takes(proven({ alarmId: 'b' }));
    others = [first.deliveryId, beside, other.deliveryId];
  });

  async function comesAfterIt(): Promise<void> {
    assert.deepEqual(taker.deliveryIds, others);
    await inbox.settle(beside, { action: 'done' });
    await taker.came(4);
    assert.deepEqual(taker.told[3], [late, 1, undefined]);
  }

  it('is held until that is settled', () => comesAfterIt());

  it('goes back where the flow stops meanwhile, and that is no attempt', async () => {
    taker.consumption.pause();
    await eventually(() => inbox.waiting('webhook-in') === 1, 'it to wait in the store');
    taker.consumption.resume();
    await comesAfterIt();
  });
});
