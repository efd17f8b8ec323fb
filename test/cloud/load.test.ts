import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RtspSession } from '../../lib/cloud/calls';
import type { StationClient } from '../../lib/cloud/station-client';
import { FastTime } from '../support/time/fast-time';
import { eventually } from '../support/time/patience';
import {
  EVENT_OF_GATE,
  EVENT_OF_YARD,
  failure,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';
import { type SeenRequest, videoByRemoteId } from '../support/service/scripted-service';

const MANY = 1000;
/** Connections of one Central Station (lib/cloud/http/connection-pool.ts). */
const LIMIT = 32;

const OLD = 'sid=session-value-1';

/** Opens the video of an event of its own, of one of the two cameras. */
function open(client: StationClient, index: number): Promise<RtspSession> {
  const event = index % 2 === 0 ? EVENT_OF_GATE : EVENT_OF_YARD;
  return rtspForEvent(client, { ...event, cameraRemoteId: `remote-${index}` });
}

function openMany(client: StationClient): Promise<RtspSession>[] {
  return Array.from({ length: MANY }, (_, index) => open(client, index));
}

describe('very many callers at once', () => {
  const time = new FastTime();
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(async () => {
    for (const camera of ['Gate', 'Yard']) {
      service.on('POST', `/rtsp/${camera}`, (request) =>
        service.loggedIn(request) ? videoByRemoteId(request) : service.standard(request),
      );
    }
  });
  afterEach(() => time.stop());

  it('cold: one login, one load of the directory, one look at each camera', async () => {
    const sessions = await Promise.all(openMany(station.client()));
    checkSessions(sessions);
    assert.equal(service.count('POST', '/login'), 1);
    assert.equal(service.count('GET', '/devices'), 1);
    assert.equal(service.count('GET', '/sources/Gate') + service.count('GET', '/sources/Yard'), 2);
    // /system before and after the login.
    assert.equal(service.seen.length, 2 + 1 + 1 + 2 + MANY);
    assert.ok(service.mostConnections <= LIMIT, `${service.mostConnections} connections`);
  });

  for (const pause of [0, 300]) {
    it(`after the session was lost: one further login, also where it takes ${pause} ms, and each request counts once`, async () => {
      const client = station.client();
      await Promise.all([0, 1].map((index) => open(client, index)));
      service.sessions.clear();
      service.on('POST', '/login', (request) => ({
        ...Object(service.logIn(request)),
        after: sleep(pause),
      }));
      service.seen.length = 0;

      const sessions = await Promise.all(openMany(client));
      checkSessions(sessions);
      const counted = sessions.reduce((sum, { requests }) => sum + requests, 0);
      assert.equal(counted, service.seen.length);
      assert.equal(service.count('POST', '/login'), 1);
      assert.equal(service.count('GET', '/devices'), 0);
      assert.ok(service.mostConnections <= LIMIT, `${service.mostConnections} connections`);
      checkCookies(service.seen);
      const posts = service.count('POST', '/rtsp/Gate') + service.count('POST', '/rtsp/Yard');
      assert.ok(posts <= 2 * MANY, `${posts} requests for ${MANY} sessions`);
    });
  }

  it('lost again while they are under way: one login each time', async () => {
    const client = station.client();
    await open(client, 0);
    service.seen.length = 0;
    for (let round = 1; round <= 3; round += 1) {
      service.sessions.clear();
      checkSessions(await Promise.all(openMany(client)));
      assert.equal(service.count('POST', '/login'), round);
    }
  });

  it('refused login: one attempt for each step of the growing pause, however many wait and come anew', async () => {
    const client = station.client({}, { probeMs: 1_500, longestProbeMs: 3_000 });
    await open(client, 0);
    service.sessions.clear();
    service.on('POST', '/login', { status: 401, json: { code: 'LoginFailed' } });
    service.seen.length = 0;
    time.start();
    const begun = performance.now();
    const allFail = (): Promise<unknown> =>
      Promise.all(openMany(client).map((call) => failure(call, 'LOGIN_FAILED')));
    await allFail();
    const first = service.seen.length;

    const logins = (): number => service.count('POST', '/login');
    await eventually(async () => {
      await allFail();
      return logins() >= 4;
    }, 'three steps');
    // Steps of 1.5, 3, 3 … s, of each of which up to a half is left out.
    const [made, ms] = [logins(), performance.now() - begun];
    assert.ok(made <= 2 + ms / 750, `${made} logins in ${ms} ms`);
    const later = new Set(service.seen.slice(first).map(({ path }) => path));
    assert.deepEqual(later, new Set(['/system', '/login']));
  });

  it('refused login: all go on by themselves once it is accepted', async () => {
    const client = station.client({}, { probeMs: 50, longestProbeMs: 50 });
    service.on('POST', '/login', { status: 401 }, { status: 401 }, (request) => service.logIn(request));
    await Promise.all(openMany(client).map((call) => failure(call, 'LOGIN_FAILED')));
    await eventually(() => client.state.kind === 'connected', 'the login');
    checkSessions(await Promise.all(openMany(client)));
    assert.equal(service.count('POST', '/login'), 3);
  });
});

function checkSessions(sessions: readonly RtspSession[]): void {
  assert.deepEqual(
    sessions.map(({ url }) => url),
    Array.from({ length: MANY }, (_, index) => `rtsp://relay.example:8554/remote-${index}`),
  );
}

/** Once a request has carried the new cookie, the old one comes with those alone that were on their way. */
function checkCookies(seen: readonly SeenRequest[]): void {
  const first = seen.findIndex(({ headers }) => headers.cookie !== undefined && headers.cookie !== OLD);
  assert.ok(first >= 0, 'no new cookie');
  const late = seen.slice(first).filter(({ headers }) => headers.cookie === OLD);
  assert.ok(late.length <= LIMIT, `${late.length} requests`);
}
