import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Agent } from 'undici';
import { CancelToken } from '../../lib/concurrency/signals';
import { roundTrip } from '../../lib/cloud/http/transport';

const PIECES = 300_000;
/** Bytes of a whole chunk with one byte in it. */
const CHUNK = Buffer.from('1\r\nx\r\n');

/** An answer in so many pieces; how much memory it takes is told once it is there. */
async function receive(): Promise<void> {
  const server = createServer((_req, res) => {
    // As raw bytes: Node.js would write every chunk by itself.
    res.socket?.end(
      Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
        ...Array.from({ length: PIECES }, () => CHUNK),
        Buffer.from('0\r\n\r\n'),
      ]),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const origin = `http://127.0.0.1:${address.port}`;
  const agent = new Agent();
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().heapUsed)), 20);
  const listeners = { onSent: () => undefined, onHead: () => undefined, onEnd: () => undefined };
  const request = { origin, path: '/', method: 'GET' } as const;
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const { body } = await roundTrip(agent, request, new CancelToken(), listeners);
  clearInterval(watch);
  process.send?.({ bytes: body.length, most: most - before });
  process.exit();
}

/** In a process of its own, where nothing else takes memory. */
if (require.main === module) void receive();
else
  describe('the answer to one request', () => {
    it('takes no more memory where it comes byte by byte', async () => {
      const child = fork(__filename, {
        execArgv: ['--import=tsx', '--expose-gc', '--max-semi-space-size=1'],
      });
      const seen = { bytes: 0, most: Infinity };
      child.on('message', (message) => Object.assign(seen, message));
      await once(child, 'exit');
      const { bytes, most } = seen;
      assert.equal(bytes, PIECES);
      // Kept one by one, the pieces take a hundred bytes each.
      assert.ok(most < PIECES * 60, `${most} bytes at most`);
    });
  });
