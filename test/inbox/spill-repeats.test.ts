import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { ProvenMessage } from '../../lib/message/record';
import { fail, type Hook, pass } from '../support/inbox/each-store';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, Gate, PATIENCE } from '../support/time/patience';
import { allSettled, idOf, proven, SETTLED, Taker } from './samples';

/** The disk can be read, but not written. */
const readable: Hook = (name, act) => (name === 'look' ? act() : fail());

describe('what is spilled, and may be known to the inbox', () => {
  const stand = new SpillStand();
  const open = (hook = pass, folder?: string): HookedInbox => stand.open({ hook, ...(folder && { folder }) });
  const messageIds = async () => (await stand.list()).map(({ messageId }) => messageId);

  /** A message that the flow has had, and that has come again while the inbox could not even be read. */
  async function repeated(inbox: HookedInbox): Promise<{ message: ProvenMessage; taker: Taker }> {
    const taker = new Taker(inbox);
    const message = proven();
    await taker.takes(message);
    await allSettled(inbox);
    taker.consumption.pause();
    inbox.hook = fail;
    assert.equal((await inbox.accept(message)).outcome, 'new');
    return { message, taker };
  }

  it('does not enter it, nor comes again, where it waits still and the inbox has the same', async () => {
    const inbox = open();
    const { message, taker } = await repeated(inbox);
    inbox.hook = pass;
    await stand.mend(inbox);
    taker.consumption.resume();
    const next = proven();
    await taker.takes(next);
    assert.equal(taker.ids.length, 2);
    assert.deepEqual((await messageIds()).map(String).toSorted(), [message, next].map(idOf).toSorted());
  });

  it('does not enter it over a kill either', async () => {
    const inbox = open();
    const { message } = await repeated(inbox);
    const next = open(undefined, inbox.image());
    await stand.mend(next);
    assert.deepEqual(await messageIds(), [idOf(message)]);
    await allSettled(next);
  });

  it('does not come again where the inbox, too slow, has known it, and the flow had no room for it', async () => {
    const inbox = open();
    const taker = new Taker(inbox, { ...SETTLED, maxInFlight: 1 });
    const message = proven();
    const { deliveryId } = await taker.takes(message);
    await inbox.settle(deliveryId, { action: 'done' });
    const other = await taker.takes();
    let answer: (() => void) | undefined;
    inbox.hook = (name, act) => {
      if (name === 'look') fail();
      if (name !== 'accept') return act();
      return new Promise((resolve) => {
        answer = () => resolve(act());
      });
    };
    await inbox.accept(message);
    inbox.hook = pass;
    answer?.();
    await stand.mend(inbox);
    await inbox.settle(other.deliveryId, { action: 'done' });
    await allSettled(inbox);
    assert.equal(taker.ids.length, 2);
  });

  it('says that it may come twice in the inbox, too, where the flow had no room for it yet', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox, {}, 'paused');
    await inbox.accept(proven());
    inbox.hook = pass;
    await stand.mend(inbox);
    taker.consumption.resume();
    await taker.came(1);
    const [delivery] = taker.deliveries;
    assert.notEqual(delivery?.sequence, null);
    assert.deepEqual(delivery?.message.warnings, ['may-repeat']);
  });

  it('says so where it has entered the inbox since that was asked', async () => {
    const inbox = open(readable);
    const taker = new Taker(inbox, SETTLED);
    const [before, message] = [proven(), proven({ alarmId: 'of two' })];
    for (const each of [before, message]) {
      const { deliveryId } = await taker.takes(each);
      await inbox.settle(deliveryId, { action: 'done' });
      inbox.configure({ keep: { keys: 1e9, bodies: 1e9 }, spillFolder: path.join(inbox.folder, 'another') });
    }
    const [asked, entered] = [new Gate(), new Gate()];
    inbox.spareHook = async (name, act) => {
      if (name !== 'openAlarms') return act();
      asked.open();
      await entered.opened;
      return act();
    };
    const repeating = inbox.accept(message);
    await asked.opened;
    inbox.hook = pass;
    await eventually(() => inbox.questions.filter((name) => name === 'bring').length === 2, 'both inside');
    entered.open();
    await repeating;
    await taker.came(3);
    assert.deepEqual(taker.deliveries[2]?.message.warnings, ['not-in-inbox', 'may-repeat']);
  });

  it('says so where what is beside an inbox that works, and would not have it, cannot be asked', async () => {
    const inbox = open((name, act) => (name === 'accept' || name === 'bring' ? fail() : act()));
    const taker = new Taker(inbox);
    const message = proven();
    await taker.takes(message);
    await eventually(() => JSON.stringify(stand.news).includes('does not take 1 message'), 'its refusal');
    inbox.hook = (name, act) => (name === 'bring' ? fail() : act());
    await eventually(() => inbox.state().durable === true, 'the inbox');
    inbox.spareHook = (name, act) => (name === 'look' ? fail() : act());
    await inbox.accept(message);
    await taker.came(2);
    assert.deepEqual(
      taker.deliveries.map(({ message: { warnings } }) => warnings),
      [['not-in-inbox'], ['may-repeat']],
    );
  });

  it('is known while it is on its way into a spill folder that is set otherwise meanwhile', async () => {
    const inbox = stand.open({ hook: readable, timeoutMs: PATIENCE });
    const [going, stored] = [new Gate(), new Gate()];
    let accepts = 0;
    // One after the other, as a thread does it.
    inbox.spareHook = async (name, act) => {
      if (name === 'accept') accepts += 1;
      if (name === 'look' || accepts === 2) going.open();
      if (name === 'look') await stored.opened;
      if (name !== 'accept') return act();
      await going.opened;
      const given = act();
      stored.open();
      return given;
    };
    const message = proven();
    const accepting = [inbox.accept(message)];
    await eventually(() => accepts === 1, 'the first');
    inbox.configure({ keep: { keys: 1e9, bodies: 1e9 }, spillFolder: path.join(inbox.folder, 'another') });
    accepting.push(inbox.accept(message));
    const outcomes = (await Promise.all(accepting)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['new', 'repeat']);
  });

  it('says so each time that it comes', async () => {
    const inbox = open(fail);
    const former = new Taker(inbox, SETTLED);
    await former.takes();
    inbox.hook = pass;
    await stand.mend(inbox);
    await former.consumption.end();
    const taker = new Taker(inbox, SETTLED);
    await taker.came(1);
    assert.deepEqual(
      [...former.deliveries, ...taker.deliveries].map(({ again, message: { warnings } }) => [
        again,
        warnings,
      ]),
      [
        [undefined, ['not-in-inbox', 'may-repeat']],
        ['restart', ['may-repeat']],
      ],
    );
  });

  /** What a process leaves that has spilled an event and taken it in, and can neither remove the file nor write to it. */
  async function leftBehind(): Promise<string> {
    const inbox = open(readable);
    await eventually(() => inbox.state().durable === false, 'the fault');
    await inbox.accept(proven());
    const spill = path.join(inbox.image(), 'spill');
    inbox.hook = pass;
    await stand.mend(inbox);
    const taker = new Taker(inbox);
    await taker.came(1);
    await allSettled(inbox);
    const folder = inbox.image();
    fs.cpSync(spill, path.join(folder, 'spill'), { recursive: true });
    return folder;
  }

  it('does not come again where it has entered and that could not be noted', async () => {
    const inbox = open(undefined, await leftBehind());
    const taker = new Taker(inbox);
    await stand.mend(inbox);
    await taker.takes();
    assert.equal(taker.ids.length, 1);
  });

  for (const [what, hook] of [
    ['fails', fail],
    ['does not answer', (name: string) => (name === 'look' ? new Promise(() => undefined) : fail())],
  ] as const)
    it(`says that it may come twice where a former process has spilled it, and the inbox ${what}`, async () => {
      const inbox = open(hook, await leftBehind());
      const taker = new Taker(inbox);
      await taker.came(1);
      assert.deepEqual(taker.deliveries[0]?.message.warnings.toSorted(), ['may-repeat', 'not-in-inbox']);
    });

  it('comes as a further attempt after each restart, where the inbox, which works, would not have it', async () => {
    const refusing: Hook = (name, act) => (name === 'bring' ? fail() : act());
    const { deliveryId } = await new Taker(open(fail), SETTLED).takes();
    const former = open(refusing, stand.inbox.image());
    await eventually(() => former.state().durable === true, 'an inbox that works, and refuses it');
    const taker = new Taker(open(refusing, former.image()));
    await taker.came(1);
    assert.deepEqual(taker.told, [[deliveryId, 2, 'restart']]);
  });

  it('says so where it came once more before it was known that another process has spilled it', async () => {
    const message = proven();
    const former = open(readable);
    await former.accept(message);
    const inbox = open(readable);
    const taker = new Taker(inbox);
    await taker.takes(message);
    inbox.configure({ keep: { keys: 1e9, bodies: 1e9 }, spillFolder: path.join(former.folder, 'spill') });
    await former.close();
    await taker.came(2);
    assert.deepEqual(taker.deliveries[1]?.message.warnings.toSorted(), ['may-repeat', 'not-in-inbox']);
  });

  it('does not say so where a former process has spilled it, and the inbox, which cannot store, does not know it', async () => {
    const former = open(readable);
    await eventually(() => former.state().durable === false, 'the fault');
    const messages = Array.from({ length: 150 }, () => proven());
    for (const message of messages) await former.accept(message);
    const inbox = open(readable, former.image());
    const taker = new Taker(inbox, { maxInFlight: 1000 });
    await eventually(() => taker.ids.length === messages.length, 'all events');
    assert.deepEqual(taker.ids, messages.map(idOf));
    for (const { message } of taker.deliveries) assert.deepEqual(message.warnings, ['not-in-inbox']);
  });
});
