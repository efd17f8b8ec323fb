import assert from 'node:assert/strict';
import { backoff, STATION_TIMING, type StationTiming } from '../../lib/cloud/timing';
import type { StationClient, StationState } from '../../lib/cloud/station-client';
import type { RvmErrorCode } from '../../lib/error';
import { few } from '../support/suite/lanes';
import { FastTime } from '../support/time/fast-time';
import { assertPause, eventually, soon } from '../support/time/patience';
import {
  EVENT_OF_GATE,
  EVENT_OF_YARD,
  failsSoon,
  failure,
  PATIENT,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';
import type { Reply, Route } from '../support/service/scripted-service';

/** What fails in passing fails at once, but where the circuit is open. */
const QUICK = { probeMs: 1_000, longestProbeMs: 2_000, longestAwaitedProbeMs: 2_000 };
/** So many calls wait at most. */
const MOST = few(100, 100, STATION_TIMING.longestQueue);
/** So many are in line to a service that is gone. */
const MANY = few(300, 300, 1000);
/** Nothing is tried again: so a call ends at once, though its circuit is open. */
const ONCE = { fresh: true, once: true };

describe('circuit of a station', () => {
  const time = new FastTime();
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => time.start());
  afterEach(() => time.stop());

  const PATHS = ['GET /system', 'POST /login', 'GET /devices', 'GET /sources/Gate', 'POST /rtsp/Gate'];
  const all = (...replies: (Reply | Route)[]): void => {
    for (const path of PATHS) {
      const [method = '', address = ''] = path.split(' ');
      service.on(method, address, ...replies);
    }
  };

  /** The kinds of state that are told from now on. */
  function statesOf(client: StationClient): StationState['kind'][] {
    const told: StationState['kind'][] = [];
    client.onState(({ kind }) => told.push(kind));
    return told;
  }

  /** A client whose circuit is open: it was connected, had asked for this, and then nothing went through. */
  async function cutOff(
    timing: Partial<StationTiming> = {},
    first: (client: StationClient) => Promise<unknown> = (each) => each.listDevices(),
  ): Promise<StationClient> {
    const client = station.client({}, { outages: 1, ...timing });
    await first(client);
    all('reset');
    await failure(client.listDevices(ONCE), 'NETWORK');
    return client;
  }

  for (const [what, reply, code] of [
    ['resets', 'reset', 'NETWORK'],
    ['502 by the gateway', { status: 502 }, 'HTTP_ERROR'],
    ['silence', 'silence', 'TIMEOUT'],
  ] as [string, Reply, RvmErrorCode][]) {
    it(`after repeated ${what} nothing is sent for calls that wait, and they end with ${code} at their deadline`, async () => {
      const client = await station.warm({}, { outages: 3 });
      all(reply);
      for (let turn = 0; turn < 3; turn += 1) await failure(client.listDevices(ONCE), code);
      const sent = service.seen.length;
      const ended = Array.from({ length: 100 }, () => [
        failure(rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 200 }), code),
        failure(client.listDevices({ fresh: true, deadlineMs: 200 }), code),
      ]);
      await soon(Promise.all(ended.flat()));
      assert.equal(service.seen.length, sent);
    });

    it(`after repeated ${what} the probe that succeeds wakes all who wait`, async () => {
      const client = await station.warm({}, { ...PATIENT, ...QUICK, outages: 3 });
      all(reply);
      for (let turn = 0; turn < 3; turn += 1) await failure(client.listDevices(ONCE), code);
      service.seen.length = 0;
      const waiting = Array.from({ length: 100 }, () => rtspForEvent(client));
      await eventually(() => service.count('GET', '/system') >= 2, 'probes');
      assert.equal(service.count('POST', '/rtsp/Gate'), 0);
      all(service.usual);
      await Promise.all(waiting);
      assert.equal(service.count('POST', '/rtsp/Gate'), 100);
    });
  }

  it('what a refused login has opened fails calls at once, also those that wait by then', async () => {
    const client = await cutOff(QUICK, rtspForEvent);
    const waiting = failure(rtspForEvent(client), 'LOGIN_FAILED');
    service.sessions.clear();
    all(service.usual);
    service.on('POST', '/login', { status: 403 });
    await waiting;
    await failsSoon(rtspForEvent(client), 'LOGIN_FAILED');
  });

  it('no call passes it that tries once, as those of the dialogs do: it fails with what opened the circuit', async () => {
    const client = await cutOff();
    all(service.usual);
    service.seen.length = 0;
    await failsSoon(client.listDevices(ONCE), 'NETWORK');
    assert.deepEqual(service.seen, []);
  });

  it('a call that gives up before the answer came opens nothing: only a probe tells what that means', async () => {
    const client = await station.connected({}, { ...PATIENT, outages: 1 });
    service.on('GET', '/system', 'silence', service.usual);
    const states = statesOf(client);
    const asked = { start: 'system', rels: [], method: 'GET' } as const;
    await failure(client.request(asked, { deadlineMs: 200 }), 'TIMEOUT');
    await rtspForEvent(client);
    assert.ok(!states.includes('offline'), states.join());
  });

  it('a probe that may not be sent, because the service asks for fewer requests, is no sign of life', async () => {
    const client = await station.connected({}, { ...QUICK, outages: 1 });
    service.on('GET', '/system', { status: 429, headers: { 'Retry-After': '600' } });
    await client.askForLife();
    all('reset');
    await failure(client.listDevices(ONCE), 'NETWORK');
    const states = statesOf(client);
    const asked = service.count('GET', '/devices');
    await eventually(async () => {
      await failure(client.listDevices(ONCE), 'NETWORK');
      return service.count('GET', '/devices') > asked;
    }, 'a call that tries for itself');
    assert.ok(!states.includes('connected'), states.join());
  });

  it('so many calls wait, and more fail at once with what they would have waited for', async () => {
    const client = await station.warm({}, { ...PATIENT, outages: 1, longestQueue: MOST });
    all({ status: 503 });
    await failure(client.listDevices(ONCE), 'HTTP_ERROR');
    const waiting = Array.from({ length: MOST }, () => rtspForEvent(client));
    await Promise.all(Array.from({ length: 50 }, () => failsSoon(rtspForEvent(client), 'HTTP_ERROR')));
    all(service.usual);
    await Promise.all(waiting);
    await Promise.all(Array.from({ length: MOST }, () => rtspForEvent(client)));
  });

  it('a call that comes in a long pause between probes shortens it', async () => {
    const client = await cutOff({ ...PATIENT, probeMs: 600_000, longestProbeMs: 600_000 });
    service.seen.length = 0;
    all(service.usual);
    await rtspForEvent(client);
    assert.equal(service.seen[0]?.path, '/system');
  });

  it('what is known without asking is still told', async () => {
    assert.equal((await (await cutOff()).listDevices()).length, 2);
  });

  it('one probe for each step of the growing pause, and no more for a hundred callers', async () => {
    const client = await cutOff({ probeMs: 1_000, longestProbeMs: 4_000, longestAwaitedProbeMs: 4_000 });
    service.seen.length = 0;
    const callers = async (): Promise<boolean> => {
      await Promise.all(
        Array.from({ length: 100 }, () =>
          failure(rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 1_000 }), 'NETWORK'),
        ),
      );
      return service.seen.length >= 4;
    };
    await eventually(callers, 'four probes');
    assert.ok(service.seen.every(({ path }) => path === '/system'));
    // Of 2, 4, 4 s up to a half each is left out.
    const [first = 0, second = 0, third = 0] = service.gaps('/system');
    assertPause(first, 1_000);
    for (const pause of [second, third]) assertPause(pause, 2_000);
  });

  it('the state is offline since the first failure, without a flicker, and recovers without a call', async () => {
    const client = await station.connected({}, { ...QUICK, outages: 2 });
    const heard = statesOf(client);
    all('reset');
    await failure(client.listDevices(ONCE), 'NETWORK');
    const first = client.state;
    await eventually(() => service.count('GET', '/system') >= 2 + 3, 'three probes');
    assert.ok(first.kind === 'offline' && client.state.kind === 'offline');
    assert.equal(client.state.since, first.since);
    assert.deepEqual(new Set(heard), new Set(['offline']));
    all(service.usual);
    await eventually(() => client.state.kind === 'connected', 'the recovery');
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('a session that was lost meanwhile is made anew by the probe', async () => {
    const client = await cutOff(QUICK);
    service.sessions.clear();
    all(service.usual);
    await eventually(
      () => client.state.kind === 'connected' && service.count('POST', '/login') === 2,
      'the login',
    );
    await rtspForEvent(client);
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('a service that has gone silent is found out, though only the video of alarms is asked for', async () => {
    const client = await station.warm({}, { ...QUICK, outages: 3 });
    all('silence');
    await failure(rtspForEvent(client), 'TIMEOUT');
    assert.equal(client.state.kind, 'connected');
    await eventually(() => client.state.kind === 'offline', 'a probe without an answer');
    await eventually(() => service.count('GET', '/system') >= 2 + 4, 'further probes');
    const sent = service.count('POST', '/rtsp/Gate');
    await failure(rtspForEvent(client, EVENT_OF_GATE, { deadlineMs: 100 }), 'TIMEOUT');
    assert.equal(service.count('POST', '/rtsp/Gate'), sent);
    const waiting = rtspForEvent(client);
    all(service.usual);
    await waiting;
    assert.equal(client.state.kind, 'connected');
  });

  it('a camera that does not answer leaves the station connected: the service is asked, and lives', async () => {
    const client = await station.warm({}, { ...QUICK, probeMs: 20 });
    const heard = statesOf(client);
    service.on('POST', '/rtsp/Gate', 'silence');
    await Promise.all(Array.from({ length: 5 }, () => failure(rtspForEvent(client), 'TIMEOUT')));
    await eventually(() => service.count('GET', '/system') > 2, 'a probe');
    assert.deepEqual(heard, []);
    assert.equal(client.state.kind, 'connected');
  });

  it('of many calls in line to a service that is gone most are not sent any more once the circuit is open', async () => {
    const client = await station.warm({}, { ...PATIENT, retryMs: 1_000, longestRetryMs: 1_000 });
    all('reset');
    const before = service.seen.length;
    const calls = Array.from({ length: MANY }, () => rtspForEvent(client));
    await eventually(() => client.state.kind === 'offline', 'a probe without an answer');
    await eventually(() => service.count('GET', '/system') >= 2 + 6, 'further probes');
    const sent = service.seen.length - before;
    assert.ok(sent < 0.9 * MANY, `${sent} requests`);
    const asked = service.count('POST', '/rtsp/Gate');
    all(service.usual);
    await Promise.all(calls);
    assert.ok(service.count('POST', '/rtsp/Gate') - asked <= MANY);
  });

  it('a /system that cannot be used shows as what it is, and is probed after growing pauses', async () => {
    const timing = { ...QUICK, probeMs: 200, longestProbeMs: 60_000 };
    const client = await station.warm({}, timing);
    service.on('GET', '/system', { status: 501 });
    service.on('POST', '/rtsp/Gate', 'silence');
    await failure(rtspForEvent(client), 'TIMEOUT');
    await eventually(() => client.state.kind === 'refused', 'the refusal');
    await failure(rtspForEvent(client), 'INCOMPATIBLE_VERSION');
    await eventually(() => service.count('GET', '/system') >= 2 + 4, 'further probes');
    // Of 400, 800, 1600 ms up to a half each is left out.
    const pauses = service.gaps('/system').slice(2, 5);
    for (const [index, pause] of pauses.entries()) assertPause(pause, 200 * 2 ** index);
    assert.equal(client.state.kind, 'refused');
    service.on('GET', '/system', service.usual);
    await eventually(() => client.state.kind === 'connected', 'the recovery');
  });

  it('a camera whose connections are reset opens nothing for the others', async () => {
    const client = await station.warm({}, { ...QUICK, probeMs: 10 });
    service.on('POST', '/rtsp/Yard', 'reset');
    await Promise.all(
      Array.from({ length: 50 }, () => failure(rtspForEvent(client, EVENT_OF_YARD), 'NETWORK')),
    );
    await rtspForEvent(client);
    await eventually(() => service.count('GET', '/system') > 2, 'a probe');
    assert.equal(client.state.kind, 'connected');
  });

  it('pauses between probes double up to the longest, and no two stations keep step', () => {
    for (const [step, most] of [
      [1, 1_000],
      [2, 2_000],
      [4, 8_000],
      [9, 15_000],
    ] as const) {
      const pauses = Array.from({ length: 200 }, () => backoff(step, 1_000, 15_000));
      assert.ok(
        pauses.every((pause) => pause >= most / 2 && pause <= most),
        `step ${step}`,
      );
      assert.ok(new Set(pauses).size > 100);
    }
  });
});
