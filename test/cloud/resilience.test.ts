import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StationClient } from '../../lib/cloud/station-client';
import type { Reply } from '../support/service/scripted-service';
import { Gate, assertPause, eventually, soon } from '../support/time/patience';
import { MuteServer } from '../support/network/servers';
import { FastTime } from '../support/time/fast-time';
import {
  EVENT_OF_GATE,
  failsSoon,
  failure,
  rtspForEvent,
  type ScriptedStation,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../support/service/scripted-station';
import { TimerWatch } from '../support/time/virtual-time';

/** Pauses that a test can wait for. */
const QUICK = { retryMs: 40, longestRetryMs: 200 };

describe('resilience of the client', () => {
  const station = stationOfEachTest();
  const { service } = station;

  describe('time-outs', () => {
    const time = new FastTime();

    let mute: MuteServer;

    beforeEach(async () => {
      mute = await MuteServer.start();
      time.start();
      const links = { 'rel/rtsp': '/rtsp/Gate', 'rel/ptz_home': '/home' };
      service.on('GET', '/sources/Gate', { json: { _links: links } });
    });
    afterEach(async () => {
      await station.closeClients();
      time.stop();
      await mute.close();
    });

    it('connect: TIMEOUT where a TLS handshake is never answered, and the connection is given up', async () => {
      const client = station.client({ baseUrl: mute.url, timeoutMs: 200 });
      const took = await failsSoon(client.listDevices(), 'TIMEOUT');
      assertPause(took, 200);
      await client.close();
      // By themselves they would end after some seconds.
      await soon(eventually(() => mute.connections === 0, 'the end of the connections'));
    });

    it('a caller with less patience is not kept waiting for a connection that does not come about', async () => {
      service.on('GET', '/sources/Gate', { json: { _links: { 'rel/rtsp': `${mute.url}/rtsp` } } });
      const client = await station.connected({ trustedOrigins: [mute.url] });
      await failsSoon(rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 100 }), 'TIMEOUT');
      const caller = new AbortController();
      setTimeout(() => caller.abort(), 100);
      await failsSoon(rtspForEvent(client, EVENT_OF_GATE, { signal: caller.signal }), 'CANCELLED');
    });

    it('nor for its turn where all connections are taken; and what was given up is not sent later', async () => {
      const gate = new Gate();
      service.on('POST', '/rtsp/Gate', { after: gate.opened, json: { url: 'rtsp://relay.example/late' } });
      const client = await station.connected();
      const taken = Array.from({ length: 32 }, () => rtspForEvent(client));
      await eventually(() => service.count('POST', '/rtsp/Gate') === 32, 'all connections to be taken');
      await failsSoon(rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 100 }), 'TIMEOUT');
      gate.open();
      await Promise.all(taken);
      await rtspForEvent(client);
      assert.equal(service.count('POST', '/rtsp/Gate'), 33);
    });

    for (const [stage, reply] of [
      ['headers: where no answer comes', 'silence'],
      ['body: where it stops in the middle', 'stall'],
    ] as const) {
      for (const [what, method, path, ask] of [
        ['a GET is sent', 'GET', '/devices', (client) => client.listDevices({ fresh: true })],
        ['a session is asked for', 'POST', '/rtsp/Gate', (client) => rtspForEvent(client)],
      ] as const satisfies [string, string, string, (client: StationClient) => Promise<unknown>][]) {
        it(`${stage} ${what} once more, on another connection`, async () => {
          const client = await station.warm({ timeoutMs: SHORT_TIMEOUT }, QUICK);
          service.on(method, path, reply, service.usual);
          await ask(client);
          assert.equal(service.count(method, path), 3);
          assert.equal(client.state.kind, 'connected');
          await eventually(() => service.connections === 1, 'the end of the dead connection');
        });
      }

      it(`${stage} each time it is TIMEOUT at the deadline`, async () => {
        const client = await station.connected({ timeoutMs: SHORT_TIMEOUT }, QUICK);
        service.on('GET', '/devices', reply);
        const calling = client.listDevices({ fresh: true, deadlineMs: 3.5 * SHORT_TIMEOUT });
        const error = await failure(calling, 'TIMEOUT');
        assert.ok((error.cause.attempts ?? 0) >= 2);
        assert.ok(service.count('GET', '/devices') >= 1 + 2);
      });

      it(`${stage} a command is TIMEOUT, in time, and says that nobody knows what has become of it`, async () => {
        const client = station.client({ timeoutMs: SHORT_TIMEOUT }, QUICK);
        service.on('POST', '/home', reply);
        for (const deadlineMs of [30_000, SHORT_TIMEOUT / 2]) {
          const begun = performance.now();
          const moving = client.ptz('Gate', { action: 'goto-home' }, { deadlineMs });
          const { message } = await soon(failure(moving, 'TIMEOUT'));
          assert.match(message, /look before you try again/);
          assertPause(performance.now() - begun, Math.min(deadlineMs, SHORT_TIMEOUT));
        }
        assert.equal(service.count('POST', '/home'), 2);
      });

      it(`${stage} that holds for a command that had to wait before it was sent, too`, async () => {
        const client = station.client({ timeoutMs: 30_000 }, QUICK);
        service.on('POST', '/home', { status: 429 }, reply);
        const moving = client.ptz('Gate', { action: 'goto-home' }, { deadlineMs: SHORT_TIMEOUT });
        const { message } = await soon(failure(moving, 'TIMEOUT'));
        assert.match(message, /look before you try again/);
        assert.equal(service.count('POST', '/home'), 2);
      });
    }
  });

  describe('close', () => {
    const watch = new TimerWatch();

    beforeEach(() => watch.start());
    afterEach(() => watch.stop());

    const LONG = 20_000;
    const list = (client: StationClient): Promise<unknown> => client.listDevices();
    type Situation = [
      when: string,
      route: [method: string, path: string, ...replies: Reply[]],
      client: Parameters<ScriptedStation['client']>,
      calls: readonly ((client: StationClient) => Promise<unknown>)[],
      requests?: number,
    ];
    const away = { status: 502 };
    const limited = { status: 429, headers: { 'Retry-After': '4' } };
    const longPause = { retryMs: LONG, longestRetryMs: LONG };
    const longProbe = { probeMs: LONG, longestProbeMs: LONG, longestAwaitedProbeMs: LONG };
    const video = (client: StationClient) => rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 60_000 });
    const situations: Situation[] = [
      ['in a retry pause', ['GET', '/devices', { status: 503 }], [{}, longPause], [list, list]],
      ['while a Retry-After is waited for', ['GET', '/devices', limited], [{}, QUICK], [list]],
      ['in the back-off of an open circuit', ['POST', '/login', away], [{}, longProbe], [list, list]],
      ['while a login is under way', ['POST', '/login', 'silence'], [], [list, list, list]],
      ['while a probe is under way', ['POST', '/login', away, 'silence'], [{}, { probeMs: 20 }], [list], 2],
      [
        'in the middle of a body, with a deadline and background refreshes',
        ['POST', '/rtsp/Gate', 'stall'],
        [{ deviceRefreshMs: 100 }],
        [video],
      ],
    ];

    for (const [when, [method, path, ...replies], settings, calls, requests = 1] of situations) {
      it(`${when}: CANCELLED at once, and no timer is left`, async () => {
        service.on(method, path, ...replies);
        const client = station.client(...settings);
        const under = calls.map((call) => call(client));
        await eventually(() => service.count(method, path) === requests, 'the request');
        assert.ok(watch.pending.length > 0, 'there is no timer to be left');
        const ended = Promise.all(under.map((call) => failure(call, 'CANCELLED')));
        await sleep(30);
        await soon(station.closeClients().then(() => ended));
        await new Promise(setImmediate);
        assert.deepEqual(watch.pending, []);
        const sent = service.seen.length;
        await sleep(100);
        assert.equal(service.seen.length, sent);
        await failure(client.listDevices(), 'CANCELLED');
        assert.equal(client.state.kind, 'idle');
        // By themselves they would end after some seconds.
        await soon(eventually(() => service.connections === 0, 'the end of the connections'));
      });
    }
  });
});
