import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { BareServer } from '../../bench/bare-server';
import { answerIn } from '../../bench/load/answers';
import { Load } from '../../bench/load/load';
import { PATH, PHRASE } from '../support/node-red/flows';
import { assertPause } from '../support/time/patience';

describe('the load generator', () => {
  let load: Load;
  const bodies: string[] = [];
  let answer: (res: ServerResponse) => void;
  let server: Server;
  let port = 0;

  before(async () => {
    load = new Load();
    server = createServer((req, res) => {
      const take = (body: string): void => {
        bodies.push(body);
        answer(res);
      };
      text(req).then(take, () => res.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  beforeEach(() => {
    bodies.length = 0;
    answer = (res) => void res.writeHead(200, { 'Content-Length': 2 }).end('ok');
  });

  after(async () => {
    await load.stop();
    server.closeAllConnections();
    server.close();
  });

  const prepare = (count: number, phrase = PHRASE) => load.prepare({ count, path: PATH, phrase });

  it('sends each message once, each with an id of its own, and not before it is told to', async () => {
    await prepare(50);
    assert.equal(bodies.length, 0);
    const { from, until } = await load.flood({ port, connections: 8 });
    const ids = bodies.map((body) => (JSON.parse(body) as { messageId: string }).messageId);
    assert.equal(new Set(ids).size, 50);
    assert.ok(until > from);
  });

  it('signs so that a receiver takes it', async () => {
    const bare = await BareServer.start(PHRASE);
    try {
      await prepare(5);
      await load.flood({ port: bare.port, connections: 2 });
      await prepare(5, 'another phrase');
      await assert.rejects(load.flood({ port: bare.port, connections: 2 }), /'401'/);
    } finally {
      await bare.stop();
    }
  });

  it('keeps its rate whether answers come or not, and measures each answer', async () => {
    answer = (res) => void setTimeout(() => res.writeHead(200, { 'Content-Length': 0 }).end(), 200);
    await prepare(60);
    const { times } = await load.pace({ port, rate: 300 });
    assert.equal(times.length, 60);
    // One answer after the other would have made some wait for their turn.
    assertPause(Math.min(...times), 200);
    assert.equal(bodies.length, 60);
  });

  it('fails where a message is refused, or left without an answer', async () => {
    answer = (res) => void res.writeHead(401, { 'Content-Length': 0 }).end();
    await prepare(4);
    await assert.rejects(load.flood({ port, connections: 2 }), /'401'/);
    answer = (res) => void res.destroy();
    await prepare(4);
    await assert.rejects(load.pace({ port, rate: 100 }), /cut/);
  });
});

describe('an answer as the load generator reads it', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n';

  it('is there once its last byte is', () => {
    const whole = Buffer.from(`${HEAD}body`);
    for (let length = 0; length < whole.length; length += 1)
      assert.equal(answerIn(whole.subarray(0, length)), undefined);
    assert.deepEqual(answerIn(Buffer.from(`${HEAD}bodyHTTP/1.1`)), { status: 200, length: whole.length });
  });

  it('must say how long it is', () => {
    assert.throws(() => answerIn(Buffer.from('HTTP/1.1 200 OK\r\n\r\n')), /without a length/);
  });
});
