import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { withTimeout } from '../../lib/concurrency/timers';
import { Dispatcher } from '../../lib/webhook/dispatcher';
import { RecordingMeter } from '../support/metrics/metrics';
import { portOf } from '../support/network/servers';
import { few } from '../support/suite/lanes';
import { PATIENCE } from '../support/time/patience';
import { endOfTurn } from '../support/time/event-loop';
import { authorizationFor, signed, station, withToken } from './sample';
import { exchange, GatedInbox, PATH, ReceiverUnderTest, requestText, SERVERS } from './receiver-under-test';
import { signedText, statusesIn } from './receiver-under-test';

/** An alarm that is proven. */
const genuine = (...lines: string[]): string => signedText(signed().body, lines);
/** Without the chunk that ends it. */
function genuineInChunks(...lines: string[]): string {
  const { body } = signed();
  const chunk = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
  return requestText(chunk, [
    'Transfer-Encoding: chunked',
    `Authorization: ${authorizationFor(body)}`,
    ...lines,
  ]);
}
const forgedOf = (body: string, ...lines: string[]): string =>
  requestText(body, ['Authorization: HMAC-SHA256 AAAA', ...lines]);
const forged = (...lines: string[]): string => forgedOf('', ...lines);

const times = (count: number, request: () => string): string =>
  Array.from({ length: count }, () => request()).join('');

const LAST = 'Connection: close';
/** Makes a request as long as one of a real sender: it is a slice of its own. */
const LONG = `User-Agent: ${'a'.repeat(60)}`;

const all = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

for (const [on, where] of SERVERS)
  describe(`requests behind one another on a connection to ${where}`, () => {
    let receiver: ReceiverUnderTest;
    let refused = 0;
    afterEach(() => receiver.close());

    async function start(options: Parameters<typeof ReceiverUnderTest.start>[0] = {}): Promise<void> {
      refused = 0;
      const endpoint = { onRefused: () => void (refused += 1) };
      receiver = await ReceiverUnderTest.start({ on, endpoint, ...options });
    }

    it('are all taken where they are genuine, however many there are', async () => {
      const count = few(30, 100);
      await start();
      const text = await receiver.raw([times(count - 1, genuine) + genuine(LAST)]);
      assert.deepEqual(statusesIn(text), all(count, 200));
      await receiver.delivered(count);
    });

    it('are all answered where eight are forged, and the connection goes on', async () => {
      await start();
      const socket = net.connect(receiver.port, '127.0.0.1');
      socket.write(times(8, forged));
      let text = '';
      while (statusesIn(text).length < 8) text += await nextOf(socket);
      assert.deepEqual(statusesIn(text), all(8, 401));
      assert.deepEqual(statusesIn(await exchange(socket, [genuine(LAST)])), [200]);
    });

    it('are cut behind the eighth that is forged, which is counted and told', async () => {
      await start();
      const meter = new RecordingMeter();
      const text = await receiver.raw([times(9, forged)]);
      assert.deepEqual(statusesIn(text), all(8, 401));
      meter.end();
      const kinds = meter.told('answered').map(([kind]) => kind);
      assert.deepEqual(kinds, [...Array.from({ length: 8 }, () => 'unauthentic'), 'cut']);
      assert.equal(receiver.lines.filter((line) => line.includes('came on it at once')).length, 1);
    });

    it('are cut where they have another method, or no Content-Length', async () => {
      await start();
      for (const head of [`GET ${PATH} HTTP/1.1`, `POST ${PATH} HTTP/1.1`]) {
        const text = await receiver.raw([times(500, () => `${head}\r\nHost: a\r\n\r\n`)]);
        assert.ok(statusesIn(text).length < 16, String(statusesIn(text).length));
      }
    });

    for (const [what, before, genuines, behind] of [
      ['the first is genuine, whatever follows', 0, 1, 30],
      ['one of the first eight is genuine', 7, 20, 0],
    ] as const)
      it(`are not cut where ${what}`, async () => {
        await start();
        const requests = times(before, forged) + times(genuines, genuine) + times(behind, forged);
        const statuses = [...all(before, 401), ...all(genuines, 200), ...all(behind, 401), 200];
        assert.deepEqual(statusesIn(await receiver.raw([requests + genuine(LAST)])), statuses);
      });

    it('are not cut where each waits for the answer before it', async () => {
      await start();
      const socket = net.connect(receiver.port, '127.0.0.1');
      const found: number[] = [];
      for (let index = 0; index < 20; index += 1) {
        socket.write(forged());
        found.push(...statusesIn(await nextOf(socket)));
      }
      assert.deepEqual(found, all(20, 401));
      socket.destroy();
    });

    it('make an alarm on another connection wait for none of them', async () => {
      await start();
      const crowd = Array.from({ length: 40 }, () => receiver.raw([times(200, forged)]));
      await receiver.takes(signed());
      assert.ok(refused < 40 * 8, `${refused} were refused before it`);
      for (const text of await Promise.all(crowd)) assert.ok(statusesIn(text).length <= 8);
      assert.equal(refused, 40 * 8);
    });

    it('are read one by one, as each is judged', async () => {
      await start({ holdMs: 600_000 });
      receiver.stations = [];
      const text = receiver.raw([times(2, genuine) + genuine(LAST)]);
      if (on === 'node-red') await receiver.until(() => receiver.seen.requests > 0, 'the first');
      assert.ok(receiver.seen.requests <= 1);
      receiver.stations = [station()];
      assert.deepEqual(statusesIn(await text), [200, 200, 200]);
    });

    it('are taken in pieces of any size, with bodies of line ends', async () => {
      await start();
      const requests = times(3, genuine) + forgedOf('\r\n\r\n'.repeat(5000)) + genuine(LAST);
      for (const size of [1, 127, 4000]) {
        const pieces = requests.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const single = [requests.slice(0, 900), ...pieces.slice(900, 1400), requests.slice(1400)];
        const found = statusesIn(await receiver.raw(size === 1 ? single : pieces));
        assert.deepEqual(found, [200, 200, 200, 401, 200]);
      }
    });

    it('are not cut for what came before them and has its answer', async () => {
      await start();
      const socket = net.connect(receiver.port, '127.0.0.1');
      // What looks like a crowd is the body of one.
      socket.write(forgedOf(' HTTP/1.'.repeat(20)));
      assert.deepEqual(statusesIn(await nextOf(socket)), [401]);
      for (let index = 0; index < 20; index += 1) {
        socket.write(forged());
        assert.deepEqual(statusesIn(await nextOf(socket)), [401]);
      }
      assert.deepEqual(statusesIn(await exchange(socket, [forged(LONG) + genuine(LAST)])), [401, 200]);
    });

    it('are read on where an answer leaves while a body in chunks is still to come', async () => {
      await start();
      const text = await receiver.raw([`${forged()}${genuineInChunks(LAST)}0\r\n\r\n`]);
      assert.deepEqual(statusesIn(text), [401, 200]);
    });

    it('are cut as well behind one whose head ends in two packets', async () => {
      await start();
      const socket = net.connect(receiver.port, '127.0.0.1');
      const first = forgedOf(`${'a'.repeat(60_000)}\r\n\r\n`);
      const end = first.indexOf('\r\n\r\n') + 3;
      socket.setNoDelay(true).write(first.slice(0, end));
      // Once this one is answered, the beginning has been read.
      await receiver.takes(signed());
      const found = statusesIn(await exchange(socket, [first.slice(end) + times(900, forged)]));
      assert.deepEqual(found, all(8, 401));
    });

    it('are cut as well behind chunks full of line ends', async () => {
      await start();
      const chunk = 'x\r\n\r\n'.repeat(120);
      const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`;
      const first = forgedOf(chunks, 'Transfer-Encoding: chunked');
      const second = requestText(`${'a'.repeat(50_000)}\r\n\r\n`);
      const found = statusesIn(await receiver.raw([first + second + times(900, forged)]));
      assert.deepEqual(found, all(8, 401));
    });

    for (const [what, scheme, pieces] of [
      ['junk', 'http', () => [`${genuine()}}`]],
      ['junk behind the end of chunks', 'http', () => [genuineInChunks(), '0\r\n\r\n}']],
      ['junk behind a short head and its body', 'https', () => [`${requestText(withToken().body)}}`]],
      ['a request behind one that asks for the end', 'http', () => [genuine(LAST) + genuine()]],
    ] as const)
      it(`have the answer of a genuine one, and not that of ${what} that follows before it is stored`, async () => {
        const inbox = new GatedInbox({ isSlow: true });
        await start({ inbox });
        receiver.stations = [station({ scheme })];
        const text = receiver.raw(pieces());
        await receiver.until(() => inbox.pending === 1, 'the alarm');
        await endOfTurn();
        inbox.commit();
        assert.equal(statusesIn(await text)[0], 200);
        await receiver.delivered(1);
      });

    it('are read one by one as well behind a body of which much came with its head', async () => {
      await start();
      const socket = net.connect(receiver.port, '127.0.0.1');
      const lines = ['Content-Length: 30000', 'Expect: 100-continue'];
      socket.write(requestText('a'.repeat(29_900), lines));
      assert.deepEqual(statusesIn(await nextOf(socket)), [100]);
      const get = `GET ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`;
      const found = statusesIn(await exchange(socket, ['a'.repeat(100) + get.repeat(400)]));
      assert.equal(found[0], 401);
      assert.ok(found.length < 16, String(found.length));
    });

    if (on === 'listener')
      it('are stored together behind one that is proven', async () => {
        const inbox = new GatedInbox({ isSlow: true });
        await start({ inbox });
        const text = receiver.raw([times(2, genuine) + genuine(LAST)]);
        await receiver.until(() => inbox.pending === 3, 'all three');
        inbox.commit();
        assert.deepEqual(statusesIn(await text), all(3, 200));
      });

    if (on === 'node-red') {
      it('stay with their sender until it is their turn', async () => {
        await start();
        const other = `GET /other HTTP/1.1\r\nHost: a\r\nCookie: ${'a'.repeat(100)}\r\n\r\n`;
        const socket = net.connect(receiver.port, '127.0.0.1');
        socket.write(other.repeat(100_000));
        for (let text = ''; statusesIn(text).length < 200;) text += await nextOf(socket);
        socket.destroy();
        assert.ok(receiver.seen.behind < 256 * 1024, String(receiver.seen.behind));
      });

      it('wait for nothing, and are never cut, where they are not for a webhook', async () => {
        await start();
        const other = (line = ''): string => `GET /other HTTP/1.1\r\nHost: a\r\n${line}\r\n`;
        const text = await receiver.raw([times(49, other) + other(`${LAST}\r\n`)]);
        assert.deepEqual(statusesIn(text), all(50, 404));
      });

      it('are cut as well behind one that is not for a webhook', async () => {
        await start();
        const text = await receiver.raw(['GET /other HTTP/1.1\r\nHost: a\r\n\r\n' + times(200, forged)]);
        const [first, ...others] = statusesIn(text);
        assert.equal(first, 404);
        assert.ok(others.length < 16, String(others.length));
      });
    }
  });

describe('a request for another protocol behind one that is refused', () => {
  it('leaves the bytes behind it to whoever takes the connection, in their order, however many they are and when that may be', async () => {
    const behind = Array.from({ length: 60_000 }, (_, number) => `${number}`.padStart(5, '0')).join('');
    const dispatcher = new Dispatcher();
    const server = http.createServer((req, res) => dispatcher.refuse(req, res, 'unknown'));
    dispatcher.pace(server);
    const seen = new Promise<string>((resolve) => {
      server.on('upgrade', (_req, socket: net.Socket) => {
        let text = '';
        setImmediate(() =>
          setImmediate(() =>
            socket.on('data', (chunk: Buffer) => {
              text += chunk.toString();
              if (text.length < behind.length) return;
              resolve(text);
              socket.destroy();
            }),
          ),
        );
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = net.connect(portOf(server), '127.0.0.1');
    const key = 'a'.repeat(60);
    const upgrade = `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: other\r\nCookie: ${key}\r\n\r\n`;
    socket.on('error', () => undefined);
    socket.write(`${forged(LONG)}${upgrade}${behind}`);
    assert.ok((await withTimeout(seen, PATIENCE)) === behind);
    dispatcher.close();
    await once(server.close(), 'close');
  });
});

/** The next answer on a connection. */
function nextOf(socket: net.Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1'))));
}
