import assert from 'node:assert/strict';
import { readPage, unwrapRecord } from '../../../lib/cloud/http/records';
import { isOnline, remoteIdOf, toDevice } from '../../../lib/cloud/cameras/device-directory';
import { guidForm } from '../../../lib/text';
import { compareVersions, versionOf } from '../../../lib/cloud/session/system';
import { camera, GATE } from '../../support/service/scripted-service';
import { failure, stationOfEachTest } from '../../support/service/scripted-station';
import { slowIt } from '../../support/suite/lanes';

const LIVE = { mode: 'live' as const, quality: '', whenOffline: 'fail' as const };

describe('versions, collections, records and ids of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  const types: [string, string | undefined][] = [
    ['application/json;version=3', '3'],
    ['application/json; version="3"', '3'],
    ['application/json ;  version =  "5.11" ; charset="utf-8"', '5.11'],
    ['application/vnd.vendor.resource+json; version=5.1; odata=none', '5.1'],
    ['vendor.VMS.System; VERSION=12', '12'],
    ['application/json; x-version=7; version=2', '2'],
    ['application/json; version=', undefined],
    ['application/json; version="1.x"', undefined],
    ['', undefined],
  ];
  for (const [type, version] of types) {
    it(`T-09 takes the version of "${type}" as ${version ?? 'not named'}`, async () => {
      assert.equal(versionOf(type), version);
    });
  }

  it('T-09 puts versions in order by their components, however many there are', () => {
    const ordered = ['0.9', '1', '1.0.1', '1.2', '1.10', '2', '10'];
    const shuffled = ['10', '1.10', '1.0.1', '2', '1.2', '0.9', '1'];
    assert.deepEqual(shuffled.sort(compareVersions), ordered);
  });

  it('T-09 asks for a range of dotted versions', async () => {
    await station.client({ versionLow: '5.2', versionHigh: '5.11' }).listDevices();
    assert.equal(service.seen[0]?.headers.accept, 'application/json; version=5.2-5.11');
  });

  it('T-09 tells the user that the two are incompatible, and keeps the words of the service', async () => {
    service.on('GET', '/system', { status: 501, json: { message: 'only 10 to 12' } });
    const error = await failure(station.client().listDevices(), 'INCOMPATIBLE_VERSION');
    assert.match(error.message, /incompatible with the API/);
    assert.equal(error.cause.serverMessage, 'only 10 to 12');
  });

  it('T-09 calls an answer of 406 its own fault, to be reported', async () => {
    service.on('GET', '/system', { status: 406 });
    const error = await failure(station.client().listDevices(), 'VERSION_NOT_REQUESTED');
    assert.match(error.message, /report/);
  });

  const record = { id: 'a' };
  const envelopes: [string, unknown][] = [
    ['value with a capital', { Value: [record], Count: 1 }],
    ['Items beside other lists', { Items: [record], Errors: [], Hints: ['x'] }],
    ['a result that is a map', { status: 'success', result: { cameras: { a: { name: 'x' } } } }],
    ['data around items', { data: { items: [record] }, meta: {} }],
    ['_embedded under the key of a maker', { _embedded: { '/vendor/rel/devices': [record] } }],
    ['_embedded under one other name', { _embedded: { things: [record] } }],
    ['one list with any name and a header', { collection_header: { limits: [] }, things: [record] }],
    ['a list with things that are no records', { devices: [null, 7, 'x', [], record] }],
  ];
  for (const [name, body] of envelopes) {
    it(`T-10 reads a collection that is ${name}`, () => {
      const { records } = readPage(body, ['devices', 'cameras']);
      assert.deepEqual(
        records.map(({ id }) => id),
        ['a'],
      );
    });
  }

  for (const body of [
    [],
    { value: [] },
    { result: null },
    { status: 'success', result: { cameras: null } },
    'x',
    7,
  ]) {
    it(`T-10 lists no camera for ${JSON.stringify(body)}`, async () => {
      service.on('GET', '/devices', { json: body });
      assert.deepEqual(await station.client().listDevices(), []);
    });
  }

  it('T-10 reads one camera that is wrapped', () => {
    for (const name of ['result', 'data', 'device', 'camera', 'Device']) {
      assert.deepEqual(unwrapRecord({ status: 'success', [name]: record }), record);
    }
  });

  const nexts: [string, object][] = [
    ['_links', { _links: { next: '/devices?p=2' } }],
    ['_links under the key of a maker', { _links: { '/vendor/rel/next': { href: '?p=2' } } }],
    ['collection_header._links', { collection_header: { _links: { next: ['/devices?p=2'] } } }],
    ['@odata.nextLink', { '@odata.nextLink': 'devices?p=2' }],
    ['nextLink', { nextLink: '/devices?p=2' }],
    ['NextLink', { NextLink: '/devices?p=2' }],
    ['next', { next: { href: '/devices?p=2' } }],
    ['the result around the list', { result: { next: '/devices?p=2' } }],
  ];
  for (const [place, next] of nexts) {
    it(`T-11 goes on to the next page by ${place}`, async () => {
      service.on('GET', '/devices', { json: { devices: [camera('1', 'a')], ...next } });
      service.on('GET', '/devices?p=2', { json: { devices: [camera('2', 'b')] } });
      const ids = (await station.client().listDevices()).map(({ id }) => id);
      assert.deepEqual(ids, ['1', '2']);
    });
  }

  it('T-11 takes pages of any size, one camera or many', async () => {
    const page = (from: number, size: number) =>
      Array.from({ length: size }, (_, n) => camera(`${from + n}`, `c${from + n}`));
    service.on('GET', '/devices', { json: { value: page(0, 1), next: '?p=2' } });
    service.on('GET', '/devices?p=2', { json: { value: page(1, 300), next: '?p=3' } });
    service.on('GET', '/devices?p=3', { json: { value: page(301, 2), next: null } });
    assert.equal((await station.client().listDevices()).length, 303);
  });

  slowIt('T-11 ends after 1000 pages of a list without end', async () => {
    let page = 0;
    service.on('GET', '/devices', () => {
      page += 1;
      return { json: { devices: [camera(`${page}`, 'x')], next: `?p=${page}` } };
    });
    assert.equal((await station.client().listDevices()).length, 1000);
  });

  slowIt(
    'T-11 refuses a list of huge records, whose memory would end Node-RED, before it has all of it',
    async () => {
      const huge = 'x'.repeat(12 * 1024 * 1024);
      let page = 0;
      service.on('GET', '/devices', () => {
        page += 1;
        return { json: { devices: [camera(`${page}`, 'x', { huge })], next: `?p=${page}` } };
      });
      await failure(station.client().listDevices(), 'BAD_RESPONSE');
      assert.ok(page <= 11, `${page} pages`);
    },
  );

  it('T-11 stops at a link that a redirect leads back from', async () => {
    service.on('GET', '/devices', { json: { devices: service.devices, next: '/more' } });
    service.on('GET', '/more', { status: 302, headers: { Location: '/devices' } });
    assert.equal((await station.client().listDevices()).length, 2);
    assert.equal(service.count('GET', '/more'), 1);
  });

  it('T-11 makes up no page where total and header tell of more', async () => {
    const header = { total_items: 900, start_index: 0, partial: true };
    service.on('GET', '/devices', { json: { devices: service.devices, collection_header: header } });
    assert.equal((await station.client().listDevices()).length, 2);
    assert.deepEqual(
      service.seen.map(({ path }) => path).filter((path) => path.startsWith('/devices')),
      ['/devices'],
    );
  });

  it('T-12 keeps unknown fields of a camera as they came', async () => {
    const odd = { Deep: { list: [1, null, 'x'] }, 'with space': true, ünïcode: '\u2019', nothing: null };
    service.on('GET', '/devices', { json: [{ ...camera(GATE, 'Gate'), ...odd }] });
    const [device] = await station.client().listDevices();
    assert.deepEqual({ ...device, ...odd }, device);
  });

  it('T-12 takes null as missing where another field has the value', () => {
    const device = toDevice({
      id: null,
      deviceId: 7,
      name: null,
      label: 'Gate',
      status: null,
      state: 'ONLINE',
    });
    assert.deepEqual([device.id, device.name, device.online], ['7', 'Gate', true]);
  });

  it('T-12 reads the ids of an event that come as numbers, with a capital or as null', async () => {
    service.devices = [camera('1001', 'Gate', { remoteId: 55 })];
    const event = { CameraId: 1001, cameraRemoteId: null, EventStartTime: '2026-11-21T10:00:00' };
    const wanted = { mode: 'event' as const, event, preRoll: 0, quality: '', whenOffline: 'fail' as const };
    const session = await station.client().openRtsp(wanted);
    assert.deepEqual([session.cameraId, session.cameraRemoteId], ['1001', '55']);
  });

  it('T-12 reads a remote id that is a number', () => {
    assert.equal(remoteIdOf({ RemoteId: 0 }), '0');
  });

  it('T-13 takes an exact id before a GUID in another case', async () => {
    const upper = GATE.toUpperCase();
    service.devices = [camera(upper, 'Upper'), camera(GATE, 'Lower')];
    const client = station.client();
    assert.equal((await client.getDevice(GATE)).name, 'Lower');
    assert.equal((await client.getDevice(upper)).name, 'Upper');
    assert.equal((await client.getDevice(`{${GATE}}`)).name, 'Upper');
  });

  for (const id of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
    it(`T-13 takes ${id} as a GUID`, () => assert.equal(guidForm(`{${id.toUpperCase()}}`), id));
  }

  for (const id of [`${GATE}0`, GATE.replaceAll('-', ''), `urn:uuid:${GATE}`, GATE.replace('0e9f', '0g9f')]) {
    it(`T-13 does not take ${id} as a GUID`, () => assert.equal(guidForm(id), undefined));
  }

  it('T-13 T-17 sends a remote id letter by letter, however it looks', async () => {
    const odd = `{${GATE.toUpperCase()}} +/=_-é`;
    service.devices = [camera(GATE, 'Gate', { remoteId: odd })];
    await station.client().openRtsp({ ...LIVE, camera: 'Gate' });
    const body: unknown = JSON.parse(service.last('POST', '/rtsp/Gate')?.body ?? '');
    assert.deepEqual(body, { cameraId: odd, quality: 'high' });
  });

  it('T-13 finds a camera by its remote id in its own case only', async () => {
    service.devices = [camera('1', 'Gate', { remoteId: 'AbC' })];
    const client = station.client();
    assert.equal((await client.getDevice('AbC')).id, '1');
    await failure(client.getDevice('abc'), 'DEVICE_NOT_FOUND');
  });

  const usable: [object, boolean][] = [
    [{ Status: 'oNLINE' }, true],
    [{ status: { status: 'online' } }, true],
    [{ status: { Value: 'Online', code: 1 } }, true],
    [{ status: ['Online'] }, true],
    [{ status: [], State: 'Online' }, true],
    [{ status: {}, connectionState: 'connected' }, true],
    [{ connectionStatus: ['CONNECTED'] }, true],
    [{ Connected: true }, true],
    [{ status: ['id_inconsistent'], state: 'offline' }, false],
    [{ status: 'connected' }, false],
    [{ status: '', connectionState: 'CONNECTING' }, false],
    [{ status: 'unknown', state: 'online', connected: true }, false],
    [{ connected: 'true' }, false],
  ];
  for (const [fields, online] of usable) {
    it(`T-14 takes ${JSON.stringify(fields)} as ${online ? 'usable' : 'not usable'}`, () => {
      assert.equal(isOnline({ ...fields }), online);
    });
  }

  it('T-14 lists a camera that is not usable with its status as it is', async () => {
    service.devices = [camera('1', 'Gate', { status: 'Un-Authorized ' })];
    const [device] = await station.client().listDevices();
    assert.deepEqual([device?.status, device?.online], ['Un-Authorized ', false]);
  });
});
