import assert from 'node:assert/strict';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { StationClient, StationClientOptions } from '../../lib/cloud/station-client';
import { Authority, selfSigned } from '../support/network/certificates';
import { OddServer } from '../support/network/servers';
import { needs } from '../support/suite/programs';
import { eventually, soon } from '../support/time/patience';
import {
  EVENT_OF_GATE,
  failure,
  PATIENT,
  rtspForEvent,
  ScriptedStation,
  through,
} from '../support/service/scripted-station';

/** What a working proxy does with CONNECT. */
function tunnel(request: IncomingMessage, socket: net.Socket, greeting = ''): void {
  const { hostname, port } = new URL(`http://${request.url ?? ''}`);
  const onward = net.connect(Number(port), hostname, () => {
    socket.write(`HTTP/1.1 200 Connection established\r\n\r\n${greeting}`);
    socket.pipe(onward).pipe(socket);
  });
  onward.on('error', () => socket.destroy());
  socket.on('close', () => onward.destroy());
}

describe('a proxy that misbehaves', () => {
  let authority: Authority;
  let tls: { ca: string };
  let station: ScriptedStation;
  let proxy: OddServer;

  before(function () {
    needs(this, 'openssl');
    authority = new Authority();
    tls = { ca: authority.cert };
  });
  after(() => authority?.remove());

  beforeEach(async () => {
    station = await ScriptedStation.start(authority.issueForServer());
  });
  afterEach(async () => {
    await station.close();
    await proxy.close();
  });

  const clientOf = (options: Partial<StationClientOptions> = {}): StationClient =>
    station.client({ ...through(proxy.url), tls, ...options });

  let isSilent = false;

  /** A client that has had a video, whose proxy then ends its connections and answers CONNECT no more. */
  async function silenced(options: Partial<StationClientOptions> = {}): Promise<StationClient> {
    isSilent = false;
    proxy = await OddServer.connect((request, socket) => {
      if (isSilent) socket.resume();
      else tunnel(request, socket);
    });
    const client = clientOf(options);
    await rtspForEvent(client);
    isSilent = true;
    await proxy.interrupt();
    return client;
  }

  it('carries many requests at once over 32 connections', async () => {
    proxy = await OddServer.connect((request, socket) => tunnel(request, socket));
    const client = clientOf();
    await rtspForEvent(client);
    assert.equal((await Promise.all(Array.from({ length: 60 }, () => rtspForEvent(client)))).length, 60);
    assert.ok(proxy.connections <= 32, `${proxy.connections} connections`);
  });

  it('is TIMEOUT for more requests than there are connections where it never answers CONNECT, and then works again', async () => {
    const client = await silenced({ timeoutMs: 1_000 });
    const before = proxy.connections;
    // What has waited in line has the whole time for itself: that is twice a second.
    await soon(Promise.all(Array.from({ length: 60 }, () => failure(rtspForEvent(client), 'TIMEOUT'))), 100);
    assert.ok(proxy.connections - before < 70, `${proxy.connections - before} connections`);
    await eventually(() => proxy.open.size === 0, 'the end of the connections');
    isSilent = false;
    await rtspForEvent(client);
  });

  it('is TIMEOUT at the deadline of the caller, connected or not', async () => {
    const client = await silenced();
    const signal = AbortSignal.timeout(100);
    await soon(failure(rtspForEvent(client, EVENT_OF_GATE, { signal }), 'TIMEOUT'));
  });

  it('is TIMEOUT where CONNECT is granted and nothing comes after it', async () => {
    proxy = await OddServer.connect((_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.resume();
    });
    await failure(clientOf({ timeoutMs: 300 }).listDevices(), 'TIMEOUT');
    await eventually(() => proxy.open.size === 0, 'the end of the connections');
  });

  it('is TIMEOUT where its answer only trickles in', async () => {
    proxy = await OddServer.raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
      const timer = setInterval(() => socket.write('x'), 10);
      socket.resume().on('close', () => clearInterval(timer));
    });
    await failure(clientOf({ timeoutMs: 300 }).listDevices(), 'TIMEOUT');
    await eventually(() => proxy.open.size === 0, 'the end of the connections');
  });

  const ENDLESS = `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(100_000)}`;
  const ENDINGS: [string, (socket: net.Socket) => void][] = [
    ['closes the connection without an answer', (socket) => void socket.end()],
    ['resets the connection', (socket) => void socket.resetAndDestroy()],
    ['answers with something else than HTTP', (socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n')],
    ['answers with a head without end', (socket) => void socket.write(ENDLESS)],
  ];
  for (const [what, end] of ENDINGS) {
    it(`is NETWORK at once, after one try, where it ${what}`, async () => {
      proxy = await OddServer.raw((socket) => void socket.once('data', () => end(socket)));
      const client = clientOf();
      const { message, cause } = await failure(client.listDevices(), 'NETWORK');
      assert.match(message, new RegExp(`127\\.0\\.0\\.1:${proxy.port}`));
      assert.equal(cause.relation, 'system');
      assert.equal(proxy.connections, 1);
      await client.close();
    });
  }

  for (const [status, isAgain, reason] of [
    [403, false, /refuses a connection to the service \(status 403\)/],
    [502, true, /does not reach the service \(status 502\)/],
    [407, false, /asks for a user and a password/],
    [301, false, /refuses a connection to the service \(status 301\)/],
  ] as const) {
    const tried = isAgain ? 'until the deadline' : 'once';
    it(`is NETWORK for ${status} to CONNECT, tried ${tried}, whose body is not read as an answer of the service`, async () => {
      proxy = await OddServer.connect((_request, socket) => {
        socket.end(`HTTP/1.1 ${status} No\r\nLocation: /x\r\nContent-Length: 2\r\n\r\n{}`);
      });
      const client = station.client({ ...through(proxy.url), tls }, PATIENT);
      const { message, cause } = await failure(client.listDevices({ deadlineMs: 1_000 }), 'NETWORK');
      assert.match(message, reason);
      assert.deepEqual(cause, { relation: 'system', attempts: 1, status });
      assert.equal(proxy.connections > 1, isAgain);
      await client.close();
    });
  }

  it('is NETWORK for 407 to a wrong login where it forwards in clear, with the reason', async () => {
    const plain = await ScriptedStation.start();
    const seen: (string | undefined)[] = [];
    const server = http.createServer((request, response) => {
      seen.push(request.headers['proxy-authorization']);
      response.writeHead(407, { 'Proxy-Authenticate': 'Basic' }).end('Pässwort:1 is wrong');
    });
    proxy = await OddServer.start(server);
    const login = { username: 'someone', password: 'Pässwort:1' };
    const { message } = await failure(plain.client(through(proxy.url, login)).listDevices(), 'NETWORK');
    assert.match(message, /does not accept its user and password/);
    assert.deepEqual(seen, [`Basic ${Buffer.from('someone:Pässwort:1').toString('base64')}`]);
    await plain.close();
  });

  it('is TLS where it puts something in clear before the TLS of the service', async () => {
    proxy = await OddServer.connect((request, socket) => tunnel(request, socket, 'welcome\r\n'));
    await failure(clientOf().listDevices(), 'TLS');
  });

  it('is CANCELLED for what waits for it when the client is closed, and its connection ends', async () => {
    proxy = await OddServer.connect((_request, socket) => void socket.resume());
    const client = clientOf();
    const waiting = failure(client.listDevices(), 'CANCELLED');
    await eventually(() => proxy.open.size === 1, 'the connection');
    await client.close();
    await waiting;
    await eventually(() => proxy.open.size === 0, 'the end of the connection');
  });

  describe('over TLS', () => {
    function url(): string {
      return proxy.url.replace('http:', 'https:');
    }

    it('is TLS where its certificate is not that of a known authority; the TLS settings are not for it', async () => {
      proxy = await OddServer.start(https.createServer(selfSigned()).on('connect', tunnel));
      const open = { ...tls, rejectUnauthorized: false };
      const client = clientOf({ ...through(url()), tls: open });
      const { message } = await failure(client.listDevices(), 'TLS');
      assert.match(message, /certificate of the proxy.*DEPTH_ZERO_SELF_SIGNED_CERT.*NODE_EXTRA_CA_CERTS/);
      const plain = await ScriptedStation.start();
      const forwarded = await failure(plain.client(through(url())).listDevices(), 'TLS');
      assert.match(forwarded.message, /certificate of the proxy/);
      await plain.close();
    });

    it('is TLS where it speaks none, and the message asks whether http:// was meant', async () => {
      proxy = await OddServer.connect(tunnel);
      const client = clientOf(through(url()));
      const { message } = await failure(client.listDevices(), 'TLS');
      assert.match(message, /address of the proxy does not speak TLS.*http:\/\/ instead of https:\/\//);
    });
  });
});
