import assert from 'node:assert/strict';
import { camera } from '../support/service/scripted-service';
import {
  EVENT_OF_GATE,
  failure,
  rtspForEvent,
  settingsOf,
  stationOfEachTest,
} from '../support/service/scripted-station';
import { Runs } from '../support/service/forked-services';

const YARD = { id: 'yard', event: { ...EVENT_OF_GATE, cameraId: 'yard', cameraRemoteId: 'remote-yard' } };
const LOGIN = ['GET /system', 'POST /login', 'GET /system'];

describe('after a restart, a camera that stood on a later page', () => {
  const station = stationOfEachTest();
  const { service } = station;
  let runs: Runs;
  /** The cameras of the second page of three. */
  let second: Record<string, unknown>[];
  let isListed: boolean;

  beforeEach(async () => {
    runs = new Runs(() => settingsOf(service));
    isListed = true;
    second = [camera(YARD.id, 'Yard')];
    // The whole list is had in the first run; in later ones its first page does not come.
    service.on('GET', '/devices', () => {
      if (!isListed) return 'silence';
      return { json: { devices: service.devices, _links: { next: '/devices?page=2' } } };
    });
    service.on('GET', '/devices?page=2', () => ({
      json: { devices: second, _links: { next: '/devices?page=3' } },
    }));
    service.on('GET', '/devices?page=3', { json: { devices: [camera('last', 'Last')] } });
  });
  afterEach(() => runs.endAndRemove());

  function requests(): string[] {
    return service.seen.map(({ method, path }) => `${method} ${path}`);
  }

  it('is asked for on that page alone, where nothing is known of its video', async () => {
    await runs.first(service);
    isListed = false;
    const session = await runs.video(YARD.event);
    assert.equal(session.requests, 6);
    const own = requests().filter((request) => request !== 'GET /devices');
    assert.deepEqual(own, [...LOGIN, 'GET /devices?page=2', 'GET /sources/Yard', 'POST /rtsp/Yard']);
  });

  it('is taken as that page tells it now', async () => {
    await runs.first(service);
    isListed = false;
    second = [camera('new', 'Yard'), camera(YARD.id, 'Court')];
    const { device } = await runs.video(YARD.event);
    assert.deepEqual(device, { id: YARD.id, name: 'Court', status: 'online' });
    assert.ok(requests().includes('POST /rtsp/Court'));
  });

  it('is found by the other calls as well, by its id', async () => {
    await runs.first(service);
    isListed = false;
    assert.equal((await (await runs.next()).getDevice(YARD.id)).name, 'Yard');
  });

  it('is asked for once for all the alarms of a page', async () => {
    await runs.first(service);
    isListed = false;
    const client = await runs.next();
    await Promise.all([1, 2, 3].map(() => rtspForEvent(client, YARD.event)));
    assert.equal(service.count('GET', '/devices?page=2'), 1);
  });

  it('is not failed by a page that is gone', async () => {
    await runs.first(service);
    service.on('GET', '/devices?page=2', { status: 404 }, () => ({ json: { devices: second } }));
    assert.equal((await runs.video(YARD.event)).cameraId, YARD.id);
  });

  it('is looked for in the whole list where it is not there any more', async () => {
    await runs.first(service);
    second = [];
    service.devices.push(camera(YARD.id, 'Yard'));
    assert.equal((await runs.video(YARD.event)).cameraId, YARD.id);
    await runs.end();
    service.devices = [];
    await failure(runs.video(YARD.event), 'DEVICE_NOT_FOUND');
  });

  it('is DEVICE_OFFLINE only once it was asked for afresh', async () => {
    await runs.first(service);
    second = [camera(YARD.id, 'Yard', { status: 'offline' })];
    await failure(runs.video(YARD.event), 'DEVICE_OFFLINE');
    // The page, and the whole list because the camera has no resource of its own.
    assert.equal(service.count('GET', '/devices?page=2'), 2);
  });

  it('is not looked for at an address that may hold more than the number of a page', async () => {
    const next = '/devices?cursor=eyJzZXNzaW9uIjoiMTIzNDU2Nzg5MCJ9';
    service.on('GET', '/devices', () => ({ json: { devices: service.devices, _links: { next } } }));
    service.on('GET', next, () => ({ json: { devices: second } }));
    await runs.first(service);
    await runs.video(YARD.event);
    assert.deepEqual(requests().slice(3, 5), ['GET /devices', `GET ${next}`]);
  });
});
