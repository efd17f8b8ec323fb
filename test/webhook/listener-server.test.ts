import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { Dispatcher, PageRoutes } from '../../lib/webhook/dispatcher';
import { DEFAULT_LIMITS, ListenerServer, type ListenerLimits } from '../../lib/webhook/listener-server';
import type { Problem } from '../../lib/webhook/problem';
import { Senders } from '../../lib/webhook/request';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { portOf } from '../support/network/servers';
import { blockFor } from '../support/time/event-loop';
import { endpointOf, exchange, PATH, requestText, signedText, statusesIn } from './receiver-under-test';
import { signed } from './sample';

interface Setting {
  limits?: Partial<ListenerLimits>;
  tls?: tls.SecureContextOptions;
  senders?: Senders;
}

const CLOSE = 'Connection: close';

/** A good alarm, on a connection that ends with it unless said. */
const alarm = (lines = [CLOSE], target = PATH): string => signedText(signed().body, lines, target);

/** 0 = there was no answer. */
const statusOf = (text: string): number => statusesIn(text)[0] ?? 0;

describe('the server of a listener', () => {
  let server: ListenerServer;
  /** Moved by the test alone. */
  let now = 0;
  const problems: Problem[] = [];
  const lines: string[] = [];
  const sockets: net.Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    now = 0;
    for (const told of [problems, lines]) told.splice(0);
  });

  async function start({ limits, senders = new Senders(), ...secure }: Setting = {}): Promise<void> {
    const shared = { senders, log: (line: string) => void lines.push(line), monotonic: () => now };
    const dispatcher = new Dispatcher({ senders, log: shared.log });
    dispatcher.add(endpointOf({ onProblem: (problem) => problems.push(problem) }));
    const served = { dispatcher, pages: new PageRoutes(), limits: { ...DEFAULT_LIMITS, ...limits } };
    server = new ListenerServer({ ...served, tls: undefined, ...secure, ...shared });
    await server.listen(0, '127.0.0.1');
  }

  function open(): net.Socket {
    const socket = net.connect(portOf(server), '127.0.0.1');
    sockets.push(socket);
    return socket;
  }

  /** A connection on which nothing is said yet. */
  async function connect(): Promise<net.Socket> {
    const socket = open().on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  /** What comes back for bytes written by hand. */
  const raw = (bytes: string | Uint8Array): Promise<string> => exchange(open(), [bytes]);
  const rawOverTls = (text: string): Promise<string> =>
    exchange(tls.connect({ socket: open(), rejectUnauthorized: false }), [text]);

  async function takesAlarms(): Promise<void> {
    assert.equal(statusOf(await raw(alarm())), 200);
  }

  it('C-44 refuses a request with two Host headers, or none', async () => {
    await start();
    for (const hosts of ['Host: receiver\r\nHost: receiver\r\n', 'Host: receiver\r\nhOST: other\r\n', '']) {
      const text = alarm().replace('Host: receiver\r\n', hosts);
      assert.equal(statusOf(await raw(text)), 400, hosts);
    }
    await takesAlarms();
  });

  it('C-47 answers 408 to a head that takes too long, and closes', async () => {
    await start({ limits: { headMs: 100, checkMs: 20 } });
    for (const begun of ['', 'P', `POST ${PATH} HTTP/1.1\r\n`, requestText('').slice(0, -2)])
      assert.equal(statusOf(await raw(begun)), 408, begun);
    await takesAlarms();
  });

  it('C-47 takes a head that was there in time, though the process was too busy to look', async () => {
    await start({ limits: { headMs: 1000, checkMs: 20 } });
    const text = alarm();
    const late = exchange(await connect(), [text.slice(0, 60)]).catch(String);
    // Once this one is answered, the first has been read as far as it came.
    await takesAlarms();
    const early = await connect();
    early.write(text.slice(0, 60));
    await takesAlarms();
    const answered = exchange(early, [text.slice(60)]);
    blockFor(1100);
    assert.equal(statusOf(await answered), 200);
    assert.equal(statusOf(await late), 408);
  });

  it('C-50 refuses more header lines than Node keeps, for one of them might be a second Host', async () => {
    await start();
    const filler = Array.from({ length: 1100 }, () => 'a:');
    assert.equal(statusOf(await raw(alarm(filler))), 431);
  });

  it('answers 404 on a path that was never configured, the same to everybody', async () => {
    await start();
    const others = [requestText('', [CLOSE], '/flows', 'GET'), requestText('{}', [CLOSE], '/', 'PUT')];
    const requests = [alarm([CLOSE], '/other'), ...others];
    const answers = await Promise.all(requests.map((request) => raw(request)));
    const withoutDate = answers.map((text) => text.replace(/^Date: .*\r\n/m, ''));
    assert.equal(new Set(withoutDate).size, 1, withoutDate.join('\n'));
    assert.match(answers[0] ?? '', /^HTTP\/1\.1 404 [\s\S]*\r\n\r\n{"error":"not found"}$/);
  });

  it('lets the answer to an alarm out though junk follows it, and ends the connection behind it', async () => {
    await start();
    const text = await raw(`${alarm([])}\0junk\r\n\r\n`);
    assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200']);
  });

  describe('C-49 with connections on which no request comes', () => {
    /** Counts this machine like any other. */
    class Strangers extends Senders {
      override isShared(): boolean {
        return false;
      }
    }

    /** How many of the connections the server has closed, once it has dealt with all before. */
    async function closedAmong(sockets: readonly net.Socket[]): Promise<number> {
      await takesAlarms();
      await new Promise((resolve) => setImmediate(resolve));
      return sockets.filter((socket) => socket.closed || socket.readableEnded).length;
    }

    async function closed(sockets: readonly net.Socket[]): Promise<void> {
      for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
    }

    async function connections(count: number): Promise<net.Socket[]> {
      const sockets: net.Socket[] = [];
      for (let index = 0; index < count; index++) sockets.push((await connect()).resume());
      return sockets;
    }

    it('closes the oldest above the bound of all, and the sender gets in', async () => {
      await start({ senders: new Strangers(), limits: { maxWaiting: 10 } });
      const sockets = await connections(30);
      await takesAlarms();
      await closed(sockets.slice(0, 20));
      assert.equal(sockets.at(-1)?.closed, false);
      assert.equal(lines.filter((line) => line.includes('to make room')).length, 1);
    });

    it('closes the oldest of one address above 50, where they are older than 2 s', async () => {
      await start({ senders: new Strangers() });
      const sockets = await connections(60);
      assert.equal(await closedAmong(sockets), 0);
      now = 2000;
      await takesAlarms();
      await closed(sockets.slice(0, 11));
      assert.equal(sockets.at(-1)?.closed, false);
    });

    it('closes none of this machine, which may be a proxy', async () => {
      await start({ limits: { maxWaiting: 10 } });
      const sockets = await connections(60);
      now = 10_000;
      assert.equal(await closedAmong(sockets), 0);
    });

    it('counts a connection anew once its request is answered, and not while a request waits', async () => {
      await start({ senders: new Strangers(), limits: { maxWaiting: 2 } });
      const kept = await connect();
      kept.write(alarm([]));
      await once(kept, 'data');
      await connections(2);
      await closed([kept.resume()]);
    });
  });

  describe('C-54 with other protocols', () => {
    before(function () {
      needs(this, 'openssl');
    });

    /** Two tries, of which the log tells once. */
    async function refuses(attempt: () => Promise<string>, expected: RegExp, line: RegExp): Promise<void> {
      for (let time = 0; time < 2; time++) assert.match(await attempt(), expected);
      assert.equal(lines.filter((text) => line.test(text)).length, 1, lines.join('\n'));
      now += 60_000;
      await attempt();
      assert.equal(lines.filter((text) => line.test(text)).length, 2);
    }

    it('refuses TLS without a certificate, and says once a minute what that may mean', async () => {
      await start();
      const hello = Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3, 13, 10, 13, 10]);
      await refuses(() => raw(hello), /^HTTP\/1\.1 400 /, /spoke TLS/);
      await takesAlarms();
    });

    it('refuses plain HTTP where TLS is spoken, without a word in clear', async () => {
      await start({ tls: selfSigned() });
      await refuses(() => raw(alarm()), /^(?!HTTP)/, /plain HTTP/);
      assert.equal(statusOf(await rawOverTls(alarm())), 200);
    });

    it('refuses the preface of HTTP/2', async () => {
      await start();
      await refuses(() => raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /^HTTP\/1\.1 400 /, /HTTP\/2/);
      await takesAlarms();
    });

    it('lives on when a greeting of TLS is broken off, or never comes to its end', async () => {
      await start({ tls: selfSigned(), limits: { headMs: 1000 } });
      const broken = await connect();
      broken.write(Buffer.from([0x16, 3, 1, 2, 0]));
      broken.resetAndDestroy();
      assert.equal(await raw(Buffer.from([0x16, 3, 1, 2, 0])), '');
      assert.equal(statusOf(await rawOverTls(alarm())), 200);
    });

    it('C-47 answers 408 over TLS, too', async () => {
      await start({ tls: selfSigned(), limits: { headMs: 1000, checkMs: 20 } });
      assert.equal(statusOf(await rawOverTls('POST')), 408);
      assert.equal(statusOf(await rawOverTls(alarm())), 200);
    });
  });

  it('C-91 names the sender behind a proxy in a problem, and nobody else’s word', async () => {
    const senders = new Senders();
    await start({ senders });
    const forwarded = [CLOSE, 'X-Forwarded-For: 203.0.113.9, 198.51.100.1'];
    assert.equal(statusOf(await raw(requestText('{}', forwarded))), 401);
    senders.setProxies(['127.0.0.1']);
    const signedWrongly = requestText('{}', [...forwarded, 'Authorization: HMAC-SHA256 AAAA']);
    assert.equal(statusOf(await raw(signedWrongly)), 401);
    const named = problems.map(({ remoteAddress }) => remoteAddress);
    assert.deepEqual(named, ['127.0.0.1', '198.51.100.1']);
  });
});
