import assert from 'node:assert/strict';
import type { RvmEvent } from '../../lib/event';
import {
  camera,
  GATE,
  type Reply,
  type ScriptedService,
  type SeenRequest,
  videoByRemoteId,
  YARD,
} from '../support/service/scripted-service';
import {
  EVENT_OF_GATE,
  failure,
  LIVE,
  PATIENT,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';
import { runsOfEachTest } from '../support/service/forked-services';
import { Gate, eventually, soon } from '../support/time/patience';
import { MovableClock, TimerWatch } from '../support/time/virtual-time';

const EVENT_OF_YARD: RvmEvent = { ...EVENT_OF_GATE, cameraId: YARD, cameraRemoteId: 'remote-yard' };
const LOGIN = ['GET /system', 'POST /login', 'GET /system'];

/** A camera whose addresses name it by this word. */
function listed(id: string, name: string, word: string, more: Record<string, unknown> = {}) {
  return camera(id, name, { _links: { 'rel/data_sources': `/sources/${word}` }, ...more });
}

const requests = ({ seen }: ScriptedService): string[] => seen.map(({ method, path }) => `${method} ${path}`);

describe('after a restart', () => {
  const station = stationOfEachTest();
  const { service } = station;
  const runs = runsOfEachTest(service);

  beforeEach(async () => {
    service.devices = [listed(GATE, 'Gate', GATE), listed(YARD, 'Yard', YARD)];
    // Each session shows which camera was looked at, and which one was asked for.
    service.behaviour = (request) =>
      request.method === 'POST' && request.path.startsWith('/rtsp/')
        ? video(request)
        : service.standard(request);
  });

  function video(request: SeenRequest): Reply {
    const { json } = Object(videoByRemoteId(request));
    const url = json.rtspRelayURL.replace(':8554', `:8554${request.path.replace('/rtsp', '')}`);
    return { json: { url } };
  }

  it('the list behind an alarm is given up where the service does not give it', async () => {
    await runs.first(service, EVENT_OF_GATE);
    const client = await runs.next({}, { ...PATIENT, deadlineMs: 3_000, outages: 1_000 });
    service.on('GET', '/devices', { status: 500 });
    const clock = new MovableClock();
    const watch = new TimerWatch();
    clock.start();
    watch.start();
    try {
      await rtspForEvent(client);
      await eventually(() => service.count('GET', '/devices') > 2, 'further attempts');
      clock.advance(10);
      await soon(eventually(() => watch.pending.length === 0, 'the end of it'));
    } finally {
      watch.stop();
      clock.stop();
    }
  });

  it('the first alarm of a camera costs the login and the session alone', async () => {
    await runs.first(service, EVENT_OF_GATE);
    const client = await runs.next();
    const session = await rtspForEvent(client);
    assert.equal(session.url, `rtsp://relay.example:8554/${GATE}/r`);
    assert.deepEqual(session.device, { id: GATE, name: 'Gate', status: 'online' });
    assert.equal(session.requests, 4);
    assert.deepEqual(requests(service).slice(0, 4), [...LOGIN, `POST /rtsp/${GATE}`]);
  });

  it('the list follows behind that alarm, and counts from then on', async () => {
    await runs.first(service, EVENT_OF_GATE);
    const list = new Gate();
    service.devices = [listed(GATE, 'Gate, renamed', GATE)];
    service.on('GET', '/devices', () => ({ json: service.devices, after: list.opened }));
    const client = await runs.next();
    assert.equal((await rtspForEvent(client)).device.name, 'Gate');
    await eventually(() => service.count('GET', '/devices') === 1, 'the list');
    list.open();
    await client.listDevices();
    assert.equal((await rtspForEvent(client)).device.name, 'Gate, renamed');
    assert.equal(service.count('GET', '/devices'), 1);
  });

  it('alarms at the same time share the login, and none waits for the list', async () => {
    await runs.first(service, EVENT_OF_GATE, EVENT_OF_YARD);
    service.on('GET', '/devices', 'silence');
    const client = await runs.next();
    const events = [EVENT_OF_GATE, EVENT_OF_YARD, EVENT_OF_GATE];
    const sessions = await Promise.all(events.map((event) => rtspForEvent(client, event)));
    const cameraIds = sessions.map(({ cameraId }) => cameraId);
    assert.deepEqual(cameraIds, [GATE, YARD, GATE]);
    assert.equal(service.count('POST', '/login'), 1);
    assert.ok(!requests(service).some((request) => request.startsWith('GET /sources')));
  });

  it('an address that has no camera in it is used again, for the body names the camera', async () => {
    service.on('GET', `/sources/${GATE}`, { json: { _links: { 'rel/rtsp': '/api/v2/rtsp' } } });
    service.on('POST', '/api/v2/rtsp', video);
    await runs.first(service, EVENT_OF_GATE);
    const { requests: count } = await runs.video(EVENT_OF_GATE);
    assert.equal(count, 4);
  });

  describe('a hint that is wrong costs one request and the alarm nothing, where the session', () => {
    for (const [what, reply] of [
      ['is gone', { status: 404 }],
      ['is gone for good', { status: 410 }],
      ['is refused as it was asked for', { status: 400 }],
      ['is in conflict', { status: 409 }],
      ['is out of order', { status: 500 }],
      ['answers something else', { json: { hello: 'world' } }],
      ['answers with a page of the web', { text: '<html></html>' }],
      ['breaks off', 'reset'],
    ] as const) {
      it(what, async () => {
        await runs.first(service, EVENT_OF_GATE);
        service.on('POST', `/rtsp/${GATE}`, reply);
        service.devices = [listed(GATE, 'Gate', 'moved')];
        const session = await runs.video(EVENT_OF_GATE);
        assert.equal(session.url, 'rtsp://relay.example:8554/moved/r');
        assert.deepEqual(requests(service), [
          ...LOGIN,
          `POST /rtsp/${GATE}`,
          'GET /devices',
          'GET /sources/moved',
          'POST /rtsp/moved',
        ]);
      });
    }
  });

  it('a hint that is refused for lack of rights does not keep the alarm from its video', async () => {
    await runs.first(service, EVENT_OF_GATE);
    service.on('POST', `/rtsp/${GATE}`, { status: 403 });
    service.devices = [listed(GATE, 'Gate', 'moved')];
    assert.equal((await runs.video(EVENT_OF_GATE)).url, 'rtsp://relay.example:8554/moved/r');
  });

  it('a link to an origin that is trusted no more is not followed', async () => {
    const other = await station.otherService();
    other.on('POST', `/rtsp/${GATE}`, video);
    service.on('GET', `/sources/${GATE}`, { json: { _links: { 'rel/rtsp': `${other.url}/rtsp/${GATE}` } } });
    await rtspForEvent(await runs.next({ trustedOrigins: [other.url] }), EVENT_OF_GATE);
    await runs.end();
    service.on('GET', `/sources/${GATE}`, { json: { _links: { 'rel/rtsp': `/rtsp/${GATE}` } } });
    await runs.video(EVENT_OF_GATE);
    assert.equal(other.seen.length, 1);
  });

  const [ONE, OTHER] = ['remote-17', 'remote-18'] as const;
  for (const [what, words, later, remoteIds] of [
    ['counts the cameras', ['1', '2'], ['2', '1'], [ONE, ONE]],
    ['has the name of a camera', ['Gate', 'Yard'], ['Yard', 'Gate'], [ONE, ONE]],
    ['has a remote id that changes', [ONE, OTHER], [OTHER, ONE], [ONE, OTHER]],
  ] as const) {
    it(`an address that ${what} is not used again: it may be that of another camera now`, async () => {
      const [gate = '', yard = ''] = words;
      service.devices = [listed(GATE, gate, gate), listed(YARD, yard, yard)];
      await runs.first(service, { ...EVENT_OF_GATE, cameraRemoteId: remoteIds[0] });
      const [gateNow, yardNow] = later;
      service.devices = [listed(GATE, gateNow, gateNow), listed(YARD, yardNow, yardNow)];
      const session = await runs.video({ ...EVENT_OF_GATE, cameraRemoteId: remoteIds[1] });
      assert.equal(session.url, `rtsp://relay.example:8554/${gateNow}/${remoteIds[1]}`);
      assert.equal(service.count('POST', `/rtsp/${gate}`), 0);
    });
  }

  it('a camera that is listed no more is not found', async () => {
    await runs.first(service, EVENT_OF_GATE);
    service.devices = [listed(YARD, 'Yard', YARD)];
    service.on('POST', `/rtsp/${GATE}`, { status: 404 });
    await failure(runs.video(EVENT_OF_GATE), 'DEVICE_NOT_FOUND');
  });

  it('a camera that was listed no more in the last run is not known from the run before', async () => {
    await runs.first(service, EVENT_OF_GATE);
    service.devices = [listed(YARD, 'Yard', YARD)];
    await (await runs.next()).listDevices();
    await failure(runs.video(EVENT_OF_GATE), 'DEVICE_NOT_FOUND');
    assert.equal(service.count('POST', `/rtsp/${GATE}`), 0);
  });

  it('a camera that was offline is asked for afresh, and not failed by what was', async () => {
    service.devices = [listed(GATE, 'Gate', GATE, { status: 'offline' })];
    const client = await runs.next();
    await rtspForEvent(client, EVENT_OF_GATE, { whenOffline: 'try' });
    await failure(runs.video(EVENT_OF_GATE), 'DEVICE_OFFLINE');
    service.devices = [listed(GATE, 'Gate', GATE)];
    assert.equal((await runs.video(EVENT_OF_GATE)).device.status, 'online');
  });

  it('a name is looked for in the whole list of now: it may be that of several cameras by now', async () => {
    await runs.first(service, EVENT_OF_GATE);
    service.devices.push(listed('third', 'Gate', 'third'));
    const client = await runs.next();
    await failure(client.openRtsp(LIVE), 'BAD_INPUT');
  });

  it('a remote id is looked for in the whole list of now: it may be that of another camera by now', async () => {
    const event = { cameraRemoteId: 'remote-17', eventStartTime: '2026-11-21T10:00:00' };
    service.devices = [listed(GATE, 'Gate', GATE, { remoteId: 'remote-17' }), listed(YARD, 'Yard', YARD)];
    await runs.first(service, { ...EVENT_OF_GATE, ...event }, event);
    service.devices = [listed(GATE, 'Gate', GATE), listed(YARD, 'Yard', YARD, { remoteId: 'remote-17' })];
    assert.equal((await runs.video(event)).cameraId, YARD);
  });

  describe('the remote id that an event has told of a camera', () => {
    const { cameraRemoteId: _none, ...withoutRemoteId } = EVENT_OF_GATE;

    it('is known where the next one does not tell it', async () => {
      await runs.first(service, EVENT_OF_GATE);
      assert.equal((await runs.video(withoutRemoteId)).cameraRemoteId, 'r');
    });

    it('is known after one more restart, in which nobody has asked for it', async () => {
      await runs.first(service, EVENT_OF_GATE);
      await (await runs.next()).listDevices();
      assert.equal((await runs.video(withoutRemoteId)).cameraRemoteId, 'r');
    });

    it('counts no more where the service shows it of another camera', async () => {
      await runs.first(service, EVENT_OF_GATE);
      service.devices = [listed(GATE, 'Gate', GATE), listed(YARD, 'Yard', YARD, { remoteId: 'r' })];
      assert.equal((await runs.video(withoutRemoteId)).cameraRemoteId, GATE);
    });

    it('counts no more where another event has told it of another camera', async () => {
      await runs.first(service, EVENT_OF_GATE, { ...EVENT_OF_YARD, cameraRemoteId: 'r' });
      assert.equal((await runs.video(withoutRemoteId)).cameraRemoteId, GATE);
    });

    it('is not what finds the camera any more once an event has told another one of it', async () => {
      const client = await runs.next();
      await rtspForEvent(client);
      await rtspForEvent(client, { ...EVENT_OF_GATE, cameraRemoteId: 'other' });
      const { cameraId: _gate, ...byRemoteId } = EVENT_OF_GATE;
      await failure(rtspForEvent(client, byRemoteId), 'DEVICE_NOT_FOUND');
      assert.equal((await rtspForEvent(client, { ...byRemoteId, cameraRemoteId: 'other' })).cameraId, GATE);
    });

    it('counts no more in the same run, either, where another event has told it of another camera', async () => {
      const client = await runs.next();
      await rtspForEvent(client);
      await rtspForEvent(client, { ...EVENT_OF_YARD, cameraRemoteId: 'r' });
      assert.equal((await rtspForEvent(client, withoutRemoteId)).cameraRemoteId, GATE);
    });
  });

  it('another Agent User and another cloud know nothing of it', async () => {
    await runs.first(service, EVENT_OF_GATE);
    const logIn = (request: SeenRequest) => service.logIn({ ...request, body: JSON.stringify(service) });
    service.on('POST', '/login', logIn);
    await rtspForEvent(await runs.next({ username: 'another' }), EVENT_OF_GATE);
    assert.ok(requests(service).includes(`GET /sources/${GATE}`));
    const other = await station.otherService();
    other.devices = service.devices;
    await rtspForEvent(await runs.next({ baseUrl: other.url }), EVENT_OF_GATE);
    assert.equal(other.count('GET', `/sources/${GATE}`), 1);
  });
});

describe('after a restart, a camera that stood on a later page', () => {
  const station = stationOfEachTest();
  const { service } = station;
  const runs = runsOfEachTest(service);
  /** The cameras of the second page of three. */
  let second: Record<string, unknown>[];
  let isListed: boolean;
  const onPageTwo = { ...EVENT_OF_GATE, cameraId: 'yard', cameraRemoteId: 'remote-yard' };

  beforeEach(async () => {
    isListed = true;
    second = [camera('yard', 'Yard')];
    service.on('GET', '/devices', () => {
      if (!isListed) return 'silence';
      return { json: { devices: service.devices, _links: { next: '/devices?page=2' } } };
    });
    service.on('GET', '/devices?page=2', () => ({
      json: { devices: second, _links: { next: '/devices?page=3' } },
    }));
    service.on('GET', '/devices?page=3', { json: { devices: [camera('last', 'Last')] } });
  });

  /** Its video is had in the first run; in later ones the first page of the list does not come. */
  async function firstRun(): Promise<void> {
    await runs.first(service, onPageTwo);
    isListed = false;
  }

  it('is asked for on that page alone, where the link of its video cannot be used again', async () => {
    await firstRun();
    const session = await runs.video(onPageTwo);
    assert.equal(session.requests, 6);
    const own = requests(service).filter((request) => request !== 'GET /devices');
    assert.deepEqual(own, [...LOGIN, 'GET /devices?page=2', 'GET /sources/Yard', 'POST /rtsp/Yard']);
  });

  it('is taken as that page tells it now', async () => {
    await firstRun();
    second = [camera('new', 'Yard'), camera('yard', 'Court')];
    const { device } = await runs.video(onPageTwo);
    assert.deepEqual(device, { id: 'yard', name: 'Court', status: 'online' });
    assert.ok(requests(service).includes('POST /rtsp/Court'));
  });

  it('is asked for on that page alone, where the run before ended in the middle of its list, and the event has one id', async () => {
    const { cameraRemoteId: _none, ...byItsId } = onPageTwo;
    service.on('GET', '/devices?page=3', 'silence');
    second = [listed('yard', 'Yard', 'yard')];
    const killed = await runs.next();
    await rtspForEvent(killed, byItsId);
    await soon(
      eventually(() => runs.files().length === 1, 'what was learned, on disk'),
      20,
    );
    isListed = false;
    assert.equal((await runs.video(byItsId)).requests, 6);
  });

  it('is asked for on the page where the list of the last run had it, not where its video was had first', async () => {
    service.devices.push(camera('yard', 'Yard'));
    await runs.first(service, onPageTwo);
    service.devices.pop();
    await (await runs.next()).listDevices();
    await runs.end();
    isListed = false;
    service.seen.length = 0;
    await runs.video(onPageTwo);
    assert.ok(!requests(service).includes('GET /devices?page=3'));
    assert.equal(service.count('GET', '/devices?page=2'), 1);
  });

  it('is found by the other calls as well, by its id', async () => {
    await firstRun();
    assert.equal((await (await runs.next()).getDevice('yard')).name, 'Yard');
  });

  it('is asked for once for all the alarms of a page', async () => {
    await firstRun();
    const client = await runs.next();
    await Promise.all([1, 2, 3].map(() => rtspForEvent(client, onPageTwo)));
    assert.equal(service.count('GET', '/devices?page=2'), 1);
  });

  it('is not failed by a page that is gone', async () => {
    await runs.first(service, onPageTwo);
    service.on('GET', '/devices?page=2', { status: 404 }, () => ({ json: { devices: second } }));
    assert.equal((await runs.video(onPageTwo)).cameraId, 'yard');
  });

  it('is looked for in the whole list where it is not there any more', async () => {
    await runs.first(service, onPageTwo);
    second = [];
    service.devices.push(camera('yard', 'Yard'));
    assert.equal((await runs.video(onPageTwo)).cameraId, 'yard');
    await runs.end();
    service.devices = [];
    await failure(runs.video(onPageTwo), 'DEVICE_NOT_FOUND');
  });

  it('is DEVICE_OFFLINE only once it was asked for afresh', async () => {
    await runs.first(service, onPageTwo);
    second = [camera('yard', 'Yard', { status: 'offline' })];
    await failure(runs.video(onPageTwo), 'DEVICE_OFFLINE');
    // The page, and the whole list because the camera has no resource of its own.
    assert.equal(service.count('GET', '/devices?page=2'), 2);
  });

  it('is not looked for at an address that may hold more than the number of a page', async () => {
    const next = '/devices?cursor=eyJzZXNzaW9uIjoiMTIzNDU2Nzg5MCJ9';
    service.on('GET', '/devices', () => ({ json: { devices: service.devices, _links: { next } } }));
    service.on('GET', next, () => ({ json: { devices: second } }));
    await runs.first(service, onPageTwo);
    await runs.video(onPageTwo);
    assert.deepEqual(requests(service).slice(3, 5), ['GET /devices', `GET ${next}`]);
  });
});
