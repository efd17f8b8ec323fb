import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { RvmError } from '../../lib/error';
import { FastTime } from '../support/time/fast-time';
import { assertPause, eventually, soon } from '../support/time/patience';
import {
  failsSoon,
  failure,
  PATIENT,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';
import type { Reply } from '../support/service/scripted-service';

/** Pauses that a test can wait for. */
const QUICK = { retryMs: 40, longestRetryMs: 200 };

describe('requests sent again', () => {
  const time = new FastTime();
  const station = stationOfEachTest();
  const { service } = station;

  describe('T-21', () => {
    beforeEach(() => time.start());
    afterEach(async () => {
      await station.closeClients();
      time.stop();
    });

    const passing: [string, Reply][] = [
      ...[408, 429, 502, 503, 504].map((status): [string, Reply] => [`a ${status}`, { status }]),
      ['a reset', 'reset'],
      ['an answer that is cut off', 'cut'],
    ];

    for (const [what, reply] of passing) {
      it(`a GET after ${what}, with pauses that grow`, async () => {
        const client = station.client({}, { retryMs: 60, longestRetryMs: 1_000 });
        service.on('GET', '/devices', reply, reply, service.usual);
        assert.equal((await soon(client.listDevices())).length, 2);
        const [first = 0, second = 0] = service.gaps('/devices');
        // A random half of each pause is left out.
        assertPause(first, 30);
        assertPause(second, 60);
      });

      it(`until the deadline: after ${what} each time the last failure counts`, async () => {
        const client = station.client({}, PATIENT);
        await client.listDevices();
        service.on('GET', '/devices', reply);
        const error = await client
          .listDevices({ fresh: true, deadlineMs: 1_000 })
          .catch((reason: unknown) => reason);
        assert.ok(error instanceof RvmError);
        assert.ok((error.cause.attempts ?? 0) > 2, `${error.code} after ${error.cause.attempts}`);
        assert.ok(service.count('GET', '/devices') > 3);
      });

      it(`the POST that opens an RTSP session after ${what}: a session too many harms nobody`, async () => {
        const client = station.client({}, QUICK);
        await client.listDevices();
        service.on('POST', '/rtsp/Gate', reply, service.usual);
        const { requests } = await rtspForEvent(client);
        assert.equal(service.count('POST', '/rtsp/Gate'), 2);
        assert.equal(requests, 3, 'the data sources, and each attempt');
      });

      const isLimit = typeof reply === 'object' && reply.status === 429;
      it(`${isLimit ? 'the' : 'not the'} POST that moves a camera after ${what}`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_home': '/home/Gate' } } });
        service.on('POST', '/home/Gate', reply, { status: 204 });
        const moved = await client.ptz('Gate', { action: 'goto-home' }).catch((reason: unknown) => reason);
        assert.equal(moved instanceof RvmError, !isLimit);
        await sleep(20);
        assert.equal(service.count('POST', '/home/Gate'), isLimit ? 2 : 1);
      });
    }

    for (const status of [400, 409, 501, 505]) {
      it(`not a GET after a ${status}, which would be the same again`, async () => {
        const client = station.client({}, { retryMs: 1 });
        service.on('GET', '/sources/Gate', { status }, service.usual);
        await failure(rtspForEvent(client), 'HTTP_ERROR');
        assert.equal(service.count('GET', '/sources/Gate'), 1);
      });
    }

    it('no POST on a connection that the service has closed while it was idle', async () => {
      const client = station.client();
      await rtspForEvent(client);
      for (let turn = 0; turn < 20; turn += 1) {
        service.dropConnections();
        await eventually(() => service.connections === 0, 'the end of the connections');
        await rtspForEvent(client);
      }
      assert.equal(service.count('POST', '/rtsp/Gate'), 21);
    });

    it('a caller who gives up in a pause does not wait for its end', async () => {
      service.on('GET', '/devices', { status: 503 });
      const client = station.client({}, { retryMs: 20_000, longestRetryMs: 20_000 });
      const caller = new AbortController();
      setTimeout(() => caller.abort(new DOMException('No longer.', 'TimeoutError')), 1_000);
      const calling = client.listDevices({ signal: caller.signal, deadlineMs: 600_000 });
      // What several may wait for goes on; this caller does not.
      await failsSoon(calling, 'TIMEOUT');
    });
  });

  describe('Retry-After', () => {
    beforeEach(() => time.start());
    afterEach(async () => {
      await station.closeClients();
      time.stop();
    });

    const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();

    for (const status of [429, 503]) {
      it(`${status} with seconds: a GET is not sent again before they are over`, async () => {
        service.on('GET', '/devices', { status, headers: { 'Retry-After': '1' } }, service.usual);
        await soon(station.client({}, QUICK).listDevices(), 80);
        const [pause = 0] = service.gaps('/devices');
        assertPause(pause, 1000);
      });

      it(`${status} with a date: a GET is not sent again before it`, async () => {
        const date = inSeconds(2);
        service.on('GET', '/devices', { status, headers: { 'Retry-After': date } }, (request) => {
          assert.ok(Date.now() >= Date.parse(date), 'too early');
          return service.usual(request);
        });
        await station.client({}, QUICK).listDevices();
        assert.equal(service.count('GET', '/devices'), 2);
      });
    }

    it('a long one fails at once with RATE_LIMITED, and nothing of that relation is sent before it is over', async () => {
      const client = station.client({}, QUICK);
      await rtspForEvent(client);
      const limit: Reply = { status: 429, headers: { 'Retry-After': '60' } };
      service.on('GET', '/devices', limit, service.usual);
      await failsSoon(client.listDevices({ fresh: true }), 'RATE_LIMITED');
      const sent = service.count('GET', '/devices');
      for (let turn = 0; turn < 10; turn += 1) {
        await failsSoon(client.listDevices({ fresh: true }), 'RATE_LIMITED');
      }
      assert.equal(service.count('GET', '/devices'), sent);
      await rtspForEvent(client);

      time.advance(60);
      assert.equal((await client.listDevices({ fresh: true })).length, 2);
    });

    it('one that ends before the deadline is waited for, by a POST that opens a session, too', async () => {
      const client = station.client({}, QUICK);
      await client.listDevices();
      service.on('POST', '/rtsp/Gate', { status: 429, headers: { 'Retry-After': '1' } }, service.usual);
      await Promise.all([1, 2, 3].map(() => rtspForEvent(client)));
      const [pause = 0] = service.gaps('/rtsp/Gate').filter((gap) => gap > 500);
      assert.ok(pause >= 900, `${pause} ms`);
    });

    it('one that ends after the deadline of one caller, but not of another, is waited for by that one alone', async () => {
      const client = station.client({}, QUICK);
      await client.listDevices();
      service.on('GET', '/devices', { status: 429, headers: { 'Retry-After': '3' } }, service.usual);
      const patient = client.listDevices({ fresh: true });
      const took = await failsSoon(client.listDevices({ fresh: true, deadlineMs: 2_500 }), 'RATE_LIMITED');
      assert.ok(took < 2_000, `${took} ms`);
      assert.equal((await patient).length, 2);
      assert.equal(service.count('GET', '/devices'), 3);
    });

    it('what is asked for in an hour is not waited for, whatever the station does meanwhile', async () => {
      const client = station.client({}, QUICK);
      await rtspForEvent(client);
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
      await rtspForEvent(client);
      service.on('POST', '/rtsp/Gate', { status: 429, headers: { 'Retry-After': '60' } }, service.usual);
      await failure(rtspForEvent(client), 'RATE_LIMITED');
      await failsSoon(rtspForEvent(client), 'RATE_LIMITED');
      assert.equal(service.count('POST', '/rtsp/Gate'), 2);
      time.advance(60);
      await rtspForEvent(client);
    });

    it('of a login holds back the next login', async () => {
      service.on('POST', '/login', { status: 429, headers: { 'Retry-After': '1' } }, (request) =>
        service.logIn(request),
      );
      const client = station.client({}, PATIENT);
      await client.listDevices();
      const [pause = 0] = service.gaps('/login');
      assertPause(pause, 1000);
    });
  });

  describe('Retry-After', () => {
    for (const senseless of ['', 'soon', '-5', '1e9', '12345678901', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
      it(`"${senseless}" is as good as none`, async () => {
        service.on('GET', '/devices', { status: 503, headers: { 'Retry-After': senseless } }, service.usual);
        // In seconds at least, it would be waited for.
        assert.equal((await soon(station.client({}, QUICK).listDevices(), 10)).length, 2);
      });
    }
  });
});
