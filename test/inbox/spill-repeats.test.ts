import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { frameBytes, type Frame } from '../../lib/inbox/spill/frame';
import type { CallName } from '../../lib/inbox/store/protocol';
import { newMessage } from '../../lib/inbox/store/stored-message';
import type { ProvenMessage } from '../../lib/message/record';
import { fail, HookedInbox, hookedInboxes, temporaryFolder, type Hook } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';
import { allSettled, proven, Taker } from './samples';

const pass: Hook = (_name, act) => act();
/** The disk can be read, but not written. */
const readable: Hook = (name, act) => (name === 'look' ? act() : fail());

describe('what is spilled, and may be known to the inbox', () => {
  const open = hookedInboxes();

  const messageIds = async (inbox: HookedInbox): Promise<(string | null)[]> =>
    (await inbox.list({ state: 'all', limit: 9 })).messages.map(({ messageId }) => messageId);
  const isEmpty = (inbox: HookedInbox): boolean =>
    fs.readdirSync(inbox.folder, { recursive: true }).every((name) => !/spill-\d+$/.test(String(name)));
  const hasEntered = (inbox: HookedInbox): Promise<void> =>
    eventually(() => inbox.state().durable === true && isEmpty(inbox), 'the end of what is spilled');

  /** A message that the flow has had, and that has come again while the inbox could not even be read. */
  async function repeated(inbox: HookedInbox): Promise<{ message: ProvenMessage; taker: Taker }> {
    const taker = new Taker(inbox);
    const message = proven();
    await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the event');
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
    await hasEntered(inbox);
    taker.consumption.resume();
    const next = proven();
    await inbox.accept(next);
    await eventually(() => taker.ids.includes(next.envelope.messageId), 'the next event');
    assert.equal(taker.ids.length, 2);
    assert.deepEqual(new Set(await messageIds(inbox)), new Set([message, next].map(idOf)));
    assert.equal((await messageIds(inbox)).length, 2);
  });

  it('does not enter it over a kill either', async () => {
    const inbox = open();
    const { message } = await repeated(inbox);
    const next = open(undefined, inbox.image());
    await hasEntered(next);
    assert.deepEqual(await messageIds(next), [idOf(message)]);
    await allSettled(next);
  });

  it('does not come again where the inbox, too slow, has known it, and the flow had no room for it', async () => {
    const inbox = open();
    const taker = new Taker(inbox, { handledWhen: 'settled', maxInFlight: 1 });
    const message = proven();
    const { deliveryId } = await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the event');
    await inbox.settle(deliveryId, { action: 'done' });
    const other = await inbox.accept(proven());
    await eventually(() => taker.ids.length === 2, 'another event');
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
    await hasEntered(inbox);
    await inbox.settle(other.deliveryId, { action: 'done' });
    await allSettled(inbox);
    assert.equal(taker.ids.length, 2);
  });

  it('says that it may come twice in the inbox, too, where the flow had no room for it yet', async () => {
    const inbox = open(fail);
    const taker = new Taker(inbox);
    taker.consumption.pause();
    await inbox.accept(proven());
    inbox.hook = pass;
    await hasEntered(inbox);
    taker.consumption.resume();
    await eventually(() => taker.ids.length === 1, 'the event');
    const [delivery] = taker.deliveries;
    assert.notEqual(delivery?.sequence, null);
    assert.deepEqual(delivery?.message.warnings, ['may-repeat']);
  });

  it('says so each time that it comes', async () => {
    const inbox = open(fail);
    const former = new Taker(inbox, { handledWhen: 'settled' });
    await inbox.accept(proven());
    await eventually(() => former.ids.length === 1, 'the event');
    inbox.hook = pass;
    await hasEntered(inbox);
    await former.consumption.end();
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await eventually(() => taker.ids.length === 1, 'the event again');
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
    await hasEntered(inbox);
    const taker = new Taker(inbox);
    await eventually(() => taker.ids.length === 1, 'the event');
    await allSettled(inbox);
    const folder = inbox.image();
    fs.cpSync(spill, path.join(folder, 'spill'), { recursive: true });
    return folder;
  }

  it('does not come again where it has entered and that could not be noted', async () => {
    const inbox = open(undefined, await leftBehind());
    const taker = new Taker(inbox);
    await hasEntered(inbox);
    const next = proven();
    await inbox.accept(next);
    await eventually(() => taker.ids.length > 0, 'the next event');
    assert.deepEqual(taker.ids, [idOf(next)]);
  });

  for (const [what, hook] of [
    ['fails', fail],
    ['does not answer', (name: CallName) => (name === 'look' ? new Promise(() => undefined) : fail())],
  ] as const)
    it(`says that it may come twice where a former process has spilled it, and the inbox ${what}`, async () => {
      const inbox = open(hook, await leftBehind());
      const taker = new Taker(inbox);
      await eventually(() => taker.ids.length === 1, 'the event');
      assert.deepEqual(taker.deliveries[0]?.message.warnings, ['not-in-inbox', 'may-repeat']);
    });

  it('comes as a further attempt after each restart, though the file that knows of the first is older than its own', async () => {
    const folder = temporaryFolder();
    const message = newMessage(proven());
    const waits = { state: 'received', attempt: 0, cutOff: 0, atFlow: false } as const;
    const atFlow = { ...waits, state: 'leased', attempt: 1, atFlow: true } as const;
    const own = {
      deliveryId: 'a',
      message,
      first: true,
      ended: false,
      mayRepeat: false,
      node: message.endpoint,
    };
    const frames: Frame[] = [
      { kind: 'progress', deliveryId: 'a', change: 1, progress: atFlow },
      { kind: 'message', ...own, progress: waits },
    ];
    for (const [index, frame] of frames.entries()) {
      const ofProcess = path.join(folder, 'spill', `${index + 1}-1-${'a'.repeat(12)}`);
      fs.mkdirSync(ofProcess, { recursive: true });
      fs.writeFileSync(path.join(ofProcess, 'spill-1'), frameBytes(frame));
    }
    const refusing: Hook = (name, act) => (name === 'bring' ? fail() : act());
    const former = open(refusing, folder);
    await eventually(() => former.state().durable === true, 'an inbox that works, and refuses it');
    const taker = new Taker(open(refusing, former.image()));
    await eventually(() => taker.ids.length === 1, 'the event');
    assert.deepEqual([taker.deliveries[0]?.attempt, taker.deliveries[0]?.again], [2, 'restart']);
  });

  it('says so where it came once more before it was known that another process has spilled it', async () => {
    const message = proven();
    const former = new HookedInbox(temporaryFolder(), readable);
    await former.accept(message);
    const inbox = open(readable);
    const taker = new Taker(inbox);
    await inbox.accept(message);
    await eventually(() => taker.ids.length === 1, 'the event');
    inbox.configure({ keep: { keys: 1e9, bodies: 1e9 }, spillFolder: path.join(former.folder, 'spill') });
    await former.close();
    await eventually(() => taker.ids.length === 2, 'what the other has spilled');
    fs.rmSync(former.folder, { recursive: true });
    assert.deepEqual(taker.deliveries[1]?.message.warnings, ['not-in-inbox', 'may-repeat']);
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

function idOf({ envelope }: ProvenMessage): string {
  return envelope.messageId;
}
