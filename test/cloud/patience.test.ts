import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtspSession } from '../../lib/cloud/calls';
import type { StationClient } from '../../lib/cloud/station-client';
import { STATION_TIMING } from '../../lib/cloud/timing';
import {
  camera,
  type Reply,
  type Route,
  type ScriptedService,
  videoByRemoteId,
  withCookies,
} from '../support/service/scripted-service';
import {
  failure,
  rtspForEvent,
  ScriptedStation,
  stationOfEachTest,
} from '../support/service/scripted-station';
import { few } from '../support/suite/lanes';
import { Gate } from '../support/time/patience';

/** Cold sessions that a service with rotating cookies is asked by, one after the other. */
const RUNS = few(10, 10, 50);
const CAMERAS = ['Gate', 'Yard', 'Dock', 'Hall', 'Roof', 'Ramp'];
const [ALARM = {}, ...OTHERS] = CAMERAS.map((name) => ({
  cameraId: `id-of-${name}`,
  cameraRemoteId: `remote-${name}`,
  eventStartTime: '2026-11-21T10:00:00',
}));
/** Far more than an alarm has: a busy machine may need it. */
const DEADLINE = { deadlineMs: 60_000 };
const LOGGED_OUT = { json: { _links: { 'rel/login': '/login' } } };

/** Lets a service answer for six cameras, in another order than it is asked. */
function answerForSix(service: ScriptedService): void {
  service.devices = CAMERAS.map((name) => camera(`id-of-${name}`, name));
  service.behaviour = (request) => {
    const isVideo = service.loggedIn(request) && request.path.startsWith('/rtsp/');
    const reply = isVideo ? videoByRemoteId(request) : service.standard(request);
    return { ...Object(reply), after: sleep(Math.random() * 12) };
  };
}

/** Of the real timing, that nothing of a test shortens. */
const clientOf = (station: ScriptedStation): StationClient => station.client({}, STATION_TIMING);

/** Six alarms at once, each of which has its video. */
async function sixAlarms(client: StationClient): Promise<RtspSession[]> {
  const sessions = await Promise.all(
    [ALARM, ...OTHERS].map((event) => rtspForEvent(client, event, DEADLINE)),
  );
  assert.deepEqual(
    sessions.map(({ url }) => url),
    CAMERAS.map((name) => `rtsp://relay.example:8554/remote-${name}`),
  );
  return sessions;
}

/** Six alarms at once while the service is away for 5 s. @returns the requests in vain, and the state behind it */
async function throughOutage(reply: Reply, isWarm: boolean): Promise<{ vain: number; state: string }> {
  const station = await ScriptedStation.start();
  const { service } = station;
  answerForSix(service);
  const well = service.behaviour;
  const client = clientOf(station);
  try {
    if (isWarm) await sixAlarms(client);
    let vain = 0;
    service.behaviour = () => {
      vain += 1;
      return reply;
    };
    setTimeout(() => (service.behaviour = well), 5_000);
    await sixAlarms(client);
    return { vain, state: client.state.kind };
  } finally {
    await station.close();
  }
}

describe('patience with a service that is away for 5 s', () => {
  const outages = ([{ status: 503 }, 'reset', 'silence'] as const).flatMap((reply) =>
    [false, true].map((isWarm) => ({ reply, isWarm })),
  );
  let ended: PromiseSettledResult<{ vain: number; state: string }>[];

  // Side by side, for they do nothing but wait.
  before(async () => {
    ended = await Promise.allSettled(outages.map(({ reply, isWarm }) => throughOutage(reply, isWarm)));
  });

  for (const [index, { reply, isWarm }] of outages.entries()) {
    it(`six alarms at once have their video: ${JSON.stringify(reply)}, ${isWarm ? 'warm' : 'cold'}`, () => {
      const outcome = ended[index];
      if (outcome?.status !== 'fulfilled') throw outcome?.reason;
      const { vain, state } = outcome.value;
      assert.equal(state, 'connected');
      // Of hundred requests that could be sent in that time.
      assert.ok(vain > 0 && vain < 80, `${vain} requests in vain`);
    });
  }
});

describe('patience with a service that stumbles', () => {
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => answerForSix(service));

  /** The usual answers, where a route is scripted. */
  const well: Route = (request) => service.behaviour(request);

  it('six alarms at once have their video after three 503 in a row for the list of devices', async () => {
    const away = { status: 503 };
    service.on('GET', '/devices', away, away, away, well);
    const sessions = await sixAlarms(clientOf(station));
    assert.equal(service.count('GET', '/devices'), 4);
    const probes = service.count('GET', '/system') - 2;
    assert.equal(
      sessions.reduce((sum, { requests }) => sum + requests, 0),
      service.seen.length - probes,
      'each request but the probes is counted for the alarm that caused it',
    );
  });

  it('six alarms at once have their video after 429 on two of their requests, and the pause is kept', async () => {
    const all = new Gate();
    let [asked, answeredAt] = [0, Infinity];
    for (const name of CAMERAS) {
      service.on('POST', `/rtsp/${name}`, (request) => {
        asked += 1;
        if (asked === CAMERAS.length) all.open();
        if (asked === CAMERAS.length) answeredAt = performance.now();
        if (asked > 2) return { ...Object(videoByRemoteId(request)), after: all.opened };
        return { status: 429, headers: { 'Retry-After': '1' }, after: all.opened };
      });
    }
    await sixAlarms(clientOf(station));
    const requests = service.seen.filter(({ path }) => path.startsWith('/rtsp/'));
    assert.equal(requests.length, 8);
    for (const { at } of requests.slice(-2)) assert.ok(at - answeredAt >= 1_000, `${at - answeredAt} ms`);
  });

  it('six alarms at once have their video where the first /system after the login does not show it', async () => {
    service.on('GET', '/system', well, LOGGED_OUT, LOGGED_OUT, well);
    await sixAlarms(clientOf(station));
    assert.deepEqual([service.count('POST', '/login'), service.count('GET', '/system')], [1, 4]);
  });

  it('a login that shows no effect for two seconds is LOGIN_FAILED', async () => {
    service.on('GET', '/system', LOGGED_OUT);
    await failure(rtspForEvent(clientOf(station), ALARM, DEADLINE), 'LOGIN_FAILED');
    const [, ...settling] = service.gaps('/system');
    const ms = settling.reduce((sum, gap) => sum + gap, 0);
    assert.ok(ms > STATION_TIMING.loginSettlesMs / 2, `${ms} ms`);
  });

  for (const when of ['request', 'answer'] as const) {
    for (const clears of [false, true]) {
      const refusal = clears ? 'a refusal takes the cookie back' : 'a refusal brings none';
      it(`six alarms at once always have their video where cookies rotate with each ${when} and ${refusal}`, async () => {
        rotate(when, clears);
        for (let run = 0; run < RUNS; run += 1) {
          await sixAlarms(clientOf(station));
          await station.closeClients();
        }
      });
    }
  }

  /** Each answer of a session brings a cookie that makes the one before invalid, from when the request or the answer comes. */
  function rotate(when: 'request' | 'answer', clears: boolean): void {
    const plain = service.behaviour;
    service.behaviour = (request) => {
      if (request.path === '/login') service.sessions.clear();
      const isLoggedIn = service.loggedIn(request);
      const reply = Object(plain(request));
      if (request.path === '/login') return reply;
      if (!isLoggedIn)
        return clears && reply.status === 401 ? withCookies('sid=; Path=/; Max-Age=0', reply) : reply;
      const headers = { ...reply.headers };
      const renew = (): void => {
        service.sessions.clear();
        headers['Set-Cookie'] = `sid=${service.newSession()}; Path=/`;
      };
      if (when === 'request') renew();
      return { ...reply, headers, after: reply.after.then(() => when === 'answer' && renew()) };
    };
  }
});
