import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RvmError } from '../../lib/error';
import { MovableClock } from '../support/time/movable-clock';
import { assertPause, eventually, soon } from '../support/time/patience';
import {
  EVENT_OF_GATE,
  failsSoon,
  failure,
  rtspForEvent,
  ScriptedStation,
} from '../support/service/scripted-station';
import type { Reply, Route, ScriptedService } from '../support/service/scripted-service';

/** Pauses that a test can wait for. */
const QUICK = { retryMs: 40, probeMs: 100, longestProbeMs: 200 };

describe('requests sent again', () => {
  let station: ScriptedStation;
  let service: ScriptedService;
  /** The usual answers. */
  const usual: Route = (request) => service.standard(request);

  beforeEach(async () => {
    station = await ScriptedStation.start();
    ({ service } = station);
  });
  afterEach(() => station.close());

  describe('T-21', () => {
    const passing: [string, Reply][] = [
      ...[408, 429, 502, 503, 504].map((status): [string, Reply] => [`a ${status}`, { status }]),
      ['a reset', 'reset'],
      ['an answer that is cut off', 'cut'],
    ];

    for (const [what, reply] of passing) {
      it(`a GET after ${what}, with pauses that grow, three times in all`, async () => {
        const client = station.client({}, { retryMs: 60 });
        service.on('GET', '/devices', reply, reply, usual);
        assert.equal((await soon(client.listDevices())).length, 2);
        const [first = 0, second = 0] = service.gaps('/devices');
        // A random half of each pause is left out.
        assertPause(first, 30);
        assertPause(second, 60);
      });

      it(`no more than that: after ${what} each time the last failure counts`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('GET', '/devices', reply);
        const error = await client.listDevices().catch((reason: unknown) => reason);
        assert.ok(error instanceof RvmError);
        assert.equal(error.cause.attempts, 3);
        assert.equal(service.count('GET', '/devices'), 3);
      });

      it(`not the POST that opens an RTSP session after ${what}`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('POST', '/rtsp/Gate', reply, usual);
        const error = await rtspForEvent(client, EVENT_OF_GATE).catch((reason: unknown) => reason);
        assert.ok(error instanceof RvmError);
        await sleep(20);
        assert.equal(service.count('POST', '/rtsp/Gate'), 1);
      });

      it(`not the POST that moves a camera after ${what}`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_home': '/home/Gate' } } });
        service.on('POST', '/home/Gate', reply, { status: 204 });
        const moved = await client.ptz('Gate', { action: 'goto-home' }).catch((reason: unknown) => reason);
        assert.ok(moved instanceof RvmError);
        await sleep(20);
        assert.equal(service.count('POST', '/home/Gate'), 1);
      });
    }

    for (const status of [400, 409, 500, 501]) {
      it(`not a GET after a ${status}, which would be the same again`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('GET', '/sources/Gate', { status }, usual);
        await failure(rtspForEvent(client, EVENT_OF_GATE), 'HTTP_ERROR');
        assert.equal(service.count('GET', '/sources/Gate'), 1);
      });
    }

    it('no POST on a connection that the service has closed while it was idle', async () => {
      const client = station.client();
      await rtspForEvent(client, EVENT_OF_GATE);
      for (let turn = 0; turn < 20; turn += 1) {
        service.dropConnections();
        await eventually(() => service.connections === 0, 'the end of the connections');
        await rtspForEvent(client, EVENT_OF_GATE);
      }
      assert.equal(service.count('POST', '/rtsp/Gate'), 21);
    });

    it('a caller who gives up in a pause does not wait for its end', async () => {
      service.on('GET', '/devices', { status: 503 });
      const client = station.client({}, { retryMs: 60_000 });
      const calling = client.listDevices({ signal: AbortSignal.timeout(100) });
      // What several may wait for goes on; this caller does not.
      await failsSoon(calling, 'TIMEOUT');
    });
  });

  describe('Retry-After', () => {
    const clock = new MovableClock();
    beforeEach(() => clock.start());
    afterEach(() => clock.stop());

    const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();

    for (const status of [429, 503]) {
      it(`${status} with seconds: a GET is not sent again before they are over`, async () => {
        service.on('GET', '/devices', { status, headers: { 'Retry-After': '1' } }, usual);
        await soon(station.client({}, QUICK).listDevices(), 80);
        const [pause = 0] = service.gaps('/devices');
        assertPause(pause, 1000);
      });

      it(`${status} with a date: a GET is not sent again before it`, async () => {
        const date = inSeconds(2);
        service.on('GET', '/devices', { status, headers: { 'Retry-After': date } }, (request) => {
          assert.ok(Date.now() >= Date.parse(date), 'too early');
          return usual(request);
        });
        await station.client({}, QUICK).listDevices();
        assert.equal(service.count('GET', '/devices'), 2);
      });
    }

    it('a long one fails at once with RATE_LIMITED, and nothing of that relation is sent before it is over', async () => {
      const client = station.client({}, { ...QUICK, longestWaitMs: 100 });
      await rtspForEvent(client, EVENT_OF_GATE);
      const limit: Reply = { status: 429, headers: { 'Retry-After': '60' } };
      service.on('GET', '/devices', limit, usual);
      await failsSoon(client.listDevices({ fresh: true }), 'RATE_LIMITED');
      const sent = service.count('GET', '/devices');
      for (let turn = 0; turn < 10; turn += 1) {
        await failsSoon(client.listDevices({ fresh: true }), 'RATE_LIMITED');
      }
      assert.equal(service.count('GET', '/devices'), sent);
      await rtspForEvent(client, EVENT_OF_GATE);

      clock.advance(60);
      assert.equal((await client.listDevices({ fresh: true })).length, 2);
    });

    it('what is asked for in an hour is not waited for, whatever the station does meanwhile', async () => {
      const client = station.client({}, QUICK);
      await rtspForEvent(client, EVENT_OF_GATE);
      service.on('GET', '/devices', { status: 429, headers: { 'Retry-After': inSeconds(3600) } });
      await Promise.all(
        Array.from({ length: 100 }, () => failure(client.listDevices({ fresh: true }), 'RATE_LIMITED')),
      );
      await sleep(300);
      await failure(client.listDevices({ fresh: true }), 'RATE_LIMITED');
      assert.equal(service.count('GET', '/devices'), 2);
      assert.equal(client.state.kind, 'connected');
    });

    it('of a POST holds back the next POSTs of that relation', async () => {
      const client = station.client({}, QUICK);
      await rtspForEvent(client, EVENT_OF_GATE);
      service.on('POST', '/rtsp/Gate', { status: 429, headers: { 'Retry-After': '60' } }, usual);
      await failure(rtspForEvent(client, EVENT_OF_GATE), 'RATE_LIMITED');
      await failsSoon(rtspForEvent(client, EVENT_OF_GATE), 'RATE_LIMITED');
      assert.equal(service.count('POST', '/rtsp/Gate'), 2);
      clock.advance(60);
      await rtspForEvent(client, EVENT_OF_GATE);
    });

    it('of a login holds back the next login', async () => {
      service.on('POST', '/login', { status: 429, headers: { 'Retry-After': '1' } }, (request) =>
        service.logIn(request),
      );
      const client = station.client({}, QUICK);
      await failure(client.listDevices(), 'RATE_LIMITED');
      await eventually(() => client.state.kind === 'connected', 'the login');
      const [pause = 0] = service.gaps('/login');
      assertPause(pause, 1000);
    });

    for (const senseless of ['', 'soon', '-5', '1e9', '12345678901', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
      it(`"${senseless}" is as good as none`, async () => {
        service.on('GET', '/devices', { status: 503, headers: { 'Retry-After': senseless } }, usual);
        // In seconds at least, it would be waited for.
        assert.equal((await soon(station.client({}, QUICK).listDevices(), 10)).length, 2);
      });
    }
  });
});
