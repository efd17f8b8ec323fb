import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { readRawBody, Senders, SlowRequestGuard } from '../../lib/webhook/request';
import { PATIENCE } from '../support/time/patience';
import { portOf } from '../support/network/servers';
import { countsOf, ReceiverUnderTest, requestText } from './receiver-under-test';
import { signed, station } from './sample';

describe('large bodies whose JSON is read before anything is proven', () => {
  it('are two in a second, and keep no alarm out', async () => {
    const receiver = await ReceiverUnderTest.start({ monotonic: () => 1000, holdMs: PATIENCE });
    receiver.stations = [station({ scheme: 'https' })];
    const large = { body: JSON.stringify({ padding: 'x'.repeat(100_000) }) };
    const statuses = await Promise.all(Array.from({ length: 10 }, () => receiver.statusOf(large)));
    assert.deepEqual(countsOf(statuses, 0, 401), [8, 2]);
    await receiver.takes(signed());
    await receiver.close();
  });
});

describe('requests that do not come to their end', () => {
  const open: net.Socket[] = [];
  let receiver: ReceiverUnderTest;

  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start();
  });
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await receiver.close();
  });

  /** Opens a request that promises more than it sends, and waits until that is on its way. */
  async function begin(bytes: number): Promise<net.Socket> {
    const socket = net.connect(receiver.port, '127.0.0.1');
    socket.on('error', () => undefined);
    open.push(socket);
    await once(socket, 'connect');
    const text = requestText('x'.repeat(bytes), [`Content-Length: ${bytes + 1}`]);
    await new Promise<void>((resolve) => socket.write(text, () => resolve()));
    return socket;
  }

  it('C-48 keep no alarm out, though there are 200 of them', async () => {
    for (let count = 0; count < 200; count++) await begin(1);
    await receiver.takes(signed());
    await receiver.delivered(1);
    assert.equal(open.filter((socket) => socket.closed).length, 0);
  });

  it('C-48 are cut, the oldest first, where their bodies take more than 32 MiB', async () => {
    const oldest = await begin(1024 * 1024 - 1);
    for (let count = 0; count < 33; count++) await begin(1024 * 1024 - 1);
    if (!oldest.closed) await once(oldest, 'close');
    await receiver.takes(signed());
    assert.equal(open.at(-1)?.closed, false);
    assert.equal(receiver.lines.filter((line) => line.includes('did not come to its end')).length, 1);
  });

  const guard = (changes: Partial<ConstructorParameters<typeof SlowRequestGuard>[0]>): SlowRequestGuard =>
    new SlowRequestGuard({
      maxHeld: 1e9,
      senders: { isShared: () => false },
      monotonic: () => 0,
      onCut: () => undefined,
      ...changes,
    });

  it('C-49 are at most 50 of one address, which this machine is not counted for', () => {
    let cut = 0;
    let now = 0;
    const requests = guard({
      senders: new Senders(),
      monotonic: () => now,
      onCut: () => (cut += 1),
    });
    const first = new net.Socket();
    requests.add(first, '192.0.2.1');
    for (let count = 0; count < 100; count++)
      for (const local of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) requests.add(new net.Socket(), local);
    for (let count = 0; count < 49; count++) requests.add(new net.Socket(), '192.0.2.1');
    requests.add(new net.Socket(), '192.0.2.2');
    // An alarm may come from there, too, so that what is young has its time.
    now = 1999;
    requests.add(new net.Socket(), '192.0.2.1');
    assert.deepEqual([first.destroyed, cut], [false, 0]);
    now = 2000;
    requests.add(new net.Socket(), '192.0.2.1');
    assert.deepEqual([first.destroyed, cut], [true, 2]);
  });

  it('C-49 are bounded in all, and the address with the most gives its oldest', () => {
    const requests = guard({ maxCount: 4 });
    const sockets = [1, 2, 2, 3, 2, 4].map((host) => {
      const socket = new net.Socket();
      requests.add(socket, `192.0.2.${host}`);
      return socket;
    });
    const cut = sockets.map(({ destroyed }) => destroyed);
    assert.deepEqual(cut, [false, true, true, false, false, false]);
  });

  it('count no longer once they are complete', () => {
    const requests = guard({ maxHeld: 10, onCut: () => assert.fail('nothing is too much') });
    for (let count = 0; count < 10; count++) {
      const request = requests.add(new net.Socket(), '192.0.2.1');
      requests.grow(request, 8);
      requests.remove(request);
    }
  });
});

describe('the body of a request', () => {
  it('takes at most twice its length of memory, though it comes byte by byte', async () => {
    const length = 50_000;
    let held = 0;
    const read = new Promise<Buffer | undefined>((resolve, reject) => {
      const server = http.createServer((req, res) => {
        readRawBody(req, { bytes: length, deadline: 5000 }, (bytes) => (held = bytes)).then((reading) => {
          res.end();
          server.close();
          resolve(reading.kind === 'complete' ? reading.body : undefined);
        }, reject);
      });
      server.listen(0, '127.0.0.1', () => {
        const head = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
        const socket = net.connect(portOf(server), '127.0.0.1');
        socket.end(`${head}${'1\r\nx\r\n'.repeat(length)}0\r\n\r\n`);
        socket.resume();
      });
    });
    assert.equal((await read)?.toString(), 'x'.repeat(length));
    assert.ok(held <= 2 * length, `${held} bytes`);
  });
});
