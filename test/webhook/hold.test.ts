import assert from 'node:assert/strict';
import net from 'node:net';
import type { Acceptance } from '../../lib/inbox/inbox';
import type { ProvenMessage } from '../../lib/message/record';
import { endOfTurn } from '../support/time/event-loop';
import { InlineInbox } from '../support/inbox/each-store';
import { TimerWatch } from '../support/time/virtual-time';
import { exchange, PATH, ReceiverUnderTest, type Answer } from './receiver-under-test';
import { signed, station } from './sample';

/** An inbox that notes what it is asked to store, at once, and stores it when told. */
class NotingInbox extends InlineInbox {
  readonly asked: string[] = [];
  readonly #commits: (() => void)[] = [];
  isSlow = false;

  override async accept(message: ProvenMessage): Promise<Acceptance> {
    this.asked.push(message.envelope.messageId);
    if (this.isSlow) await new Promise<void>((resolve) => this.#commits.push(resolve));
    return super.accept(message);
  }

  /** Stores the oldest of what waits. */
  commit(): void {
    this.#commits.shift()?.();
  }
}

/** A message as it stands on a connection; behind the last one the connection ends. */
function rawPost(messageId: string, isLast = false): string {
  const { body, headers } = signed({ messageId });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: receiver', `Content-Length: ${body.length}`, ...lines];
  return [...head, ...(isLast ? ['Connection: close'] : []), '', body].join('\r\n');
}

/** Longer than any test. */
const LONG = 600_000;

describe('a request that is held', () => {
  let inbox: NotingInbox;
  let receiver: ReceiverUnderTest;
  let answers: Promise<Answer>[];
  beforeEach(() => {
    inbox = new NotingInbox();
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
      answers.push(receiver.post(signed({ messageId })));
      await receiver.until(() => receiver.seen.requests > requests, messageId);
    }
  }

  async function statuses(): Promise<number[]> {
    return (await Promise.all(answers)).map(({ status }) => status);
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
      inbox.commit();
      await endOfTurn();
      assert.equal(inbox.asked.at(-1), expected);
    }
    inbox.commit();
    assert.deepEqual(await statuses(), [200, 200, 200]);
  });

  it('has left the line when its connection ends', async () => {
    await start({ capacity: 1 });
    inbox.isSlow = true;
    await post('first');
    const socket = net.connect(receiver.port, '127.0.0.1');
    socket.write(rawPost('second'));
    await receiver.until(() => receiver.seen.requests === 2, 'the second');
    await post('third');
    socket.destroy();
    await receiver.until(() => receiver.seen.connections === 2, 'the end of its connection');
    inbox.commit();
    await receiver.until(() => inbox.asked.length > 1, 'the next');
    assert.deepEqual(inbox.asked, ['first', 'third']);
    inbox.commit();
    assert.deepEqual(await statuses(), [200, 200]);
  });

  it('gives its place to the next when its connection ends', async () => {
    await start({ capacity: 1 });
    receiver.stations = [];
    const socket = net.connect(receiver.port, '127.0.0.1');
    socket.write(rawPost('first'));
    await receiver.until(() => receiver.seen.requests === 1, 'the first');
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
      assert.deepEqual(
        pending().filter((timer) => timer.includes('hold')),
        [],
      );
      inbox.commit();
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
