import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { post } from '../../sandbox/webhooks/sender';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';

const MESSAGE = { body: Buffer.from('{}'), headers: { 'Content-Length': '2' } };

function send(url: string | undefined, signal = new AbortController().signal) {
  return post(url, MESSAGE, { timeoutMs: 5000, signal });
}

describe('one POST of the sandbox', () => {
  let server: Server | undefined;
  afterEach(async () => {
    server?.close();
    if (server !== undefined) await once(server, 'close');
    server = undefined;
  });

  const listen = async (one: Server): Promise<number> => {
    server = one.listen(0, '127.0.0.1');
    await once(one, 'listening');
    const address: AddressInfo | string | null = one.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  };

  it('reaches an endpoint on this machine with a self-signed certificate', async function () {
    needs(this, 'openssl');
    const port = await listen(
      createHttpsServer(selfSigned('somewhere else'), (_, response) => response.end()),
    );
    assert.deepEqual(await send(`https://127.0.0.1:${port}/`), { status: 200 });
  });

  it('does not follow a redirect', async () => {
    const port = await listen(
      createHttpServer((_, response) => response.writeHead(307, { Location: '/elsewhere' }).end()),
    );
    assert.deepEqual(await send(`http://127.0.0.1:${port}/`), { status: 307 });
  });

  it('tells why there was no answer, but never the address', async () => {
    const port = await listen(createHttpServer());
    server?.close();
    assert.deepEqual(await send(`http://127.0.0.1:${port}/half-a-secret`), { error: 'ECONNREFUSED' });
    server = undefined;
  });

  it('takes an unusable address as an error', async () => {
    for (const url of [undefined, '', 'here', 'ftp://127.0.0.1/']) {
      assert.match(JSON.stringify(await send(url)), /^\{"error":"the endpoint /);
    }
  });

  it('can be given up', async () => {
    const abort = new AbortController();
    const port = await listen(createHttpServer(() => abort.abort()));
    assert.deepEqual(await send(`http://127.0.0.1:${port}/`, abort.signal), { error: 'ABORT_ERR' });
  });
});
