import assert from 'node:assert/strict';
import { findLink } from '../../../lib/cloud/http/records';
import { Origins } from '../../../lib/cloud/http/origins';
import { RvmError } from '../../../lib/error';
import { camera, GATE, type ScriptedService } from '../../support/service/scripted-service';
import { failure, LIVE, stationOfEachTest } from '../../support/service/scripted-station';

const HOST = 'https://api.example';

describe('addresses and links', () => {
  const station = stationOfEachTest();
  const { service } = station;

  function gateOffers(links: Record<string, unknown>): void {
    service.on('GET', '/sources/Gate', { json: { _links: links } });
  }

  const bases: [string, string][] = [
    ['', '/system'],
    ['/', '/system'],
    ['///', '/system'],
    ['/system', '/system'],
    ['/system/', '/system'],
    ['/eu/v1', '/eu/v1/system'],
    ['/eu/v1//', '/eu/v1/system'],
    ['/system/v1', '/system/v1/system'],
    ['/my-system', '/my-system/system'],
    ['/a%2Fb/', '/a%2Fb/system'],
  ];
  for (const [path, system] of bases) {
    it(`T-01 reaches ${system} where the base URL ends in "${path}"`, () => {
      assert.equal(new Origins(`${HOST}${path}`, [], []).system.href, `${HOST}${system}`);
    });
  }

  it('T-01 takes a base URL with white space around it, as it is pasted', () => {
    assert.equal(new Origins(` ${HOST}/eu \n`, [], []).system.href, `${HOST}/eu/system`);
  });

  const links: [string, string, string][] = [
    ['absolute', 'https://api.example/x?a=%2F', 'https://api.example/x?a=%2F'],
    ['absolute with the service.usual port', 'https://api.example:443/x', 'https://api.example/x'],
    ['in another case', 'HTTPS://API.example/X', 'https://api.example/X'],
    ['without a scheme', '//api.example/x', 'https://api.example/x'],
    ['path-absolute', '/x/y?q=(a%20op%20%27b%27)', 'https://api.example/x/y?q=(a%20op%20%27b%27)'],
    ['relative to the resource', 'x?b', 'https://api.example/eu/devices/x?b'],
    ['a level up', '../x', 'https://api.example/eu/x'],
    ['a query alone', '?page=2', 'https://api.example/eu/devices/7?page=2'],
    ['with a fragment', '/x#part', 'https://api.example/x'],
    ['with a user and a password', 'https://u:p@api.example/x', 'https://api.example/x'],
  ];
  for (const [kind, link, url] of links) {
    it(`T-02 follows a link that is ${kind}`, () => {
      const resource = new URL(`${HOST}/eu/devices/7?all=1`);
      assert.equal(new Origins(HOST, [], []).resolve(link, resource, 'rel/x').href, url);
    });
  }

  const foreign = [
    '//foreign.example/x',
    'https://api.example.foreign.example/x',
    'https://api.example@foreign.example/x',
    'https:\\\\foreign.example/x',
    '/\\foreign.example/x',
    'http://api.example/x',
    'https://api.example:8443/x',
    'javascript:alert(1)',
    'data:application/json,{}',
    'file:///etc/passwd',
  ];
  for (const link of foreign) {
    it(`T-02 refuses the link ${link}`, () => {
      const origins = new Origins(HOST, [], []);
      const refused = (error: unknown) => error instanceof RvmError && error.code === 'UNTRUSTED_LINK';
      assert.throws(() => origins.resolve(link, new URL(`${HOST}/system`), 'rel/x'), refused);
    });
  }

  it('T-02 T-12 reads a link whose href begins with a capital', () => {
    assert.equal(findLink({ _links: { 'rel/x': { Href: '/x' } } }, 'rel/x'), '/x');
  });

  it('T-02 takes a list of several addresses as none', () => {
    assert.equal(findLink({ _links: { 'rel/x': ['/a', '/b'] } }, 'rel/x'), undefined);
  });

  describe('of a foreign origin', () => {
    let other: ScriptedService;

    beforeEach(async () => {
      other = await station.otherService();
    });
    afterEach(() => assert.equal(other.opened, 0, 'nothing may be sent to a foreign origin'));

    it('T-02 are refused for a snapshot', async () => {
      gateOffers({ 'rel/snapshot': `${other.url}/picture` });
      await failure(station.client().snapshot('Gate', {}), 'UNTRUSTED_LINK');
    });

    it('T-02 are refused where a snapshot redirects there', async () => {
      gateOffers({ 'rel/snapshot': '/picture' });
      service.on('GET', '/picture', { status: 307, headers: { Location: `${other.url}/picture` } });
      await failure(station.client().snapshot('Gate', {}), 'UNTRUSTED_LINK');
    });

    it('T-02 are refused where a snapshot is JSON with a URL there', async () => {
      gateOffers({ 'rel/snapshot': '/picture' });
      service.on('GET', '/picture', { json: { url: `${other.url}/picture` } });
      await failure(station.client().snapshot('Gate', {}), 'UNTRUSTED_LINK');
    });

    it('T-02 are refused for presets, their actions and a controller', async () => {
      gateOffers({ 'rel/ptz_presets': `${other.url}/presets` });
      await failure(station.client().ptzTargets('Gate', 'presets'), 'UNTRUSTED_LINK');
      gateOffers({ 'rel/ptz_controller': `${other.url}/ptz` });
      await failure(station.client().ptzTargets('Gate', 'presets'), 'UNTRUSTED_LINK');
      gateOffers({ 'rel/ptz_presets': '/presets' });
      const links = { 'rel/trigger': `${other.url}/go` };
      service.on('GET', '/presets', { json: [{ id: 1, _links: links }] });
      await failure(station.client().ptz('Gate', { action: 'goto-preset', target: '1' }), 'UNTRUSTED_LINK');
    });

    it('T-02 are refused for a free request, by its own address and by a relation', async () => {
      const client = station.client();
      const url = `${other.url}/x`;
      await failure(client.request({ start: 'url', url, rels: [], method: 'GET' }), 'UNTRUSTED_LINK');
      gateOffers({ 'rel/clips': url });
      const wanted = { start: 'data-sources' as const, camera: 'Gate', rels: ['rel/clips'] };
      await failure(client.request({ ...wanted, method: 'POST', body: {} }), 'UNTRUSTED_LINK');
    });

    it('T-02 are refused for the details of a camera', async () => {
      service.devices = [camera(GATE, 'Gate', { _links: { 'rel/self': `${other.url}/1` } })];
      await failure(station.client().getDevice('Gate'), 'UNTRUSTED_LINK');
    });
  });

  it('T-03 takes the exact key of a later name before a loose one of an earlier name', () => {
    const links = { '/vendor/rel/x': '/loose', 'rel/x': '/exact' };
    assert.equal(findLink({ _links: links }, 'rel/x'), '/exact');
  });

  for (const key of ['relx', 'rel/xx', 'rel/x/y', 'x.y', 'rel:x']) {
    it(`T-03 does not take ${key} for rel/x`, () => {
      assert.equal(findLink({ _links: { [key]: '/wrong' } }, 'rel/x'), undefined);
    });
  }

  it('T-03 finds the relations of PTZ and snapshots in the spelling of the maker, too', async () => {
    gateOffers({ '/vendor/rel/Ptz_Presets': '/presets', 'https://docs.example/rel/snapshot': '/picture' });
    service.on('GET', '/presets', { json: [{ id: 1 }] });
    assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
    service.on('GET', '/picture', { status: 204 });
    await failure(station.client().snapshot('Gate', {}), 'BAD_RESPONSE');
  });

  it('T-04 names the relation that a camera lacks, whatever is asked of it', async () => {
    gateOffers({});
    const client = station.client();
    const asked: [Promise<unknown>, RegExp][] = [
      [client.openRtsp(LIVE), /^rel\/rtsp$/],
      [client.snapshot('Gate', {}), /^rel\/snapshot$/],
      [client.ptzTargets('Gate', 'presets'), /^rel\/.*presets$/],
      [client.ptzTargets('Gate', 'tours'), /^rel\/.*tours$/],
      [client.ptz('Gate', { action: 'goto-home' }), /^rel\/.*home$/],
      [client.ptz('Gate', { action: 'start-tour', target: '1' }), /^rel\/.*tours$/],
    ];
    for (const [work, relation] of asked) {
      const error = await failure(work, 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', relation);
      assert.match(error.message, relation.source.startsWith('^') ? /rel\// : relation);
    }
  });

  const hidden: [string, unknown][] = [
    [
      'a resource that is wrapped',
      { status: 'success', result: { _links: { '/vendor/rel/clips': '/clips' } } },
    ],
    ['an element of a list', [{ id: 1 }, { id: 2, _links: { clips: { href: 'clips' } } }]],
  ];
  for (const [where, json] of hidden) {
    it(`T-03 follows a relation freely that stands on ${where}`, async () => {
      service.on('GET', '/start', { json });
      service.on('GET', '/clips', { json: { clips: [] } });
      const client = station.client();
      const answer = await client.request({
        start: 'url',
        url: '/start',
        rels: ['rel/clips'],
        method: 'GET',
      });
      assert.deepEqual(answer.payload, { clips: [] });
    });
  }

  it('T-04 names the relation of a free request that is not offered', async () => {
    const wanted = { start: 'system' as const, rels: ['rel/clips'], method: 'GET' as const };
    const error = await failure(station.client().request(wanted), 'LINK_NOT_OFFERED');
    assert.equal(error.cause.relation, 'rel/clips');
  });

  it('T-04 uses a function as soon as it is offered', async () => {
    gateOffers({});
    const client = station.client();
    await failure(client.openRtsp(LIVE), 'LINK_NOT_OFFERED');
    gateOffers({ 'rel/rtsp': '/rtsp/Gate' });
    assert.equal((await client.openRtsp(LIVE)).mode, 'live');
  });
});
