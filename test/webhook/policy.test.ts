import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import v8 from 'node:v8';
import { gzipSync } from 'node:zlib';
import { RvmError } from '../../lib/error';
import type { Acceptance } from '../../lib/inbox/inbox';
import type { ProvenMessage } from '../../lib/message/record';
import { Admission } from '../../lib/concurrency/semaphore';
import { Dispatcher, type ConfiguredPaths } from '../../lib/webhook/dispatcher';
import { authorizationFor, signed, station } from './sample';
import { InlineInbox } from '../support/inbox/each-store';
import { PATIENCE } from '../support/time/patience';
import { PATH, ReceiverUnderTest } from './receiver-under-test';

/** An inbox whose store fails as often as told. */
class FailingInbox extends InlineInbox {
  tries = 0;
  constructor(public failures: number) {
    super();
  }
  override async accept(message: ProvenMessage): Promise<Acceptance> {
    this.tries++;
    if (this.tries <= this.failures) throw new RvmError('STORE_FAILED', 'The disk is full; make room.');
    return super.accept(message);
  }
}

/** An inbox whose commit comes when told, and fails where told. */
class SlowInbox extends InlineInbox {
  readonly #commits: (() => void)[] = [];
  readonly #failed = new RvmError('STORE_FAILED', 'The disk is full; make room.');
  isBroken = false;
  override async accept(message: ProvenMessage): Promise<Acceptance> {
    await new Promise<void>((resolve) => this.#commits.push(resolve));
    if (this.isBroken) throw this.#failed;
    return super.accept(message);
  }
  get pending(): number {
    return this.#commits.length;
  }
  commit(): void {
    for (const resolve of this.#commits.splice(0)) resolve();
  }
}

describe('answers of the receiver', () => {
  let receiver: ReceiverUnderTest;
  afterEach(() => receiver.close());

  it('answers 200 with a tiny JSON body, the same for a repeat', async () => {
    receiver = await ReceiverUnderTest.start();
    const message = signed();
    const first = await receiver.post(message);
    const repeat = await receiver.post(message);
    assert.deepEqual([first.status, repeat.status], [200, 200]);
    assert.equal(first.headers['content-type'], 'application/json');
    assert.equal(first.text, repeat.text);
  });

  it('answers only after the inbox has stored the message', async () => {
    const inbox = new SlowInbox();
    receiver = await ReceiverUnderTest.start({ inbox });
    let isAnswered = false;
    const answer = receiver.post(signed()).finally(() => (isAnswered = true));
    await receiver.until(() => inbox.pending === 1, 'the commit');
    assert.equal(isAnswered, false);
    assert.equal(receiver.deliveries.length, 0);
    inbox.commit();
    assert.equal((await answer).status, 200);
    await receiver.delivered(1);
  });

  it('cuts the connection where the inbox is too slow, and knows the resend', async () => {
    const inbox = new SlowInbox();
    receiver = await ReceiverUnderTest.start({ inbox, commitMs: 1000 });
    const message = signed();
    assert.equal((await receiver.post(message)).status, 0);
    inbox.commit();
    await receiver.delivered(1);
    const resend = receiver.post(message);
    await receiver.until(() => inbox.pending === 1, 'the commit of the resend');
    inbox.commit();
    assert.equal((await resend).status, 200);
    assert.equal(receiver.deliveries.length, 1);
  });

  it('cuts the connection where the inbox fails', async () => {
    receiver = await ReceiverUnderTest.start({ inbox: new FailingInbox(Infinity) });
    assert.equal((await receiver.post(signed())).status, 0);
    assert.equal(receiver.deliveries.length, 0);
    assert.match(receiver.lines.join(), /could not store/);
  });

  it('C-64 cuts both connections where a repeat waits for a commit that fails', async () => {
    const inbox = new SlowInbox();
    receiver = await ReceiverUnderTest.start({ inbox });
    const message = signed();
    const answers = [receiver.post(message), receiver.post(message)];
    await receiver.until(() => inbox.pending === 2, 'the commits');
    inbox.isBroken = true;
    inbox.commit();
    assert.deepEqual(
      (await Promise.all(answers)).map(({ status }) => status),
      [0, 0],
    );
    assert.equal(receiver.deliveries.length, 0);

    inbox.isBroken = false;
    const resend = receiver.post(message);
    await receiver.until(() => inbox.pending === 1, 'the commit of the resend');
    inbox.commit();
    assert.equal((await resend).status, 200);
    await receiver.delivered(1);
  });

  it('C-125 answers 200 for what is spilled, and delivers it although the store fails', async () => {
    const inbox = new InlineInbox({ lookAgain: 20 });
    receiver = await ReceiverUnderTest.start({ inbox });
    inbox.fails = true;
    assert.equal((await receiver.post(signed({ messageId: 'spilled' }))).status, 200);
    await receiver.delivered(1);
    assert.equal(receiver.deliveries[0]?.message.envelope.messageId, 'spilled');
    assert.deepEqual(receiver.problems, []);
    assert.deepEqual(receiver.spells, [{ count: 1, isOver: false }]);
    inbox.fails = false;
    await receiver.until(() => receiver.spells.length === 2, 'the end of it');
    assert.equal(receiver.deliveries.length, 1);
  });

  it('tries a failing inbox again while it holds the request', async () => {
    receiver = await ReceiverUnderTest.start({ inbox: new FailingInbox(1), holdMs: PATIENCE });
    assert.equal((await receiver.post(signed())).status, 200);
    await receiver.delivered(1);
  });

  it('C-26 C-136 cuts the connection where no station has a usable phrase', async () => {
    receiver = await ReceiverUnderTest.start();
    for (const secret of ['', '  ', 'null', 'undefined', '${SECRET}', '$(SECRET)', 'with\0null']) {
      receiver.stations = [station({ secret })];
      const { body } = signed();
      assert.equal((await receiver.post({ body })).status, 0, JSON.stringify(secret));
    }
    for (const stations of [undefined, []]) {
      receiver.stations = stations;
      assert.equal((await receiver.post(signed())).status, 0);
    }
    assert.equal(receiver.problems.length, 0);
  });

  it('C-136 does not refuse what may belong to a station that cannot judge', async () => {
    receiver = await ReceiverUnderTest.start();
    for (const secret of ['${SECRET}', '', 'null']) {
      receiver.stations = [station({ secret: 'another phrase' }), station({ key: 'b', secret })];
      assert.equal((await receiver.post(signed())).status, 0, secret);
    }
  });

  it('judges a held request as soon as a station is there', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.stations = [];
    const answer = receiver.post(signed());
    receiver.stations = [station()];
    assert.equal((await answer).status, 200);
  });

  it('leaves a path alone that was never configured', async () => {
    receiver = await ReceiverUnderTest.start();
    const answer = await receiver.post({ ...signed(), path: '/elsewhere' });
    assert.deepEqual([answer.status, answer.text], [404, 'not ours']);
  });

  it('holds the paths of the last run until the flows run', async () => {
    receiver = await ReceiverUnderTest.start({
      rememberedPaths: [PATH, '/gone'],
      absent: true,
      holdMs: PATIENCE,
    });
    const held = receiver.post(signed());
    assert.equal((await receiver.post({ path: PATH, method: 'GET' })).status, 405);
    receiver.dispatcher.add(receiver.endpoint);
    assert.equal((await held).status, 200);
    assert.deepEqual(receiver.dispatcher.paths(), [PATH]);
    receiver.dispatcher.flowsStarted();
    assert.equal((await receiver.post({ ...signed(), path: '/gone' })).status, 404);
    assert.equal((await receiver.post(signed())).status, 200);
  });

  it('cuts a request on a remembered path whose node does not come', async () => {
    receiver = await ReceiverUnderTest.start({ rememberedPaths: [PATH], absent: true });
    assert.equal((await receiver.post(signed())).status, 0);
  });

  it('C-98 keeps the first endpoint of a path', async () => {
    receiver = await ReceiverUnderTest.start();
    const second = { ...receiver.endpoint, id: 'second', path: `${PATH}/` };
    assert.equal(receiver.dispatcher.add(second), false);
    receiver.dispatcher.remove(second);
    assert.equal((await receiver.post(signed())).status, 200);
  });

  it('C-99 holds the path of a removed endpoint for 60 s', async () => {
    let steady = 0;
    const moving = (): number => steady + performance.now();
    receiver = await ReceiverUnderTest.start({ steady: moving });
    receiver.dispatcher.flowsStarted();
    receiver.dispatcher.remove(receiver.endpoint);
    assert.equal((await receiver.post(signed())).status, 0);
    steady = 59_000;
    assert.equal((await receiver.post(signed())).status, 0);
    steady = 61_000;
    assert.equal((await receiver.post(signed())).status, 404);
  });

  it('C-99 holds it as long as the flows stand still, and for 60 s of their next run', async () => {
    let steady = 0;
    receiver = await ReceiverUnderTest.start({ steady: () => steady + performance.now() });
    receiver.dispatcher.flowsStopping();
    receiver.dispatcher.remove(receiver.endpoint);
    const answers: number[] = [];
    const after = async (seconds: number): Promise<void> => {
      steady += seconds * 1000;
      answers.push((await receiver.post(signed())).status);
    };
    await after(3600);
    receiver.dispatcher.flowsStarted();
    await after(59);
    // Of a pause in its last second nothing is taken away.
    receiver.dispatcher.flowsStopping();
    await after(3600);
    receiver.dispatcher.flowsStarted();
    await after(61);
    // Forgotten once, it is not remembered at the next stop.
    receiver.dispatcher.flowsStopping();
    await after(0);
    assert.deepEqual(answers, [0, 0, 0, 404, 404]);
  });

  it('cuts a request on a configured path whose node is not built, whether or not the flows run', async () => {
    const configured = (): ConfiguredPaths => ({ paths: [`${PATH}/`], hasUnknown: false });
    receiver = await ReceiverUnderTest.start({ absent: true, configured });
    assert.equal((await receiver.post(signed())).status, 0);
    receiver.dispatcher.flowsStarted();
    assert.equal((await receiver.post(signed())).status, 0);
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
    receiver = await ReceiverUnderTest.start({ absent: true, configured, steady: () => time });
    for (let index = 0; index < 20; index += 1) assert.equal((await receiver.post(signed())).status, 404);
    assert.equal(looks, 1);
    paths.push(PATH);
    time += 250;
    assert.equal((await receiver.post(signed())).status, 0);
    assert.equal(looks, 2);
  });

  it('C-99 C-133 judges a request that waits through a redeploy', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.dispatcher.remove(receiver.endpoint);
    const answer = receiver.post(signed());
    assert.equal(receiver.dispatcher.add({ ...receiver.endpoint }), true);
    assert.equal((await answer).status, 200);
    await receiver.delivered(1);
  });

  it('C-99 finishes what is in flight when its endpoint goes', async () => {
    const inbox = new SlowInbox();
    receiver = await ReceiverUnderTest.start({ inbox });
    const answer = receiver.post(signed());
    await receiver.until(() => inbox.pending === 1, 'the commit');
    receiver.dispatcher.remove(receiver.endpoint);
    inbox.commit();
    assert.equal((await answer).status, 200);
  });

  it('cuts, and never refuses, what is too much at a time', async () => {
    const inbox = new SlowInbox();
    receiver = await ReceiverUnderTest.start({ inbox, capacity: 2 });
    let answered = 0;
    const answers = Array.from({ length: 20 }, () => receiver.post(signed()).finally(() => (answered += 1)));
    await receiver.until(() => inbox.pending === 2, 'two commits');
    const late = await Promise.race(answers);
    assert.equal(late.status, 0);
    inbox.commit();
    await receiver.delivered(2);
    // What has found a place since then is stored no more.
    inbox.isBroken = true;
    const isDone = (): boolean => {
      inbox.commit();
      return answered === 20;
    };
    await receiver.until(isDone, 'all answers');
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(
      [...new Set(statuses)].sort((one, other) => one - other),
      [0, 200],
    );
    assert.equal(statuses.filter((status) => status === 200).length, 2);
  });

  it('names the compression of a body that does not say so, as it came and as it was signed', async () => {
    receiver = await ReceiverUnderTest.start();
    const { body, headers } = signed();
    const packed = gzipSync(body);
    assert.equal((await receiver.post({ body: packed, headers })).status, 401);
    const Authorization = authorizationFor(packed);
    assert.equal((await receiver.post({ body: packed, headers: { Authorization } })).status, 200);
    assert.deepEqual(receiver.reasons(), ['compressed', 'not-utf8']);
  });

  it('takes a message behind two byte-order marks', async () => {
    receiver = await ReceiverUnderTest.start();
    const { body } = signed();
    const marked = `\uFEFF\uFEFF${body}`;
    const headers = { Authorization: authorizationFor(marked) };
    assert.equal((await receiver.post({ body: marked, headers })).status, 200);
    await receiver.delivered(1);
    assert.deepEqual(receiver.reasons(), []);
  });

  it('lets alarms of one path in, however much waits at another that cannot judge', async () => {
    receiver = await ReceiverUnderTest.start({ capacity: 2, holdMs: PATIENCE });
    const other = { ...receiver.endpoint, id: 'other', path: '/remote-monitoring/other', stations: () => [] };
    receiver.dispatcher.add(other);
    const waiting = Array.from({ length: 8 }, () => receiver.post({ body: '{}', path: other.path }));
    assert.equal((await receiver.post(signed())).status, 200);
    receiver.dispatcher.close();
    assert.deepEqual([...new Set((await Promise.all(waiting)).map(({ status }) => status))], [0]);
  });

  it('holds at most 32 MiB of bodies for a path that cannot judge', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.stations = [];
    const body = 'x'.repeat(1024 * 1024);
    let cut = 0;
    const answers = Array.from({ length: 40 }, async () => {
      const { status } = await receiver.post({ body });
      if (status === 0) cut += 1;
    });
    await receiver.until(() => cut >= 8, 'what is too much');
    assert.ok(cut < 40);
    receiver.dispatcher.close();
    await Promise.all(answers);
  });

  it('remembers nothing of paths without a request under way', async () => {
    receiver = await ReceiverUnderTest.start();
    const before = v8.queryObjects(Admission);
    for (let index = 0; index < 20; index++) {
      const endpoint = { ...receiver.endpoint, id: `endpoint-${index}`, path: `${PATH}-${index}` };
      receiver.dispatcher.add(endpoint);
      assert.equal((await receiver.post({ ...signed(), path: endpoint.path })).status, 200);
      receiver.dispatcher.remove(endpoint);
    }
    assert.equal(v8.queryObjects(Admission), before);
  });

  it('gives up what is held when it closes', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
    receiver.stations = [];
    const answer = receiver.post(signed());
    await new Promise((resolve) => setImmediate(resolve));
    receiver.dispatcher.close();
    assert.equal((await answer).status, 0);
  });

  it('cuts what comes after it has closed', async () => {
    receiver = await ReceiverUnderTest.start();
    receiver.dispatcher.close();
    assert.equal((await receiver.post(signed())).status, 0);
    assert.equal((await receiver.post({ method: 'GET' })).status, 0);
    assert.equal(receiver.deliveries.length, 0);
  });

  it('survives a consumer of problems that throws', async () => {
    receiver = await ReceiverUnderTest.start({
      endpoint: {
        onProblem: () => {
          throw new Error('broken node');
        },
      },
    });
    assert.equal((await receiver.post({ body: 'x' })).status, 401);
    assert.equal((await receiver.post(signed())).status, 200);
  });

  it('survives stations that cannot be asked', async () => {
    receiver = await ReceiverUnderTest.start({
      endpoint: {
        stations: () => {
          throw new Error('broken node');
        },
      },
    });
    assert.equal((await receiver.post(signed())).status, 0);
  });

  describe('with a middleware', () => {
    it('C-137 runs it after the bytes were read and before they are judged', async () => {
      const seen: unknown[] = [];
      receiver = await ReceiverUnderTest.start({
        endpoint: {
          middleware: (req, _res, next) => {
            seen.push(req.complete, Reflect.get(req, '_body'));
            next();
          },
        },
      });
      assert.equal((await receiver.post(signed())).status, 200);
      assert.deepEqual(seen, [true, true]);
    });

    it('C-137 lets it refuse with an answer of its own', async () => {
      receiver = await ReceiverUnderTest.start({
        endpoint: { middleware: (_req, res) => res.writeHead(418).end('no') },
      });
      assert.equal((await receiver.post(signed())).status, 418);
      assert.equal(receiver.deliveries.length, 0);
    });

    it('C-137 takes an answer that it also hands on for its own', async () => {
      receiver = await ReceiverUnderTest.start({
        endpoint: {
          middleware: (_req, res, next) => {
            res.writeHead(418).end('no');
            next();
          },
        },
      });
      assert.equal((await receiver.post(signed())).status, 418);
      assert.equal(receiver.deliveries.length, 0);
    });

    it('C-137 cuts the connection where it began an answer and handed on', async () => {
      receiver = await ReceiverUnderTest.start({
        endpoint: {
          middleware: (_req, res, next) => {
            res.writeHead(200);
            res.write('half');
            next();
          },
        },
      });
      const { body, headers } = signed();
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const head = [`POST ${PATH} HTTP/1.1`, 'Host: receiver', `Content-Length: ${body.length}`, ...lines];
      const text = await receiver.raw([[...head, '', body].join('\r\n')]);
      assert.doesNotMatch(text, /ok|\r\n0\r\n/);
      assert.equal(receiver.deliveries.length, 0);
    });

    it('C-137 keeps its headers, but not its framing', async () => {
      receiver = await ReceiverUnderTest.start({
        endpoint: {
          middleware: (_req, res, next) => {
            res.setHeader('X-Trace', 'abc').setHeader('Transfer-Encoding', 'chunked');
            next();
          },
        },
      });
      const { status, headers, text } = await receiver.post(signed());
      assert.deepEqual([status, headers['x-trace'], text], [200, 'abc', '{"ok":true}']);
      assert.equal(headers['transfer-encoding'], undefined);
    });

    for (const [title, failure] of [
      ['hands on an error', (next: (error?: unknown) => void) => next(new Error('broken'))],
      [
        'throws',
        () => {
          throw new Error('broken');
        },
      ],
      ['never ends', () => undefined],
      ['rejects', async () => Promise.reject(new Error('broken'))],
    ] as const) {
      it(`C-137 cuts the connection where it ${title}`, async () => {
        receiver = await ReceiverUnderTest.start({
          // Whatever it does, it may not take longer than an answer may take altogether.
          holdMs: 60_000,
          commitMs: 200,
          endpoint: { middleware: (_req, _res, next) => failure(next) },
        });
        assert.equal((await receiver.post(signed())).status, 0);
        assert.equal(receiver.deliveries.length, 0);
      });
    }
  });
});

describe('a body that something in front has read', () => {
  it('is never judged by what is left of it', async () => {
    const problems: (string | null)[] = [];
    const dispatcher = new Dispatcher({ holdMs: 50 });
    const inbox = new InlineInbox();
    dispatcher.add({
      id: 'webhook-in',
      path: PATH,
      stations: () => [station()],
      watch: () => () => undefined,
      stationOfAgentUser: () => undefined,
      inbox,
      onProblem: ({ reason }) => problems.push(reason),
    });
    const server = http.createServer((req, res) => {
      req.resume().once('end', () => dispatcher.handle(req, res));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { body, headers } = signed();
    const request = http.request({
      port,
      host: '127.0.0.1',
      path: PATH,
      method: 'POST',
      headers,
      agent: false,
    });
    request.end(body);
    const [error] = await once(request, 'error');
    assert.ok(error instanceof Error);
    assert.deepEqual(problems, ['raw-body-missing']);
    dispatcher.close();
    server.close();
    await inbox.close();
  });
});
