import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { StationClient } from '../../lib/cloud/station-client';
import { RvmError, type RvmErrorCode } from '../../lib/error';
import { camera } from '../support/service/scripted-service';
import { OddServer } from '../support/network/servers';
import { Gate, eventually, PATIENCE, soon } from '../support/time/patience';
import { FastTime } from '../support/time/fast-time';
import {
  EVENT_OF_GATE,
  failure,
  PATIENT,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';

/** More than is read of an answer. */
const LARGE = ' '.repeat(32 * 1024 * 1024 + 1);
const PAGE = { text: '<html><title>Welcome</title>' };

describe('failures of the service and the network', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('NETWORK where nothing listens, and the state says since when', async () => {
    const gone = await station.otherService();
    const { url } = gone;
    await gone.close();
    const client = station.client({ baseUrl: url });
    await failure(client.listDevices(), 'NETWORK');
    const first = client.state;
    await failure(client.listDevices(), 'NETWORK');
    assert.ok(first.kind === 'offline' && client.state.kind === 'offline');
    assert.equal(client.state.since, first.since);
  });

  it('TIMEOUT where the answer only trickles in', async () => {
    service.on('GET', '/devices', 'trickle');
    await failure(station.client({ timeoutMs: 100 }).listDevices(), 'TIMEOUT');
  });

  it('TIMEOUT where head and body come in time each, but not together', async () => {
    const server = await OddServer.start(
      createServer((_request, response) => {
        setTimeout(() => response.writeHead(200).write('{'), 200);
        setTimeout(() => response.end('}'), 400);
      }),
    );
    await failure(station.client({ baseUrl: server.url, timeoutMs: 300 }).listDevices(), 'TIMEOUT');
    await server.close();
  });

  for (const [what, code, path, reply, told] of [
    ['the address is that of another server', 'HTTP_ERROR', '/system', { status: 404 }, /check the base URL/],
    ['a page of HTML comes with 200', 'BAD_RESPONSE', '/system', PAGE, / Welcome$/],
    ['an answer is larger than 32 MiB', 'BAD_RESPONSE', '/devices', { text: LARGE }, /too large/],
  ] as const) {
    it(`${code} where ${what}`, async () => {
      service.on('GET', path, reply);
      const { message, cause } = await failure(station.client().listDevices(), code);
      assert.match(`${message} ${cause.serverMessage}`, told);
    });
  }

  describe('hanging snapshots by the dozen', () => {
    const time = new FastTime();

    afterEach(() => time.stop());
    beforeEach(() => {
      const links = { 'rel/snapshot': '/picture', 'rel/rtsp': '/rtsp/Gate' };
      service.on('GET', '/sources/Gate', { json: { _links: links } });
    });

    const takeMany = (client: StationClient, fail: RvmErrorCode): Promise<unknown>[] =>
      Array.from({ length: 60 }, () => failure(client.snapshot('Gate'), fail));

    it('keep no alarm from its video', async () => {
      const gate = new Gate();
      service.on('GET', '/picture', { after: gate.opened, status: 500 });
      const client = station.client({ timeoutMs: PATIENCE });
      const snapshots = takeMany(client, 'HTTP_ERROR');
      await eventually(() => service.count('GET', '/picture') >= 24, 'as many snapshots as go out at once');
      await soon(rtspForEvent(client));
      assert.equal(service.count('GET', '/picture'), 24);
      gate.open();
      await Promise.all(snapshots);
    });

    it('end at their own time-out, those that wait in line, too', async () => {
      service.on('GET', '/picture', 'silence');
      const client = station.client();
      time.start();
      await Promise.all(takeMany(client, 'TIMEOUT'));
    });
  });

  it('a login that fails because the service is out of reach is waited for', async () => {
    service.on('POST', '/login', { status: 502 }, (request) => service.logIn(request));
    const client = station.client({}, PATIENT);
    assert.equal((await client.listDevices()).length, 2);
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('CANCELLED where the caller gives up, TIMEOUT where a deadline of the caller is over, its own error where it says why', async () => {
    service.on('POST', '/rtsp/Gate', 'silence');
    const client = await station.connected();
    const caller = new AbortController();
    const cancelled = failure(rtspForEvent(client, EVENT_OF_GATE, { signal: caller.signal }), 'CANCELLED');
    await eventually(() => service.count('POST', '/rtsp/Gate') === 1, 'the request');
    caller.abort();
    await cancelled;
    const deadline = AbortSignal.timeout(50);
    await failure(rtspForEvent(client, EVENT_OF_GATE, { signal: deadline }), 'TIMEOUT');
    await failure(client.listDevices({ signal: deadline }), 'TIMEOUT');
    const refused = AbortSignal.abort(new RvmError('BAD_INPUT', 'The caller says why.'));
    await failure(client.listDevices({ signal: refused }), 'BAD_INPUT');
  });

  it('reuses its connections after error answers', async () => {
    service.on('POST', '/rtsp/Gate', { status: 500, text: 'x'.repeat(100_000) });
    const client = station.client();
    for (let turn = 0; turn < 10; turn += 1) await failure(rtspForEvent(client), 'HTTP_ERROR');
    assert.ok(service.connections <= 2, `${service.connections} connections for 10 requests in a row`);
  });

  it('repeats no secret that the service echoes, nor user and password as a basic login', async () => {
    service.on('POST', '/rtsp/Gate', (request) => ({
      status: 400,
      json: {
        code: service.apiKey,
        message: `${String(request.headers['apikey'])} ${request.headers.cookie} ${service.password} extra-token 4711 rtsp://u:p@relay/x`,
      },
    }));
    const client = station.client({ loginExtra: { nested: { token: 'extra-token', pin: 4711 } } });
    const error = await failure(rtspForEvent(client), 'HTTP_ERROR');
    assert.equal(error.cause.serverCode, '***');
    assert.equal(error.cause.serverMessage, '***');
    const basic = Buffer.from(`${service.username}:${service.password}`).toString('base64');
    service.on('POST', '/rtsp/Gate', { status: 400, json: { message: `Basic ${basic} is wrong` } });
    assert.equal((await failure(rtspForEvent(client), 'HTTP_ERROR')).cause.serverMessage, '***');
  });

  it('repeats no secret that the service gives as the name of a camera, or of what it offers', async () => {
    const { apiKey, password } = service;
    service.devices.push(camera('echo', password, { status: 'offline' }));
    service.on('GET', '/sources/Gate', { json: { _links: { [apiKey.toUpperCase()]: '/x' } } });
    const client = station.client();
    const offline = await failure(
      rtspForEvent(client, { ...EVENT_OF_GATE, cameraId: 'echo' }),
      'DEVICE_OFFLINE',
    );
    const lacking = await failure(rtspForEvent(client), 'LINK_NOT_OFFERED');
    for (const { message, code } of [offline, lacking]) {
      assert.match(message, new RegExp(`look up its code, ${code}`));
      assert.doesNotMatch(message.toLowerCase(), new RegExp(`${password}|${apiKey}`));
    }
  });
});
