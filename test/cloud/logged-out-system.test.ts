import assert from 'node:assert/strict';
import type { ApiRequest } from '../../lib/cloud/calls';
import { Gate, eventually } from '../support/time/patience';
import { withCookies } from '../support/service/scripted-service';
import { failure, PATIENT, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

const TO_DEVICES: ApiRequest = { start: 'system', rels: ['rel/devices'], method: 'GET' };
const LOGGED_OUT = { json: { _links: { 'rel/self': '/system', 'rel/login': '/login' } } };
/** All that a free request can ask the System resource by. */
const WAYS: [string, ApiRequest][] = [
  ['itself', { start: 'system', rels: [], method: 'GET' }],
  ['its own link', { start: 'system', rels: ['rel/self'], method: 'GET' }],
  ['its address', { start: 'url', url: '/system', rels: [], method: 'GET' }],
];

describe('a System resource that is shown as to somebody who is not logged in', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** Each answer to who is logged in brings a cookie that makes the one before invalid, from when the request comes. */
  function rotate(): void {
    service.behaviour = (request) => {
      const reply = service.standard(request);
      if (!service.loggedIn(request)) return reply;
      service.sessions.clear();
      return withCookies(`sid=${service.newSession()}; Path=/`, reply);
    };
  }

  it('T-05 says of a cookie that was outdated no more than a refusal does: those who ask at once need one login', async () => {
    rotate();
    const client = station.client();
    for (let wave = 1; wave <= 4; wave += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => client.request(TO_DEVICES)));
      for (const { payload } of answers) assert.deepEqual(payload, { devices: service.devices });
    }
    assert.equal(service.count('POST', '/login'), 1);
  });

  for (const [way, wanted] of WAYS) {
    it(`T-05 is not what they get who ask at once with cookies that rotate, by ${way}`, async () => {
      rotate();
      const client = station.client();
      const answers = await Promise.all(Array.from({ length: 10 }, () => client.request(wanted)));
      for (const { links } of answers) assert.ok('rel/devices' in links, Object.keys(links).join());
      assert.equal(service.count('POST', '/login'), 1);
    });

    it(`T-07 is asked for again with a new session, by ${way}`, async () => {
      const client = await station.connected();
      service.sessions.clear();
      const { links } = await client.request(wanted);
      assert.ok('rel/devices' in links, Object.keys(links).join());
      assert.equal(service.count('POST', '/login'), 2);
    });
  }

  it('T-05 ends no session where the sign of life had an outdated cookie', async () => {
    rotate();
    const client = await station.connected();
    const gate = new Gate();
    service.on('POST', '/rtsp/Gate', (request) => {
      const reply = service.behaviour(request);
      return typeof reply === 'string' ? reply : { ...reply, after: gate.opened };
    });
    const video = rtspForEvent(client);
    await eventually(() => service.count('POST', '/rtsp/Gate') === 1, 'the request for video');
    const looks = service.count('GET', '/system');
    const life = client.askForLife();
    await eventually(() => service.count('GET', '/system') > looks, 'the request for a sign of life');
    gate.open();
    await Promise.all([video, life]);
    await client.listDevices({ fresh: true });
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('T-07 says nothing of rights, for the login was shown more: it is asked for until it shows that again', async () => {
    const client = await station.connected({}, PATIENT);
    service.on('GET', '/system', LOGGED_OUT, LOGGED_OUT, service.usual, LOGGED_OUT, service.usual);
    const { payload } = await client.request(TO_DEVICES);
    assert.deepEqual(payload, { devices: service.devices });
  });

  it('T-07 says nothing of rights either while no login is made because of another refusal', async () => {
    service.on('POST', '/rtsp/Gate', { status: 403 });
    const client = station.client({}, { ...PATIENT, refusalMs: 60_000 });
    await failure(rtspForEvent(client), 'PERMISSION_DENIED');
    const logins = service.count('POST', '/login');
    service.on('GET', '/system', LOGGED_OUT, service.usual, LOGGED_OUT, service.usual);
    const { payload } = await client.request(TO_DEVICES);
    assert.deepEqual(payload, { devices: service.devices });
    assert.equal(service.count('POST', '/login'), logins);
  });

  it('T-07 is what the error tells where there is no time left to ask again', async () => {
    const client = await station.connected();
    service.on('GET', '/system', LOGGED_OUT, LOGGED_OUT, service.usual, LOGGED_OUT);
    const error = await failure(client.request(TO_DEVICES), 'HTTP_ERROR');
    assert.match(error.message, /answered system as to somebody who is not logged in/);
    assert.deepEqual([error.cause.status, error.cause.relation], [200, 'system']);
  });
});
