import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import v8 from 'node:v8';
import { gzipSync } from 'node:zlib';
import { FairQueue } from '../../lib/concurrency/fair-queue';
import { Dispatcher, type ConfiguredPaths, type DispatcherOptions } from '../../lib/webhook/dispatcher';
import type { Endpoint } from '../../lib/webhook/endpoint';
import { authorizationFor, signed, station } from './sample';
import { InlineInbox } from '../support/inbox/each-store';
import { portOf } from '../support/network/servers';
import { PATIENCE } from '../support/time/patience';
import { endOfTurn } from '../support/time/event-loop';
import { TimerWatch } from '../support/time/virtual-time';
import { countsOf, endpointOf, exchange, GatedInbox, PATH } from './receiver-under-test';
import { ReceiverUnderTest, signedText } from './receiver-under-test';

describe('answers of the receiver', () => {
  let receiver: ReceiverUnderTest;
  afterEach(() => receiver.close());

  /** Lets so many go on once they wait. */
  async function commit(inbox: GatedInbox, count: number): Promise<void> {
    await receiver.until(() => inbox.pending === count, `${count} commits`);
    inbox.commit();
  }

  it('answers 200 with a tiny JSON body, the same for a repeat', async () => {
    receiver = await ReceiverUnderTest.start();
    const message = signed();
    const [first, repeat] = [await receiver.post(message), await receiver.post(message)];
    assert.deepEqual([first.status, first.headers['content-type']], [200, 'application/json']);
    assert.deepEqual([repeat.status, repeat.text], [200, first.text]);
  });

  it('answers only after the inbox has stored the message, and C-99 finishes that when its endpoint goes', async () => {
    const inbox = new GatedInbox({ isSlow: true });
    receiver = await ReceiverUnderTest.start({ inbox });
    let isAnswered = false;
    const answer = receiver.statusOf(signed()).finally(() => (isAnswered = true));
    await receiver.until(() => inbox.pending === 1, 'the commit');
    assert.deepEqual([isAnswered, receiver.deliveries], [false, []]);
    receiver.dispatcher.remove(receiver.endpoint);
    inbox.commit();
    assert.equal(await answer, 200);
    await receiver.delivered(1);
  });

  it('cuts the connection where the inbox is too slow, and knows the resend', async () => {
    const inbox = new GatedInbox({ isSlow: true });
    receiver = await ReceiverUnderTest.start({ inbox, commitMs: 1000 });
    const message = signed();
    assert.equal(await receiver.statusOf(message), 0);
    inbox.commit();
    await receiver.delivered(1);
    const resend = receiver.statusOf(message);
    await commit(inbox, 1);
    assert.deepEqual([await resend, receiver.deliveries.length], [200, 1]);
  });

  it('cuts the connection where the inbox fails', async () => {
    receiver = await ReceiverUnderTest.start({ inbox: new GatedInbox({ failures: Infinity }) });
    assert.equal(await receiver.statusOf(signed()), 0);
    assert.equal(receiver.deliveries.length, 0);
    assert.match(receiver.lines.join(), /could not store/);
  });

  it('C-64 cuts both connections where a repeat waits for a commit that fails', async () => {
    const inbox = new GatedInbox({ isSlow: true });
    receiver = await ReceiverUnderTest.start({ inbox });
    const message = signed();
    const answers = [receiver.statusOf(message), receiver.statusOf(message)];
    inbox.failures = Infinity;
    await commit(inbox, 2);
    assert.deepEqual(await Promise.all(answers), [0, 0]);
    assert.equal(receiver.deliveries.length, 0);

    inbox.failures = 0;
    const resend = receiver.statusOf(message);
    await commit(inbox, 1);
    assert.equal(await resend, 200);
    await receiver.delivered(1);
  });

  it('C-125 answers 200 for what is spilled, and delivers it although the store fails', async () => {
    const inbox = new InlineInbox({ lookAgain: 20 });
    receiver = await ReceiverUnderTest.start({ inbox });
    inbox.fails = true;
    await receiver.takes(signed({ messageId: 'spilled' }));
    await receiver.delivered(1);
    assert.equal(receiver.deliveries[0]?.message.envelope.messageId, 'spilled');
    assert.deepEqual(receiver.problems, []);
    assert.deepEqual(receiver.spells, [{ count: 1, isOver: false }]);
    inbox.fails = false;
    await receiver.until(() => receiver.spells.length === 2, 'the end of it');
    assert.equal(receiver.deliveries.length, 1);
  });

  it('tries a failing inbox again while it holds the request', async () => {
    receiver = await ReceiverUnderTest.start({ inbox: new GatedInbox({ failures: 1 }), holdMs: PATIENCE });
    await receiver.takes(signed());
    await receiver.delivered(1);
  });

  const unusable = ['', '  ', 'null', 'undefined', '${SECRET}', '$(SECRET)', 'with\0null'].map((secret) =>
    station({ key: 'b', secret }),
  );
  const another = station({ secret: 'another phrase' });
  for (const [title, lists] of [
    ['C-26 C-136 where no station has a usable phrase', [undefined, [], ...unusable.map((one) => [one])]],
    ['C-136 of what may belong to a station that cannot judge', unusable.map((one) => [another, one])],
  ] as const)
    it(`cuts the connection ${title}`, async () => {
      receiver = await ReceiverUnderTest.start();
      for (const stations of lists) {
        receiver.stations = stations && [...stations];
        assert.equal(await receiver.statusOf(signed()), 0, JSON.stringify(stations));
      }
      assert.equal(receiver.problems.length, 0);
    });

  it('holds the paths of the last run until the flows run', async () => {
    const rememberedPaths = [PATH, '/gone'];
    receiver = await ReceiverUnderTest.start({ rememberedPaths, absent: true, holdMs: PATIENCE });
    const held = receiver.statusOf(signed());
    assert.equal(await receiver.statusOf({ path: PATH, method: 'GET' }), 405);
    receiver.dispatcher.add(receiver.endpoint);
    assert.equal(await held, 200);
    assert.deepEqual(receiver.dispatcher.paths(), [PATH]);
    receiver.dispatcher.flowsStarted();
    assert.equal(await receiver.statusOf({ ...signed(), path: '/gone' }), 404);
    await receiver.takes(signed());
  });

  it('C-98 keeps the first endpoint of a path', async () => {
    receiver = await ReceiverUnderTest.start();
    const second = { ...receiver.endpoint, id: 'second', path: `${PATH}/` };
    assert.equal(receiver.dispatcher.add(second), false);
    receiver.dispatcher.remove(second);
    await receiver.takes(signed());
  });

  it('C-99 holds the path of a removed endpoint for 60 s of running flows, and as long as they stand still', async () => {
    let steady = 0;
    receiver = await ReceiverUnderTest.start({ monotonic: () => steady + performance.now() });
    const { dispatcher, endpoint } = receiver;
    const answers: number[] = [];
    const after = async (...seconds: number[]): Promise<void> => {
      for (const each of seconds) {
        steady += each * 1000;
        answers.push(await receiver.statusOf(signed()));
      }
    };
    dispatcher.flowsStarted();
    dispatcher.remove(endpoint);
    await after(0, 59, 2);
    dispatcher.add(endpoint);
    dispatcher.flowsStopping();
    dispatcher.remove(endpoint);
    await after(3600);
    dispatcher.flowsStarted();
    await after(59);
    // Of a pause in its last second nothing is taken away.
    dispatcher.flowsStopping();
    await after(3600);
    dispatcher.flowsStarted();
    await after(61);
    // Forgotten once, it is not remembered at the next stop.
    dispatcher.flowsStopping();
    await after(0);
    assert.deepEqual(answers, [0, 0, 404, 0, 0, 0, 404, 404]);
  });

  it('cuts a request on a configured path whose node is not built, whether or not the flows run', async () => {
    const configured = (): ConfiguredPaths => ({ paths: [`${PATH}/`], hasUnknown: false });
    receiver = await ReceiverUnderTest.start({ absent: true, configured });
    assert.equal(await receiver.statusOf(signed()), 0);
    receiver.dispatcher.flowsStarted();
    assert.equal(await receiver.statusOf(signed()), 0);
    assert.deepEqual(receiver.dispatcher.paths(), [PATH]);
  });

  it('looks through the configuration some times a second at most, however much is asked for what nobody has', async () => {
    let looks = 0;
    let time = 0;
    const paths: string[] = [];
    const configured = (): ConfiguredPaths => {
      looks += 1;
      return { paths, hasUnknown: false };
    };
    receiver = await ReceiverUnderTest.start({ absent: true, configured, monotonic: () => time });
    for (let index = 0; index < 20; index += 1) assert.equal(await receiver.statusOf(signed()), 404);
    assert.equal(looks, 1);
    paths.push(PATH);
    time += 250;
    assert.equal(await receiver.statusOf(signed()), 0);
    assert.equal(looks, 2);
  });

  it('C-99 C-133 judges a request that waits through a redeploy', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.dispatcher.remove(receiver.endpoint);
    const answer = receiver.statusOf(signed());
    assert.equal(receiver.dispatcher.add({ ...receiver.endpoint }), true);
    assert.equal(await answer, 200);
    await receiver.delivered(1);
  });

  it('cuts, and never refuses, what is too much at a time', async () => {
    const inbox = new GatedInbox({ isSlow: true });
    receiver = await ReceiverUnderTest.start({ inbox, capacity: 2 });
    let answered = 0;
    const answers = Array.from({ length: 20 }, () =>
      receiver.statusOf(signed()).finally(() => (answered += 1)),
    );
    await receiver.until(() => inbox.pending === 2, 'two commits');
    assert.equal(await Promise.race(answers), 0);
    inbox.commit();
    await receiver.delivered(2);
    // What has found a place since then is stored no more.
    inbox.failures = Infinity;
    await receiver.until(() => {
      inbox.commit();
      return answered === 20;
    }, 'all answers');
    assert.deepEqual(countsOf(await Promise.all(answers), 200, 0), [2, 18]);
  });

  it('names the compression of a body that does not say so, and takes a message behind two byte-order marks', async () => {
    receiver = await ReceiverUnderTest.start();
    const { body, headers } = signed();
    const [packed, marked] = [gzipSync(body), `\uFEFF\uFEFF${body}`];
    assert.equal(await receiver.statusOf({ body: packed, headers }), 401);
    for (const sent of [packed, marked])
      await receiver.takes({ body: sent, headers: { Authorization: authorizationFor(sent) } });
    await receiver.delivered(1);
    assert.deepEqual(receiver.reasons(), ['compressed', 'not-utf8']);
  });

  it('lets alarms of one path in, however much waits at another that cannot judge', async () => {
    receiver = await ReceiverUnderTest.start({ capacity: 2, holdMs: PATIENCE });
    const other = { ...receiver.endpoint, id: 'other', path: '/remote-monitoring/other', stations: () => [] };
    receiver.dispatcher.add(other);
    const waiting = Array.from({ length: 8 }, () => receiver.statusOf({ body: '{}', path: other.path }));
    await receiver.takes(signed());
    receiver.dispatcher.close();
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([0]));
  });

  it('holds at most 32 MiB of bodies for a path that cannot judge', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.stations = [];
    const body = 'x'.repeat(1024 * 1024);
    let cut = 0;
    const answers = Array.from({ length: 40 }, async () => {
      if ((await receiver.statusOf({ body })) === 0) cut += 1;
    });
    await receiver.until(() => cut >= 8, 'what is too much');
    assert.ok(cut < 40);
    receiver.dispatcher.close();
    await Promise.all(answers);
  });

  it('remembers nothing of paths without a request under way', async () => {
    receiver = await ReceiverUnderTest.start();
    const before = v8.queryObjects(FairQueue);
    for (let index = 0; index < 20; index++) {
      const endpoint = { ...receiver.endpoint, id: `endpoint-${index}`, path: `${PATH}-${index}` };
      receiver.dispatcher.add(endpoint);
      await receiver.takes({ ...signed(), path: endpoint.path });
      receiver.dispatcher.remove(endpoint);
    }
    assert.equal(v8.queryObjects(FairQueue), before);
  });

  const broken = (): never => assert.fail('a broken node');

  for (const [title, options] of [
    ['on a remembered path whose node does not come', { rememberedPaths: [PATH], absent: true }],
    ['where the stations cannot be asked', { endpoint: { stations: broken } }],
  ] as const)
    it(`cuts a request ${title}`, async () => {
      receiver = await ReceiverUnderTest.start(options);
      assert.equal(await receiver.statusOf(signed()), 0);
    });

  it('cuts what comes after it has closed', async () => {
    receiver = await ReceiverUnderTest.start();
    receiver.dispatcher.close();
    assert.deepEqual([await receiver.statusOf(signed()), await receiver.statusOf({ method: 'GET' })], [0, 0]);
    assert.equal(receiver.deliveries.length, 0);
  });

  it('survives a consumer of problems that throws', async () => {
    receiver = await ReceiverUnderTest.start({ endpoint: { onProblem: broken } });
    assert.equal(await receiver.statusOf({ body: 'x' }), 401);
    await receiver.takes(signed());
  });

  describe('with a middleware', () => {
    async function startWith(
      middleware: Endpoint['middleware'],
      times: DispatcherOptions = {},
    ): Promise<void> {
      receiver = await ReceiverUnderTest.start({ ...times, ...(middleware && { endpoint: { middleware } }) });
    }

    it('C-137 runs it after the bytes were read and before they are judged', async () => {
      const seen: unknown[] = [];
      await startWith((req, _res, next) => {
        seen.push(req.complete, Reflect.get(req, '_body'));
        next();
      });
      await receiver.takes(signed());
      assert.deepEqual(seen, [true, true]);
    });

    for (const isHandedOn of [false, true])
      it(`C-137 lets it refuse with an answer of its own${isHandedOn ? ', which it also hands on' : ''}`, async () => {
        await startWith((_req, res, next) => {
          res.writeHead(418).end('no');
          if (isHandedOn) next();
        });
        assert.equal(await receiver.statusOf(signed()), 418);
        assert.equal(receiver.deliveries.length, 0);
      });

    it('C-137 cuts the connection where it began an answer and handed on', async () => {
      await startWith((_req, res, next) => {
        res.writeHead(200);
        res.write('half');
        next();
      });
      assert.doesNotMatch(await receiver.raw([signedText()]), /ok|\r\n0\r\n/);
      assert.equal(receiver.deliveries.length, 0);
    });

    it('C-137 keeps its headers, but not its framing', async () => {
      await startWith((_req, res, next) => {
        res.setHeader('X-Trace', 'abc').setHeader('Transfer-Encoding', 'chunked');
        next();
      });
      const { status, headers, text } = await receiver.post(signed());
      assert.deepEqual([status, headers['x-trace'], text], [200, 'abc', '{"ok":true}']);
      assert.equal(headers['transfer-encoding'], undefined);
    });

    for (const [title, failure] of [
      ['hands on an error', (next: (error?: unknown) => void) => next(new Error('broken'))],
      ['throws', broken],
      ['never ends', () => undefined],
      ['rejects', async () => broken()],
    ] as const)
      it(`C-137 cuts the connection where it ${title}`, async () => {
        // Whatever it does, it may not take longer than an answer may take altogether.
        await startWith((_req, _res, next) => failure(next), { holdMs: 60_000, commitMs: 200 });
        assert.equal(await receiver.statusOf(signed()), 0);
        assert.equal(receiver.deliveries.length, 0);
      });
  });
});

describe('a body that something in front has read', () => {
  it('is never judged by what is left of it', async () => {
    const problems: (string | null)[] = [];
    const dispatcher = new Dispatcher({ holdMs: 50 });
    const endpoint = endpointOf({ onProblem: ({ reason }) => problems.push(reason) });
    dispatcher.add(endpoint);
    const server = http.createServer((req, res) => {
      req.resume().once('end', () => dispatcher.handle(req, res));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const answer = exchange(net.connect(portOf(server), '127.0.0.1'), [signedText()]);
    assert.deepEqual([await answer, problems], ['', ['raw-body-missing']]);
    dispatcher.close();
    server.close();
    await endpoint.inbox.close();
  });
});

/** A message as it stands on a connection; behind the last one the connection ends. */
const rawPost = (messageId: string, isLast = false): string =>
  signedText(signed({ messageId }).body, isLast ? ['Connection: close'] : []);

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

  for (const [what, absent] of [
    ['its endpoint comes', true],
    ['a station has its phrase', false],
  ] as const)
    it(`goes on in the turn in which ${what}, behind those that came before`, async () => {
      await start({ rememberedPaths: [PATH], absent });
      if (!absent) receiver.stations = [station({ secret: '' })];
      await post('first', 'second', 'third');
      if (absent) receiver.dispatcher.add(receiver.endpoint);
      else receiver.stations = [station()];
      await endOfTurn();
      assert.deepEqual(inbox.asked, ['first', 'second', 'third']);
      assert.deepEqual(await statuses(), [200, 200, 200]);
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
