import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { EventQueues } from '../../lib/inbox/queue/event-queues';
import { settleDoubt } from '../../lib/inbox/spare/drain';
import { type OpenStore, Spare } from '../../lib/inbox/spare/spare';
import { MemoryStore } from '../../lib/inbox/sqlite/store';
import type { LocalCall } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { fail, pass } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, Gate, soon } from '../support/time/patience';
import { allSettled, ENDPOINT, idOf, proven, SETTLED, Taker } from './samples';

const ONE = { ...SETTLED, maxInFlight: 1 };
const nothing = (): void => undefined;

describe('a spare that fails, too', () => {
  const stand = new SpillStand();
  const failing = (folder?: string): HookedInbox => stand.open({ fails: true, ...(folder && { folder }) });

  /** From now on it answers nothing, and has not done what it was asked then. @returns the end of that */
  function hang(inbox: HookedInbox): () => void {
    const end = new Gate();
    inbox.spareHook = () => end.opened.then(fail);
    return () => {
      inbox.spareHook = pass;
      end.open();
    };
  }

  /** Accepts a message, which may be in memory alone then. */
  async function send(inbox: HookedInbox, message = proven()): Promise<string> {
    await inbox.accept(message).catch(nothing);
    return idOf(message);
  }

  it('does not keep the flow waiting for the end of an event: that says what to do', async () => {
    const inbox = failing();
    const { deliveryId } = await new Taker(inbox, SETTLED).takes();
    const mend = hang(inbox);
    for (const action of ['done', 'reject', 'retry'] as const)
      await soon(
        assert.rejects(inbox.settle(deliveryId, { action }), {
          code: 'STORE_FAILED',
          message: /it answers too slowly. See to its disk/,
        }),
      );
    mend();
  });

  for (const [what, breakIt] of [
    ['does not answer', hang],
    [
      'cannot be written',
      (inbox: HookedInbox) => {
        inbox.spareHook = fail;
        return () => (inbox.spareHook = pass);
      },
    ],
  ] as const)
    it(`keeps no other event from the flow where it ${what}; what the flow had of it comes again, and says so`, async () => {
      const inbox = failing();
      const taker = new Taker(inbox, ONE);
      const { deliveryId } = await taker.takes();
      const mend = breakIt(inbox);
      await assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
      const next = await send(inbox);
      await eventually(() => taker.ids[1] === next, 'the next event');
      assert.equal(stand.news.filter((news) => news.kind === 'line').length, 1);
      mend();
      await inbox.settle(taker.deliveryIds[1] ?? '', { action: 'done' });
      await taker.came(3);
      assert.deepEqual(taker.told[2], [deliveryId, 2, 'restart']);
      await inbox.settle(deliveryId, { action: 'done' });
      await stand.mend();
      await allSettled(inbox);
    });

  it('lets go what waits in an inbox that works once it has not kept the end of another', async () => {
    const inbox = await stand.works();
    const taker = new Taker(inbox, SETTLED);
    const { deliveryId } = await taker.takes();
    taker.consumption.pause();
    await inbox.accept(proven());
    inbox.hook = (name, act) => (name === 'finish' ? fail() : act());
    const [asked, refused] = [new Gate(), new Gate()];
    inbox.spareHook = async (name, act) => {
      if (name !== 'putSlots') return act();
      asked.open();
      await refused.opened;
      return fail();
    };
    const settling = assert.rejects(inbox.settle(deliveryId, { action: 'done' }), { code: 'STORE_FAILED' });
    await asked.opened;
    taker.consumption.resume();
    refused.open();
    await settling;
    await soon(taker.came(2));
    inbox.spareHook = pass;
  });

  it('keeps no event of an inbox that works again from the flow', async () => {
    const inbox = failing();
    const taker = new Taker(inbox, ONE);
    const { deliveryId } = await taker.takes();
    const mend = hang(inbox);
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'the inbox');
    const next = await taker.takes();
    mend();
    await inbox.settle(next.deliveryId, { action: 'done' });
    await taker.came(3);
    assert.deepEqual(taker.told[2], [deliveryId, 2, 'restart']);
    await inbox.settle(deliveryId, { action: 'done' });
    await stand.mend();
  });

  it('does not say again what the inbox was asked too long ago', async () => {
    const inbox = failing();
    await inbox.accept(proven());
    const answer = new Gate();
    inbox.hook = (name, act) => {
      if (name !== 'bring') return act();
      // Nothing more is to enter by the next batch.
      inbox.spareHook = (asked, pass) => (asked === 'carry' ? fail() : pass());
      return answer.opened.then(fail);
    };
    inbox.fails = false;
    await eventually(() => inbox.state().fault === 'it answers too slowly', 'the end of its time');
    await eventually(() => inbox.state().durable === true, 'the inbox');
    answer.open();
    await turn();
    await turn();
    assert.equal(inbox.questions.filter((name) => name === 'bring').length, 1);
    inbox.hook = pass;
    inbox.spareHook = pass;
    await stand.mend();
  });

  it('is no longer open once the inbox is closed, however late it was opened', async () => {
    const opened = new Gate();
    let isClosed = false;
    const openSpare: OpenStore = (_file, events) => {
      const store = new MemoryStore({
        ...events,
        onOpened: (report) => void opened.opened.then(() => events.onOpened(report)),
      });
      return {
        call: (name, asked) => store.call(name, asked),
        close: async () => void (isClosed = true),
      };
    };
    const inbox = stand.open({ fails: true, openSpare });
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    await inbox.close();
    opened.open();
    await eventually(() => isClosed, 'its end');
  });

  it('does not keep an inbox open that ends', async () => {
    const openSpare: OpenStore = (_file, events) => {
      const store = new MemoryStore(events);
      return { call: (name, asked) => store.call(name, asked), close: () => new Promise(nothing) };
    };
    const inbox = stand.open({ fails: true, openSpare });
    await inbox.accept(proven());
    await soon(inbox.close());
  });

  it('says what keeps it from taking a message now, and not what did before', async () => {
    const inbox = failing();
    const folder = path.join(inbox.folder, 'spill');
    const refused = async (): Promise<string> =>
      inbox.accept(proven()).then(
        () => '',
        (error: unknown) => String(error),
      );
    fs.writeFileSync(folder, 'in its way');
    assert.match(await refused(), /EEXIST|ENOTDIR/);
    fs.rmSync(folder);
    await eventually(async () => (await refused()) === '', 'that it is accepted');
    const mend = hang(inbox);
    await refused();
    assert.match(await refused(), /answers too slowly/);
    mend();
    await stand.mend();
  });

  it('has what comes while memory enters the inbox wait for that, and says so', async () => {
    const inbox = failing();
    inbox.spareHook = (name, act) => (name === 'accept' || name === 'bring' ? fail() : act());
    await send(inbox);
    const [asked, brought] = [new Gate(), new Gate()];
    inbox.hook = async (name, act) => {
      if (name !== 'bring') return act();
      asked.open();
      await brought.opened;
      return act();
    };
    inbox.fails = false;
    await asked.opened;
    await assert.rejects(inbox.accept(proven()), { message: /what is in memory goes first/ });
    brought.open();
    inbox.spareHook = pass;
    await stand.mend();
  });

  describe('of a former process', () => {
    /** What a process that was killed has left of some events. */
    async function left(count = 1): Promise<{ folder: string; ids: string[] }> {
      const inbox = failing();
      const ids: string[] = [];
      for (let sent = 0; sent < count; sent += 1) ids.push((await inbox.accept(proven())).deliveryId);
      return { folder: inbox.image(), ids };
    }

    it('holds up no start while its file does not answer', async () => {
      const { folder } = await left();
      const openSpare: OpenStore = (file, events) =>
        file.startsWith(path.dirname(stand.files({ folder })[0] ?? ''))
          ? { call: () => new Promise(nothing), close: async () => undefined }
          : new MemoryStore(events);
      const inbox = stand.open({ folder, openSpare });
      const taker = new Taker(inbox);
      await soon(taker.takes());
      await eventually(() => inbox.state().durable === true, 'the inbox');
      await soon(taker.takes());
      assert.deepEqual(taker.deliveries.at(-1)?.message.warnings, ['may-repeat']);
    });

    it('has what of it cannot be read as a dead letter in the inbox, and knows it', async () => {
      const message = proven();
      const { deliveryId } = await failing().accept(message);
      const folder = stand.inbox.image();
      const file = stand.files({ folder })[0] ?? '';
      const database = new DatabaseSync(file);
      database.exec('DELETE FROM body');
      database.close();
      const inbox = stand.open({ folder });
      const taker = new Taker(inbox);
      await stand.mend();
      await allSettled(inbox);
      assert.equal(await stand.stateOf(deliveryId), 'dead');
      assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId });
      assert.deepEqual(taker.ids, []);
      assert.match(JSON.stringify(stand.news), /cannot be read any more/);
    });

    it('gives nothing unmarked to the flow that the inbox has, and that cannot be removed from it', async () => {
      const former = failing();
      // And says that it does not know it.
      former.isReadable = true;
      const { deliveryId } = await former.accept(proven());
      const left = former.image();
      await stand.mend(former);
      await new Taker(former).came(1);
      await eventually(async () => (await stand.stateOf(deliveryId)) === 'delivered', 'its end');
      await stand.end(former);
      fs.cpSync(path.join(left, 'spill'), path.join(former.folder, 'spill'), { recursive: true });
      const inbox = failing(former.folder);
      inbox.isReadable = true;
      inbox.spareHook = (name, act) => (name === 'stateOf' ? fail() : act());
      const taker = new Taker(inbox);
      await taker.came(1);
      assert.deepEqual(taker.deliveries[0]?.message.warnings, ['not-in-inbox', 'may-repeat']);
      inbox.spareHook = pass;
      await stand.mend();
    });

    it('is not forgotten while its disk is away', async () => {
      const elsewhere = path.join(failing().folder, 'disk');
      const former = stand.open({ fails: true, spillFolder: elsewhere });
      const message = proven();
      await former.accept(message);
      await former.close();
      fs.renameSync(elsewhere, `${elsewhere}-away`);
      const inbox = failing(former.folder);
      await inbox.accept(proven());
      await stand.mend(inbox);
      await stand.end(inbox);
      fs.renameSync(`${elsewhere}-away`, elsewhere);
      const taker = new Taker(stand.open({ folder: former.folder }));
      await eventually(() => taker.ids.includes(idOf(message)), 'its event');
    });
  });

  it('keeps nothing out of a spill folder that is set while it does not answer', async () => {
    const inbox = failing();
    await inbox.accept(proven());
    const hanging = new Gate();
    let isFormer = true;
    inbox.spareHook = (name, act) => (isFormer && name === 'accept' ? hanging.opened.then(act) : act());
    await assert.rejects(inbox.accept(proven()), { code: 'STORE_FAILED' });
    isFormer = false;
    const spillFolder = path.join(inbox.folder, 'another');
    inbox.configure({ keep: { keys: 1e9, bodies: 1e9 }, spillFolder });
    await eventually(() => inbox.accept(proven()).then(Boolean, () => false), 'that it is accepted');
    hanging.open();
    await stand.mend();
  });

  it('has nothing leased for ever that it took too late, and that the inbox could take just then', async () => {
    const inbox = await stand.works();
    const taker = new Taker(inbox, SETTLED);
    inbox.fails = true;
    await taker.takes();
    const [accepted, asked, given] = [new Gate(), new Gate(), new Gate()];
    inbox.spareHook = async (name, act) => {
      if (name === 'accept') await accepted.opened;
      if (name === 'giveBack') {
        asked.open();
        await given.opened;
      }
      return act();
    };
    await send(inbox);
    accepted.open();
    await asked.opened;
    inbox.fails = false;
    await eventually(() => inbox.state().durable === true, 'the inbox');
    given.open();
    await stand.mend();
    for (const deliveryId of taker.deliveryIds) await inbox.settle(deliveryId, { action: 'done' });
    await allSettled(inbox);
  });

  it('lets what the inbox took too late say that it may come twice', async () => {
    const inbox = await stand.works();
    const taker = new Taker(inbox, SETTLED, 'paused');
    const late = inbox.answersLate();
    await inbox.accept(proven());
    const mend = hang(inbox);
    late.answer();
    await eventually(() => inbox.state().durable === true, 'the inbox');
    taker.consumption.resume();
    await taker.came(1);
    assert.deepEqual(taker.deliveries[0]?.message.warnings, ['may-repeat']);
    mend();
    await inbox.settle(taker.deliveryIds[0] ?? '', { action: 'done' });
  });
});

describe('a spare', () => {
  const REST = {
    queues: new EventQueues(nothing, nothing),
    health: { lookLater: nothing },
    incidents: { befell: nothing },
    tidying: { idsLost: nothing },
    log: nothing,
  };
  const take = () => ({ message: newMessage(proven()), lease: 'no' as const });
  const lease = { endpoint: ENDPOINT, limit: 9, health: 9, ordered: false };

  /** Between what is done and its answer, by the name of the call. */
  let answered: (name: LocalCall) => unknown = nothing;
  /** The one opened last is opened once more, as after a fault of its disk. */
  let reopen = nothing;
  beforeEach(() => (answered = nothing));

  async function open(): Promise<Spare> {
    const openStore: OpenStore = (_file, events) => {
      const store = new MemoryStore(events);
      reopen = () => events.onOpened({ waiting: {}, restored: false });
      return {
        call: async (name, asked) => {
          const given = await store.call(name, asked);
          await answered(name);
          return given;
        },
        close: () => store.close(),
      };
    };
    return (await Spare.open(undefined, { openStore, timeoutMs: 200, ...REST })).spare;
  }

  it('has no event back that is removed while it is read', async () => {
    const spare = await open();
    const { deliveryId } = await spare.accept(take(), undefined);
    const [read, removed] = [new Gate(), new Gate()];
    answered = (name) => {
      if (name !== 'slots') return undefined;
      read.open();
      return removed.opened;
    };
    const loading = spare.load();
    await read.opened;
    await spare.gone([deliveryId]);
    removed.open();
    await loading;
    assert.equal(spare.isEmpty, true);
  });

  it('has an event say that it may come twice that nobody knew to be there when it came again', async () => {
    const spare = await open();
    const accepted = take();
    answered = fail;
    await assert.rejects(spare.accept(accepted, undefined));
    answered = nothing;
    assert.equal((await spare.accept(accepted, undefined)).outcome, 'repeat');
    await spare.recount();
    const [event] = await spare.lease(lease);
    assert.match(String(event?.facts), /may-repeat/);
  });

  describe('of a former process', () => {
    let main: MemoryStore;
    beforeEach(() => {
      main = new MemoryStore({ onOpened: nothing, onFault: nothing, onWarning: nothing, onSlow: nothing });
    });
    afterEach(() => main.close());
    const warningsOf = async (spare: Spare) => (await spare.lease(lease)).map(({ warnings }) => warnings);
    const unsure = [['not-in-inbox', 'may-repeat']];

    it('lets what the inbox has, and what cannot be removed, say that it may come twice, also when it was opened anew', async () => {
      const spare = await open();
      const accepted = take();
      await main.call('accept', accepted);
      await spare.accept(accepted, undefined);
      const kept = await spare.load();
      answered = (name) => (name === 'stateOf' ? fail() : undefined);
      await settleDoubt(spare, kept, { others: [], main, timeoutMs: 200 });
      answered = nothing;
      reopen();
      await turn();
      assert.deepEqual(await warningsOf(spare), unsure);
    });

    it('has its events and those of one that cannot tell whether it has them, too, say that they may come twice', async () => {
      const [other, spare] = [await open(), await open()];
      const accepted = take();
      for (const each of [other, spare]) await each.accept(accepted, undefined);
      const kept = await spare.load();
      answered = (name) => (name === 'look' ? fail() : undefined);
      await settleDoubt(spare, kept, { others: [other], main, timeoutMs: 200 });
      assert.deepEqual([await warningsOf(other), await warningsOf(spare)], [unsure, unsure]);
    });
  });
});
