import assert from 'node:assert/strict';
import { readPage, findLink } from '../../lib/cloud/http/records';
import { isOnline, toDevice } from '../../lib/cloud/cameras/device-directory';
import { guidForm } from '../../lib/text';
import { compareVersions, versionOf } from '../../lib/cloud/session/system';
import { toServiceTime } from '../../lib/cloud/functions/recorded-time';
import { cpuSeconds } from '../support/time/event-loop';

describe('shapes the client accepts', () => {
  const keys = [
    'rel/devices',
    '/rel/devices',
    'devices',
    '/vendor/rel/Devices',
    'https://docs.example/rel/devices/',
  ];
  for (const key of keys) {
    it(`T-03 finds a relation spelled ${key}`, () => {
      assert.equal(findLink({ _links: { 'rel/other': '/o', [key]: '/d' } }, 'rel/devices'), '/d');
    });
  }

  it('T-03 prefers the exact key', () => {
    assert.equal(
      findLink({ _links: { devices: '/loose', 'rel/devices': '/exact' } }, 'rel/devices'),
      '/exact',
    );
  });

  for (const value of ['/d?x=%2F', { href: '/d?x=%2F' }, ['/d?x=%2F'], [{ href: '/d?x=%2F' }]]) {
    it(`T-02 reads the link value ${JSON.stringify(value)}`, () => {
      assert.equal(findLink({ _links: { 'rel/devices': value } }, 'rel/devices'), '/d?x=%2F');
    });
  }

  for (const links of [undefined, null, 'text', [], {}, { 'rel/devices': null }, { 'rel/devices': 7 }]) {
    it(`T-04 takes the relation as not offered in ${JSON.stringify(links) ?? 'nothing'}`, () => {
      assert.equal(findLink({ _links: links }, 'rel/devices'), undefined);
    });
  }

  it('T-03 passes over relations whose names are longer than 256 characters', () => {
    const named = (length: number) => `${'/'.repeat(length - 'devices'.length)}devices`;
    assert.equal(findLink({ _links: { [named(256)]: '/d' } }, 'rel/devices'), '/d');
    assert.equal(findLink({ _links: { [named(257)]: '/d' } }, 'rel/devices'), undefined);
    assert.equal(findLink({ _links: { [named(257)]: '/long', devices: '/d' } }, 'rel/devices'), '/d');
  });

  const slashes = '/'.repeat(500_000);
  const hostile: [string, Record<string, unknown>][] = [
    ['one name of half a million slashes', { [`${slashes}x`]: '/x' }],
    ['names of many slashes each', Object.fromEntries(manyNames((i) => `${'/'.repeat(240)}${i}`))],
    ['names that end in many slashes', Object.fromEntries(manyNames((i) => `${i}${'/'.repeat(240)}`))],
    ['names of many question marks', Object.fromEntries(manyNames((i) => `${'?'.repeat(240)}${i}`))],
    ['addresses of half a million slashes', { x: `${slashes}x`, y: { href: `x${slashes}` } }],
  ];
  for (const [name, links] of hostile) {
    it(`finds a relation behind ${name} quickly`, async () => {
      const find = (): void =>
        assert.equal(findLink({ _links: { ...links, devices: '/d' } }, 'rel/devices'), '/d');
      assert.ok((await cpuSeconds(find)) < 10);
    });
  }

  const versions: [string, string | undefined][] = [
    ['application/json; version=3', '3'],
    ['application/json;charset=utf-8; Version = "5.11"', '5.11'],
    ['application/vnd.x.resource+json; version=4.5; charset=utf-8', '4.5'],
    ['x.VMS.System;version=2', '2'],
    ['application/json', undefined],
    ['application/json; version=abc', undefined],
  ];
  for (const [type, version] of versions) {
    it(`T-09 reads the version of ${type}`, () => assert.equal(versionOf(type), version));
  }

  it('T-09 compares versions by their components', () => {
    assert.ok(compareVersions('5.11', '5.2') > 0);
    assert.equal(compareVersions('5', '5.0'), 0);
    assert.ok(compareVersions('4.9', '5') < 0);
  });

  const record = { id: 'a' };
  const envelopes: [string, unknown][] = [
    ['a bare array', [record]],
    ['an array under its name', { devices: [record], other: [1] }],
    ['an array under its name in capitals', { Devices: [record] }],
    ['an array under any one name', { things: [record], total: 1 }],
    ['items', { items: [record], warnings: ['x'] }],
    ['results', { results: [record] }],
    ['value', { '@odata.count': 1, value: [record] }],
    ['data', { data: [record] }],
    ['data around devices', { data: { devices: [record] } }],
    ['_embedded', { _embedded: { 'rel/devices': [record] }, _links: {} }],
    ['a result with cameras', { status: 'success', result: { cameras: [record] } }],
    ['a result that is the array', { status: 'success', result: [record] }],
    ['a map from id to object', { a: { name: 'x', id: 'a' } }],
    ['a map under its name', { devices: { a: {} } }],
    ['a map without ids inside', { a: {}, _links: {} }],
  ];
  for (const [name, body] of envelopes) {
    it(`T-10 reads a collection as ${name}`, () => {
      assert.deepEqual(
        readPage(body, ['devices', 'cameras']).records.map(({ id }) => id),
        ['a'],
      );
    });
  }

  const header = { _type: 'Devices', collection_header: { total_items: 0 }, _links: {} };
  for (const body of [null, {}, { devices: null }, { devices: [] }, header, { message: 'x', code: 1 }]) {
    it(`T-10 takes ${JSON.stringify(body)} as an empty list`, () => {
      assert.deepEqual(readPage(body, ['devices', 'cameras']).records, []);
    });
  }

  it('T-12 reads fields with a capital, null as missing, numbers as text', () => {
    const device = toDevice({ Id: 17, name: null, displayName: 'Gate', siteName: 'Depot', Status: 'Online' });
    const { id, name, site, status, online } = device;
    assert.deepEqual(
      { id, name, site, status, online },
      { id: '17', name: 'Gate', site: 'Depot', status: 'Online', online: true },
    );
    assert.equal(device['Id'], 17);
  });

  const usable = [
    { status: 'ONLINE' },
    { status: ['initializing', 'Online'] },
    { status: { state: 'online' } },
    { status: [], state: 'online' },
    { connectionState: 'CONNECTED' },
    { connectionStatus: { state: 'CONNECTED' } },
    { connected: true },
  ];
  for (const fields of usable) {
    it(`T-14 takes ${JSON.stringify(fields)} as usable`, () => assert.ok(isOnline(fields)));
  }
  const unusable = [
    {},
    { status: 'offline' },
    { status: 'offline', connected: true },
    { status: 'onlinish' },
    { status: null, connected: 'yes' },
    { state: 'connecting' },
  ];
  for (const fields of unusable) {
    it(`T-14 takes ${JSON.stringify(fields)} as not usable`, () => assert.ok(!isOnline(fields)));
  }

  it('T-13 takes any 8-4-4-4-12 hex id as a GUID, whatever its version digit', () => {
    assert.equal(guidForm('{0E9F0C1A-0000-E911-F000-00000000000A}'), '0e9f0c1a-0000-e911-f000-00000000000a');
    assert.equal(guidForm('4xIx1-abc_DEF'), undefined);
  });

  const times: [string, string][] = [
    ['2026-11-21T10:00:00.1234567', '2026-11-21T10:00:00.1234567Z'],
    ['20261121T100000', '20261121T100000Z'],
    ['2026-11-21T10:00:00Z', '2026-11-21T10:00:00Z'],
    ['2026-11-21T10:00:00+02:00', '2026-11-21T10:00:00+02:00'],
    ['2026-11-21T10:00:00-0800', '2026-11-21T10:00:00-0800'],
  ];
  for (const [sent, withZ] of times) {
    it(`T-17 sends ${sent} unchanged, and as ${withZ} with appendZ`, () => {
      assert.equal(toServiceTime(sent, false), sent);
      assert.equal(toServiceTime(sent, true), withZ);
    });
  }
});

function manyNames(name: (i: number) => string): [string, string][] {
  return Array.from({ length: 2_000 }, (_, i) => [name(i), '/x']);
}
