import assert from 'node:assert/strict';
import net from 'node:net';
import { endOfTurn } from '../support/time/event-loop';
import { TimerWatch } from '../support/time/virtual-time';
import { exchange, GatedInbox, PATH, ReceiverUnderTest, signedText } from './receiver-under-test';
import { signed, station } from './sample';

/** A message as it stands on a connection; behind the last one the connection ends. */
function rawPost(messageId: string, isLast = false): string {
  return signedText(signed({ messageId }).body, isLast ? ['Connection: close'] : []);
}

/** Longer than any test. */
const LONG = 600_000;

describe('a request that is held', () => {
  let inbox: GatedInbox;
  let receiver: ReceiverUnderTest;
  let answers: Promise<number>[];
  beforeEach(() => {
    inbox = new GatedInbox();
    answers = [];
  });
  afterEach(() => receiver.close());

  async function start(options: Parameters<typeof ReceiverUnderTest.start>[0] = {}): Promise<void> {
    receiver = await ReceiverUnderTest.start({ inbox, holdMs: LONG, commitMs: LONG, ...options });
  }

  /** Posts messages one after the other, each when the one before has come in whole; none of them is waited for. */
  async function post(...ids: string[]): Promise<void> {
    for (const messageId of ids) {
      const { requests } = receiver.seen;
      answers.push(receiver.statusOf(signed({ messageId })));
      await receiver.until(() => receiver.seen.requests > requests, messageId);
    }
  }

  const statuses = (): Promise<number[]> => Promise.all(answers);

  /** A message on a connection of its own, once it has come in whole. */
  async function postOn(messageId: string): Promise<net.Socket> {
    const { requests } = receiver.seen;
    const socket = net.connect(receiver.port, '127.0.0.1');
    socket.write(rawPost(messageId));
    await receiver.until(() => receiver.seen.requests > requests, messageId);
    return socket;
  }

  it('goes on in the turn in which its endpoint comes, behind those that came before', async () => {
    await start({ rememberedPaths: [PATH], absent: true });
    await post('first', 'second', 'third');
    receiver.dispatcher.add(receiver.endpoint);
    await endOfTurn();
    assert.deepEqual(inbox.asked, ['first', 'second', 'third']);
    assert.deepEqual(await statuses(), [200, 200, 200]);
  });

  it('goes on in the turn in which a station has its phrase', async () => {
    await start();
    receiver.stations = [station({ secret: '' })];
    await post('first', 'second');
    receiver.stations = [station()];
    await endOfTurn();
    assert.deepEqual(inbox.asked, ['first', 'second']);
    assert.deepEqual(await statuses(), [200, 200]);
  });

  it('is judged by what is there when all have been told of the change', async () => {
    await start();
    receiver.stations = [];
    await post('first');
    receiver.stations = [station()];
    receiver.stations = [station({ secret: 'a phrase that came right behind' })];
    assert.deepEqual(await statuses(), [401]);
  });

  it('goes on being held at a change that does not help', async () => {
    await start();
    receiver.stations = [];
    await post('first');
    receiver.stations = [station({ secret: ' ' })];
    receiver.dispatcher.remove(receiver.endpoint);
    await endOfTurn();
    receiver.stations = [station()];
    receiver.dispatcher.add(receiver.endpoint);
    await endOfTurn();
    assert.deepEqual(inbox.asked, ['first']);
  });

  it('gets a place in the turn in which another leaves one, behind those that came before', async () => {
    await start({ capacity: 1 });
    inbox.isSlow = true;
    await post('first', 'second', 'third');
    assert.deepEqual(inbox.asked, ['first']);
    for (const expected of ['second', 'third']) {
      inbox.commit(1);
      await endOfTurn();
      assert.equal(inbox.asked.at(-1), expected);
    }
    inbox.commit(1);
    assert.deepEqual(await statuses(), [200, 200, 200]);
  });

  it('has left the line when its connection ends', async () => {
    await start({ capacity: 1 });
    inbox.isSlow = true;
    await post('first');
    const socket = await postOn('second');
    await post('third');
    socket.destroy();
    await receiver.until(() => receiver.seen.connections === 2, 'the end of its connection');
    inbox.commit(1);
    await receiver.until(() => inbox.asked.length > 1, 'the next');
    assert.deepEqual(inbox.asked, ['first', 'third']);
    inbox.commit(1);
    assert.deepEqual(await statuses(), [200, 200]);
  });

  it('gives its place to the next when its connection ends', async () => {
    await start({ capacity: 1 });
    receiver.stations = [];
    const socket = await postOn('first');
    await post('second');
    socket.destroy();
    await receiver.until(() => receiver.seen.connections === 1, 'the end of its connection');
    receiver.stations = [station()];
    await endOfTurn();
    assert.deepEqual(inbox.asked, ['second']);
    assert.deepEqual(await statuses(), [200]);
  });

  it('is one of many on its connection without a warning of a leak', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    try {
      await start();
      receiver.stations = [];
      const posts = Array.from({ length: 20 }, (_, index) => rawPost(`message-${index}`, index === 19));
      const text = exchange(net.connect(receiver.port, '127.0.0.1'), posts);
      await receiver.until(() => receiver.seen.requests === 1, 'the first');
      receiver.stations = [station()];
      assert.equal((await text).match(/200 OK/g)?.length, 20);
      assert.deepEqual(warnings, []);
    } finally {
      process.off('warning', note);
    }
  });

  describe('and its timers', () => {
    const watch = new TimerWatch();
    const pending = (): string[] => watch.pending.filter((timer) => !timer.includes('inbox'));
    beforeEach(() => watch.start());
    afterEach(() => watch.stop());

    it('are one, wherever it waits, and none when it is held no more', async () => {
      await start({ capacity: 2 });
      receiver.stations = [];
      await post('first', 'second', 'third', 'fourth');
      assert.equal(pending().length, 4);
      receiver.stations = [station()];
      assert.deepEqual(await statuses(), [200, 200, 200, 200]);
      assert.deepEqual(pending(), []);
    });

    it('are none where it need not wait', async () => {
      await start();
      inbox.isSlow = true;
      await post('first');
      assert.equal(pending().filter((timer) => timer.includes('hold')).length, 0);
      inbox.commit(1);
      assert.deepEqual(await statuses(), [200]);
    });

    it('end at once where the receiver closes, wherever it waits', async () => {
      await start({ capacity: 1 });
      receiver.stations = [];
      await post('first', 'second');
      receiver.dispatcher.close();
      await endOfTurn();
      assert.deepEqual(pending(), []);
      assert.deepEqual(await statuses(), [0, 0]);
    });
  });
});
