import assert from 'node:assert/strict';
import { Gate, eventually } from '../support/time/patience';
import { camera, GATE } from '../support/service/scripted-service';
import { EVENT_OF_GATE, failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

const LINKS = { 'rel/self': '/cameras/1', 'rel/data_sources': '/sources/Gate' };

const eventOf = (cameraId: string) => ({ ...EVENT_OF_GATE, cameraId });

describe('directory of devices', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('asks the service once, and again only where that is wanted', async () => {
    const client = await station.connected();
    await client.listDevices();
    assert.equal(service.count('GET', '/devices'), 1);
    await client.listDevices({ fresh: true });
    assert.equal(service.count('GET', '/devices'), 2);
  });

  it('refreshes itself in the background from its first use on', async () => {
    const client = await station.connected({ deviceRefreshMs: 20 });
    await eventually(() => service.count('GET', '/devices') >= 3, 'two refreshes');
    service.devices = [camera('new', 'New')];
    const before = service.count('GET', '/devices');
    await eventually(() => service.count('GET', '/devices') > before + 1, 'one more refresh');
    assert.equal((await client.listDevices())[0]?.id, 'new');
  });

  it('waits between refreshes where the wait is longer than a timer can hold', async () => {
    const client = station.client({ deviceRefreshMs: 30 * 24 * 3_600_000 });
    for (let turn = 0; turn < 20; turn += 1) await rtspForEvent(client);
    assert.equal(service.count('GET', '/devices'), 1);
  });

  it('keeps the devices known where a refresh fails', async () => {
    const client = await station.connected();
    service.on('GET', '/devices', { status: 500 });
    await failure(client.listDevices({ fresh: true }), 'HTTP_ERROR');
    assert.equal((await client.listDevices()).length, 2);
  });

  it('a refresh keeps the record of a camera that is told as before, and takes any other, down to a field inside', async () => {
    const cameras = (width: number) => [camera('a', 'First'), camera('b', 'Second', { sizes: [{ width }] })];
    service.devices = cameras(640);
    const client = station.client();
    const [first, second] = await client.listDevices();
    service.devices = cameras(1920);
    const refreshed = await client.listDevices({ fresh: true });
    assert.equal(refreshed[0], first);
    assert.deepEqual(refreshed[1], { ...second, sizes: [{ width: 1920 }] });
  });

  const CHANGES: [change: string, told: Record<string, string>, remoteIds?: Record<string, string>][] = [
    ['has another name, and that one the name of a third', { a: 'West', b: 'First' }],
    ['has other names', { a: 'West', b: 'East' }],
    ['stands elsewhere', { b: 'Second', a: 'First' }],
    ['is gone', { b: 'Second' }],
    ['is new', { a: 'First', b: 'Second', c: 'Third' }],
    ['has another remote id', { a: 'First', b: 'Second' }, { a: 'else' }],
  ];
  for (const [change, told, remoteIds = {}] of CHANGES) {
    it(`where a camera ${change} after a refresh, each is found by what it is called now`, async () => {
      const cameras = (names: Record<string, string>, remotes: Record<string, string> = {}) =>
        Object.entries(names).map(([id, name]) =>
          camera(id, name, { remoteId: remotes[id] ?? `remote ${id}` }),
        );
      service.devices = cameras({ a: 'First', b: 'Second' });
      const client = await station.connected();
      service.devices = cameras(told, remoteIds);
      const refreshed = await client.listDevices({ fresh: true });
      const namedNow = refreshed.map(({ id, name }) => [id, name]);
      assert.deepEqual(namedNow, Object.entries(told));
      for (const device of refreshed) {
        for (const called of [device.id, device.name, String(device['remoteId'])])
          assert.equal((await client.getDevice(called)).id, device.id);
      }
      for (const name of ['First', 'Second'].filter((former) => !Object.values(told).includes(former)))
        await failure(client.getDevice(name), 'DEVICE_NOT_FOUND');
    });
  }

  it('T-14 refreshes once for a camera it does not know, and finds it', async () => {
    const client = await station.connected();
    service.devices.push(camera('new', 'New'));
    assert.equal((await rtspForEvent(client, eventOf('new'))).device.name, 'New');
  });

  it('T-14 refreshes at most once in a while, however many cameras are unknown', async () => {
    const client = await station.connected();
    const events = Array.from({ length: 20 }, (_, n) => eventOf(`unknown-${n}`));
    await Promise.all(events.map((event) => failure(rtspForEvent(client, event), 'DEVICE_NOT_FOUND')));
    await failure(rtspForEvent(client, eventOf('unknown')), 'DEVICE_NOT_FOUND');
    assert.equal(service.count('GET', '/devices'), 2);
  });

  it('T-14 asks an offline camera’s own resource before the message fails', async () => {
    service.devices = [camera(GATE, 'Gate', { status: 'offline', _links: LINKS })];
    service.on('GET', '/cameras/1', { json: { id: GATE, status: 'offline' } });
    const client = station.client();
    await failure(rtspForEvent(client), 'DEVICE_OFFLINE');
    service.on('GET', '/cameras/1', { json: { id: GATE, status: 'ONLINE' } });
    assert.equal((await rtspForEvent(client)).device.status, 'ONLINE');
    assert.equal((await client.listDevices())[0]?.online, true);
    assert.equal(service.count('GET', '/devices'), 1);
  });

  it('T-14 asks an offline camera once for all messages that wait', async () => {
    service.devices = [camera(GATE, 'Gate', { status: 'offline', _links: { self: '/cameras/1' } })];
    service.on('GET', '/cameras/1', { json: { id: GATE, status: 'offline' } });
    const client = await station.connected();
    const messages = Array.from({ length: 50 }, () => rtspForEvent(client));
    await Promise.all(messages.map((message) => failure(message, 'DEVICE_OFFLINE')));
    assert.equal(service.count('GET', '/cameras/1'), 1);
  });

  for (const [what, more] of [
    ['an offline camera has no resource of its own', {}],
    ['the resource of an offline camera tells no status', { _links: LINKS }],
  ] as const) {
    it(`T-14 asks the directory where ${what}`, async () => {
      service.devices = [camera(GATE, 'Gate', { status: 'connecting', ...more })];
      service.on('GET', '/cameras/1', { json: { id: GATE, model: 'Dome' } });
      const client = await station.connected();
      service.devices = [camera(GATE, 'Gate', more)];
      assert.equal((await rtspForEvent(client)).device.status, 'online');
      assert.equal(service.count('GET', '/devices'), 2);
    });
  }

  it('T-11 a camera that has come with the first pages is found before the last one has', async () => {
    const gate = new Gate();
    service.on('GET', '/devices', { json: { devices: service.devices, next: '/devices/2' } });
    service.on('GET', '/devices/2', { after: gate.opened, json: { devices: [camera('late', 'Late')] } });
    const client = await station.warm();
    const late = rtspForEvent(client, eventOf('late'));
    gate.open();
    assert.equal((await late).device.name, 'Late');
    assert.equal(service.count('GET', '/devices'), 1);
  });
});
