import assert from 'node:assert/strict';
import { camera, GATE, type Reply } from '../../support/service/scripted-service';
import {
  EVENT_OF_GATE,
  failure,
  LIVE,
  rtspForEvent,
  stationOfEachTest,
} from '../../support/service/scripted-station';
import { slowIt } from '../../support/suite/lanes';
import { PATIENCE } from '../../support/time/patience';

describe('versions, collections, records and ids of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** Lists the one camera that is told by these fields. */
  async function listed(fields: Record<string, unknown>) {
    service.on('GET', '/devices', { json: [fields] });
    const [device] = await station.client().listDevices();
    return device;
  }

  async function idsListed(): Promise<string[]> {
    return (await station.client().listDevices()).map(({ id }) => id);
  }

  const types: [string, string | undefined][] = [
    ['application/json; version=3', '3'],
    ['application/json; version="3"', '3'],
    ['application/json ;  version =  "5.11" ; charset="utf-8"', '5.11'],
    ['application/json;charset=utf-8; Version = "5.11"', '5.11'],
    ['application/vnd.x.resource+json; version=4.5; charset=utf-8', '4.5'],
    ['application/vnd.vendor.resource+json; version=5.1; odata=none', '5.1'],
    ['x.VMS.System;version=2', '2'],
    ['vendor.VMS.System; VERSION=12', '12'],
    ['application/json; x-version=7; version=2', '2'],
    ['application/json', undefined],
    ['application/json; version=', undefined],
    ['application/json; version=abc', undefined],
    ['application/json; version="1.x"', undefined],
    ['', undefined],
  ];
  /** Lets each System resource name its version in this type. */
  function systemOf(type: string): void {
    service.on('GET', '/system', (request) => ({
      ...Object(service.system(request)),
      headers: { 'Content-Type': type },
    }));
  }

  for (const [type, version] of types) {
    it(`T-09 goes on with the version of "${type}": ${version ?? 'not named'}`, async () => {
      systemOf(type);
      const client = await station.connected();
      assert.deepEqual(client.state, { kind: 'connected', version });
    });
  }

  for (const [versionLow, versionHigh, version, isWithin] of [
    ['1', '9', '9', true],
    ['4.5', '5.11', '5.2', true],
    [' 3 ', '3', '3.0', true],
    ['1', '9', '12', false],
    ['4.5', '5.2', '5.11', false],
    ['2', '3', '1.9', false],
  ] as const) {
    const how = isWithin
      ? `finds ${version} within`
      : `goes on with ${version}, and tells of it as not within`;
    it(`T-09 ${how} ${versionLow} to ${versionHigh}`, async () => {
      systemOf(`application/json; version=${version}`);
      const client = station.client({ versionLow, versionHigh });
      assert.equal(client.unaskedVersion, undefined);
      assert.equal((await client.listDevices()).length, 2);
      assert.equal(client.unaskedVersion, isWithin ? undefined : version);
    });
  }

  it('T-09 tells the user that the two are incompatible, and keeps the words of the service', async () => {
    service.on('GET', '/system', { status: 501, json: { message: 'only 10 to 12' } });
    const error = await failure(station.client().listDevices(), 'INCOMPATIBLE_VERSION');
    assert.match(error.message, /incompatible with the API/);
    assert.equal(error.cause.serverMessage, 'only 10 to 12');
  });

  const record = { id: 'a' };
  const envelopes: [string, unknown][] = [
    ['a bare array', [record]],
    ['an array under its name', { devices: [record], other: [1] }],
    ['an array under its name in capitals', { Devices: [record] }],
    ['an array under any one name', { things: [record], total: 1 }],
    ['an array under any one name and a header', { collection_header: { limits: [] }, things: [record] }],
    ['an array with things that are no records', { devices: [null, 7, 'x', [], record] }],
    ['items', { items: [record], warnings: ['x'] }],
    ['Items beside other lists', { Items: [record], Errors: [], Hints: ['x'] }],
    ['results', { results: [record] }],
    ['value', { '@odata.count': 1, value: [record] }],
    ['value with a capital', { Value: [record], Count: 1 }],
    ['data', { data: [record] }],
    ['data around devices', { data: { devices: [record] } }],
    ['data around items', { data: { items: [record] }, meta: {} }],
    ['_embedded', { _embedded: { 'rel/devices': [record] }, _links: {} }],
    ['_embedded under the key of a maker', { _embedded: { '/vendor/rel/devices': [record] } }],
    ['_embedded under one other name', { _embedded: { things: [record] } }],
    ['a result with cameras', { status: 'success', result: { cameras: [record] } }],
    ['a result that is the array', { status: 'success', result: [record] }],
    ['a result that is a map', { status: 'success', result: { cameras: { a: { name: 'x' } } } }],
    ['a map from id to object', { a: { name: 'x', id: 'a' } }],
    ['a map under its name', { devices: { a: {} } }],
    ['a map without ids inside', { a: {}, _links: {} }],
  ];
  for (const [name, json] of envelopes) {
    it(`T-10 reads a collection that is ${name}`, async () => {
      service.on('GET', '/devices', { json });
      assert.deepEqual(await idsListed(), ['a']);
    });
  }

  const empty = [null, {}, [], 'x', 7, { devices: null }, { devices: [] }, { value: [] }, { result: null }];
  const wrapped = { status: 'success', result: { cameras: null } };
  const header = { _type: 'Devices', collection_header: { total_items: 0 }, _links: {} };
  for (const json of [...empty, wrapped, header, { message: 'x', code: 1 }]) {
    it(`T-10 lists no camera for ${JSON.stringify(json)}`, async () => {
      service.on('GET', '/devices', { json });
      assert.deepEqual(await idsListed(), []);
    });
  }

  for (const name of ['result', 'data', 'device', 'camera', 'Device']) {
    it(`T-10 reads one camera that is wrapped in ${name}`, async () => {
      service.devices = [camera(GATE, 'Gate', { _links: { 'rel/self': '/self' } })];
      service.on('GET', '/self', { json: { status: 'success', [name]: { id: GATE, model: 'Dome' } } });
      assert.equal((await station.client().getDevice('Gate'))['model'], 'Dome');
    });
  }

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
    it(`T-11 goes on to the next page by ${place}, and stops at one that was there before`, async () => {
      service.on('GET', '/devices', { json: { devices: [camera('1', 'a')], ...next } });
      service.on('GET', '/devices?p=2', { json: { devices: [camera('2', 'b')], next: '?p=3' } });
      service.on('GET', '/devices?p=3', { json: { devices: [camera('3', 'c')], next: '/devices?p=2' } });
      assert.deepEqual(await idsListed(), ['1', '2', '3']);
    });
  }

  it('T-11 stops at an empty page', async () => {
    service.on('GET', '/devices', { json: { devices: [], next: '/devices?page=2' } });
    assert.deepEqual(await idsListed(), []);
    assert.equal(service.count('GET', '/devices?page=2'), 0);
  });

  it('T-11 takes pages of any size, one camera or many', async () => {
    const page = (from: number, size: number, next: string | null): Reply => ({
      json: { value: Array.from({ length: size }, (_, n) => camera(`${from + n}`, `c${from + n}`)), next },
    });
    service.on('GET', '/devices', page(0, 1, '?p=2'));
    service.on('GET', '/devices?p=2', page(1, 300, '?p=3'));
    service.on('GET', '/devices?p=3', page(301, 2, null));
    assert.equal((await idsListed()).length, 303);
  });

  /** A list without end, of cameras with these fields. @returns how many pages were asked for */
  function listWithoutEnd(more: Record<string, unknown> = {}): () => number {
    let page = 0;
    service.on('GET', '/devices', () => {
      page += 1;
      return { json: { devices: [camera(`${page}`, 'x', more)], next: `?p=${page}` } };
    });
    return () => page;
  }

  slowIt('T-11 ends after 1000 pages of a list without end', async () => {
    listWithoutEnd();
    assert.equal((await idsListed()).length, 1000);
  });

  slowIt(
    'T-11 refuses a list of huge records, whose memory would end Node-RED, before it has all of it',
    async () => {
      const pages = listWithoutEnd({ huge: 'x'.repeat(12 * 1024 * 1024) });
      await failure(station.client().listDevices({ deadlineMs: PATIENCE }), 'BAD_RESPONSE');
      assert.ok(pages() <= 11, `${pages()} pages`);
    },
  );

  it('T-11 stops at a link that a redirect leads back from', async () => {
    service.on('GET', '/devices', { json: { devices: service.devices, next: '/more' } });
    service.on('GET', '/more', { status: 302, headers: { Location: '/devices' } });
    assert.equal((await idsListed()).length, 2);
    assert.equal(service.count('GET', '/more'), 1);
  });

  it('T-11 makes up no page where total and header tell of more', async () => {
    const collection_header = { total_items: 900, start_index: 0, partial: true };
    service.on('GET', '/devices', { json: { devices: service.devices, collection_header } });
    assert.equal((await idsListed()).length, 2);
    const asked = service.seen.map(({ path }) => path).filter((path) => path.startsWith('/devices'));
    assert.deepEqual(asked, ['/devices']);
  });

  it('T-12 keeps unknown fields of a camera as they came', async () => {
    const odd = { Deep: { list: [1, null, 'x'] }, 'with space': true, ünïcode: '\u2019', nothing: null };
    const device = await listed({ ...camera(GATE, 'Gate'), ...odd });
    assert.deepEqual({ ...device, ...odd }, device);
  });

  for (const [what, fields, expected] of [
    [
      'fields with a capital, and null as missing',
      { Id: 17, name: null, displayName: 'Gate', siteName: 'Depot', Status: 'Online' },
      { id: '17', name: 'Gate', site: 'Depot', status: 'Online', online: true, Id: 17 },
    ],
    [
      'other fields where null stands in the first',
      { id: null, deviceId: 7, name: null, label: 'Gate', status: null, state: 'ONLINE' },
      { id: '7', name: 'Gate', online: true },
    ],
    ['the site by its location', { id: 1, location: 'Depot' }, { id: '1', site: 'Depot' }],
    [
      'several words of status, in one text',
      { id: 1, status: ['unauthenticated', 'initializing'], state: 'offline' },
      { id: '1', status: 'unauthenticated, initializing', online: false },
    ],
    ['a status as it is', { id: 1, status: 'Un-Authorized ' }, { id: '1', status: 'Un-Authorized ' }],
  ] as const) {
    it(`T-12 reads ${what}, and numbers as text`, async () => {
      assert.partialDeepStrictEqual(await listed(fields), expected);
    });
  }

  it('T-12 reads the ids of an event that come as numbers, with a capital or as null', async () => {
    service.devices = [camera('1001', 'Gate', { RemoteId: 0 })];
    const event = { CameraId: 1001, cameraRemoteId: null, EventStartTime: '2026-11-21T10:00:00' };
    const session = await station.client().openRtsp({ ...LIVE, mode: 'event', event, preRoll: 0 });
    assert.deepEqual([session.cameraId, session.cameraRemoteId], ['1001', '0']);
  });

  it('T-13 takes an exact id before a GUID in another case', async () => {
    const upper = GATE.toUpperCase();
    service.devices = [camera(upper, 'Upper'), camera(GATE, 'Lower')];
    const client = station.client();
    assert.equal((await client.getDevice(GATE)).name, 'Lower');
    assert.equal((await client.getDevice(upper)).name, 'Upper');
    assert.equal((await client.getDevice(`{${GATE}}`)).name, 'Upper');
  });

  for (const [id, called, isFound] of [
    ['00000000-0000-0000-0000-00000000000a', '{00000000-0000-0000-0000-00000000000A}', true],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', true],
    ['{0E9F0C1A-0000-E911-F000-00000000000A}', '0e9f0c1a-0000-e911-f000-00000000000a', true],
    [`${GATE}0a`, `${GATE}0A`, false],
    [GATE.replaceAll('-', ''), GATE.replaceAll('-', '').toUpperCase(), false],
    [`urn:uuid:${GATE}`, GATE, false],
    [GATE.replace('0e9f', '0g9f'), GATE.replace('0e9f', '0G9F'), false],
    ['4xIx1-abc_DEF', '4xIx1-abc_def', false],
  ] as const) {
    it(`T-13 ${isFound ? 'finds' : 'does not find'} ${id} by ${called}: in any case only a GUID is found`, async () => {
      service.devices = [camera(id, 'Gate')];
      const client = station.client();
      const event = { ...EVENT_OF_GATE, cameraId: called, cameraRemoteId: null };
      if (isFound) {
        assert.equal((await client.getDevice(called)).name, 'Gate');
        assert.equal((await rtspForEvent(client, event)).device.name, 'Gate');
      } else {
        await failure(client.getDevice(called), 'DEVICE_NOT_FOUND');
        await failure(rtspForEvent(client, event), 'DEVICE_NOT_FOUND');
      }
    });
  }

  it('T-13 T-17 sends a remote id letter by letter, however it looks', async () => {
    const remoteId = `{${GATE.toUpperCase()}} +/=_-é`;
    service.devices = [camera(GATE, 'Gate', { remoteId })];
    await station.client().openRtsp(LIVE);
    const body: unknown = JSON.parse(service.last('POST', '/rtsp/Gate')?.body ?? '');
    assert.deepEqual(body, { cameraId: remoteId, quality: 'high' });
  });

  it('T-13 finds a camera by its remote id in its own case only', async () => {
    service.devices = [camera('1', 'Gate', { remoteId: 'AbC' })];
    const client = station.client();
    assert.equal((await client.getDevice('AbC')).id, '1');
    await failure(client.getDevice('abc'), 'DEVICE_NOT_FOUND');
  });

  const usable: [Record<string, unknown>, boolean][] = [
    [{ status: 'ONLINE' }, true],
    [{ Status: 'oNLINE' }, true],
    [{ status: ['Online'] }, true],
    [{ status: ['initializing', 'Online'] }, true],
    [{ status: { state: 'online' } }, true],
    [{ status: { status: 'online' } }, true],
    [{ status: { Value: 'Online', code: 1 } }, true],
    [{ status: [], State: 'Online' }, true],
    [{ status: {}, connectionState: 'connected' }, true],
    [{ connectionState: 'CONNECTED' }, true],
    [{ connectionStatus: ['CONNECTED'] }, true],
    [{ connectionStatus: { state: 'CONNECTED' } }, true],
    [{ Connected: true }, true],
    [{}, false],
    [{ status: 'Un-Authorized ' }, false],
    [{ status: 'offline', connected: true }, false],
    [{ status: 'onlinish' }, false],
    [{ status: null, connected: 'yes' }, false],
    [{ state: 'connecting' }, false],
    [{ status: ['id_inconsistent'], state: 'offline' }, false],
    [{ status: 'connected' }, false],
    [{ status: '', connectionState: 'CONNECTING' }, false],
    [{ status: 'unknown', state: 'online', connected: true }, false],
    [{ connected: 'true' }, false],
  ];
  for (const [fields, online] of usable) {
    it(`T-14 takes ${JSON.stringify(fields)} as ${online ? 'usable' : 'not usable'}`, async () => {
      assert.equal((await listed({ id: 'a', ...fields }))?.online, online);
    });
  }
});
