import assert from 'node:assert/strict';
import { Gate, eventually } from '../support/time/patience';
import {
  EVENT_OF_GATE,
  failure,
  rtspForEvent,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../support/service/scripted-station';

describe('session of a central station', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('T-07 logs in anew once and repeats the request where the session is lost', async () => {
    const client = station.client();
    await client.listDevices();
    service.sessions.clear();
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
    assert.equal(service.count('POST', '/login'), 2);
    assert.equal(service.count('GET', '/devices'), 3);
  });

  it('T-07 does the same for the POST that opens an RTSP session', async () => {
    const client = station.client();
    await rtspForEvent(client);
    service.sessions.clear();
    const session = await rtspForEvent(client);
    assert.equal(session.url, 'rtsp://relay.example:8554/token-1');
    assert.equal(session.requests, 5);
  });

  it('T-07 makes one login for all operations that meet the lost session together', async () => {
    const client = station.client();
    await rtspForEvent(client);
    service.sessions.clear();
    await Promise.all(Array.from({ length: 100 }, () => rtspForEvent(client)));
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('T-07 holds for the System resource, where a lost session is not refused but shown less', async () => {
    const client = station.client();
    await client.listDevices();
    for (const rels of [[], ['rel/devices']]) {
      service.sessions.clear();
      const { links, payload } = await client.request({ start: 'system', rels, method: 'GET' });
      assert.ok('rel/devices' in links || JSON.stringify(payload).includes('Gate'));
    }
    assert.equal(service.count('POST', '/login'), 3);
  });

  it('T-07 recovers as often as the session is lost', async () => {
    const client = station.client();
    for (let round = 1; round <= 4; round += 1) {
      await client.listDevices({ fresh: true });
      assert.equal(service.count('POST', '/login'), round);
      service.sessions.clear();
    }
  });

  it('T-07 fails with PERMISSION_DENIED where a link is refused after a fresh login too', async () => {
    service.on('POST', '/rtsp/Gate', {
      status: 403,
      json: { code: 'Unauthorized', message: 'not yours' },
    });
    const error = await failure(rtspForEvent(station.client()), 'PERMISSION_DENIED');
    assert.deepEqual(error.cause, {
      status: 403,
      relation: 'rel/rtsp',
      attempts: 2,
      serverCode: 'Unauthorized',
      serverMessage: 'not yours',
    });
  });

  it('T-07 makes no further login for a while after that', async () => {
    service.on('POST', '/rtsp/Gate', { status: 403 });
    const client = station.client({}, { refusalMs: 60_000 });
    for (let turn = 0; turn < 3; turn += 1) {
      await failure(rtspForEvent(client), 'PERMISSION_DENIED');
    }
    assert.equal(service.count('POST', '/login'), 2);
    assert.equal(service.count('POST', '/rtsp/Gate'), 4);
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
  });

  it('T-07 tries a fresh login again once that while is over', async () => {
    service.on('POST', '/rtsp/Gate', { status: 403 });
    const client = station.client({}, { refusalMs: 0 });
    await failure(rtspForEvent(client), 'PERMISSION_DENIED');
    await failure(rtspForEvent(client), 'PERMISSION_DENIED');
    assert.equal(service.count('POST', '/login'), 3);
  });

  it('T-07 keeps a good session where one camera is refused and the login fails meanwhile', async () => {
    const client = station.client();
    await rtspForEvent(client);
    service.on('POST', '/rtsp/Yard', { status: 403 });
    service.on('POST', '/login', { status: 429, headers: { 'Retry-After': '3600' } });
    const yard = { ...EVENT_OF_GATE, cameraId: '0e9f0c1a-0000-e911-8000-000000000002' };
    await failure(rtspForEvent(client, yard), 'RATE_LIMITED');
    assert.equal((await rtspForEvent(client)).requests, 1);
    assert.equal(client.state.kind, 'connected');
  });

  it('T-07 makes a login for a session that is lost while another link is refused for lack of rights', async () => {
    const client = station.client();
    await rtspForEvent(client);
    service.on('POST', '/rtsp/Yard', { status: 403 });
    const yard = { ...EVENT_OF_GATE, cameraId: '0e9f0c1a-0000-e911-8000-000000000002' };
    await failure(rtspForEvent(client, yard), 'PERMISSION_DENIED');
    service.sessions.clear();
    await rtspForEvent(client);
    assert.equal(service.count('POST', '/login'), 3);
  });

  it('T-05 keeps a session whose cookie came before the login, whatever cookies other answers bring', async () => {
    const flood = Array.from({ length: 70 }, (_, n) => `other${n}=1; Path=/`);
    service.on('GET', '/system', (request) => {
      const reply = asReply(service.system(request));
      const hasCookie = request.headers.cookie !== undefined;
      return hasCookie
        ? reply
        : { ...reply, headers: { 'Set-Cookie': `sid=${service.newSession()}; Path=/` } };
    });
    // It lets in the session that it was told, and brings no cookie of its own.
    service.on('POST', '/login', { json: {} });
    service.on('GET', '/devices', (request) => {
      const reply = asReply(service.standard(request));
      return { ...reply, headers: { 'Set-Cookie': flood.map((text) => `${service.seen.length}${text}`) } };
    });
    const client = station.client();
    for (let turn = 0; turn < 3; turn += 1) await client.listDevices({ fresh: true });
    assert.equal(service.count('GET', '/devices'), 3, 'none refused');
  });

  it('T-05 needs one login for calls at once, again and again, where each answer makes the cookie before invalid', async () => {
    let valid = '';
    service.behaviour = (request) => {
      const reply = service.standard(request);
      const isOld = valid !== '' && request.path !== '/login' && !request.headers.cookie?.includes(valid);
      if (isOld) return { status: 401, json: { code: 'AuthExpired' } };
      valid = service.newSession();
      return { ...asReply(reply), headers: { 'Set-Cookie': `sid=${valid}; Path=/` } };
    };
    const client = station.client();
    for (let wave = 1; wave <= 4; wave += 1) {
      await Promise.all(Array.from({ length: 10 }, () => rtspForEvent(client)));
    }
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('T-05 takes no refusal as one of rights where the answer with the newest cookie was never read', async () => {
    let valid = '';
    let lost = 0;
    service.behaviour = (request) => {
      const isOld = valid !== '' && request.path !== '/login' && !request.headers.cookie?.includes(valid);
      if (isOld && request.path !== '/system') return { status: 401, json: { code: 'AuthExpired' } };
      const reply = isOld ? { json: { _links: { 'rel/login': '/login' } } } : service.standard(request);
      valid = service.newSession();
      if (request.path.startsWith('/rtsp') && (lost += 1) <= 3) return 'silence';
      return { ...asReply(reply), headers: { 'Set-Cookie': `sid=${valid}; Path=/` } };
    };
    const client = station.client({ timeoutMs: SHORT_TIMEOUT }, { retryMs: 10, longestRetryMs: 10 });
    await client.listDevices();
    await rtspForEvent(client);
    assert.equal(lost, 4);
  });

  it('T-21 asks /system anew where the address of the devices is gone', async () => {
    const client = station.client();
    await client.listDevices();
    service.on('GET', '/devices', { status: 404 });
    service.on('GET', '/moved', { json: service.devices });
    service.on('GET', '/system', { json: { _links: { 'rel/devices': '/moved' } } });
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('T-07 drops a session that no longer offers the devices', async () => {
    const client = station.client();
    await client.listDevices();
    service.sessions.clear();
    service.on('GET', '/devices', { status: 404 }, service.usual);
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('T-05 keeps late cookies of an old session out of the new one', async () => {
    const gate = new Gate();
    const client = station.client();
    await rtspForEvent(client);
    service.on('POST', '/rtsp/Gate', {
      after: gate.opened,
      headers: { 'Set-Cookie': 'sid=stale; Path=/' },
      json: { url: 'rtsp://relay.example/late' },
    });
    const slow = rtspForEvent(client);
    await eventually(() => service.count('POST', '/rtsp/Gate') === 2, 'the slow request');
    service.sessions.clear();
    await client.listDevices({ fresh: true });
    gate.open();
    await slow;
    await client.listDevices({ fresh: true });
    assert.equal(service.last('GET', '/devices')?.headers.cookie, 'sid=session-value-2');
  });

  it('leaves the shared login alone where one of its callers gives up', async () => {
    const gate = new Gate();
    service.on('POST', '/login', (request) => ({ ...asReply(service.logIn(request)), after: gate.opened }));
    const client = station.client();
    const caller = new AbortController();
    const first = failure(client.listDevices({ signal: caller.signal }), 'CANCELLED');
    const second = client.listDevices();
    await eventually(() => service.count('POST', '/login') === 1, 'the login');
    caller.abort();
    await first;
    gate.open();
    assert.equal((await second).length, 2);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('counts shared work for the operation that started it', async () => {
    const client = station.client();
    const [first, second] = await Promise.all([rtspForEvent(client), rtspForEvent(client)]);
    assert.deepEqual([first.requests, second.requests], [6, 1]);
  });
});

function asReply(reply: unknown): Record<string, unknown> {
  return { ...(typeof reply === 'object' ? reply : {}) };
}
