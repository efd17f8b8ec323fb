import assert from 'node:assert/strict';
import type { StationClient } from '../../../lib/cloud/station-client';
import { Origins } from '../../../lib/cloud/http/origins';
import { cpuSeconds } from '../../support/time/event-loop';
import { camera, GATE, type Reply, type ScriptedService } from '../../support/service/scripted-service';
import { failure, LIVE, rtspForEvent, stationOfEachTest } from '../../support/service/scripted-station';

const HOST = 'https://api.example';

describe('addresses and links', () => {
  const station = stationOfEachTest();
  const { service } = station;

  function gateOffers(links: Record<string, unknown>): void {
    service.on('GET', '/sources/Gate', { json: { _links: links } });
  }

  /** Lets the system offer its list of cameras in this way, to who is not logged in, too. */
  function systemOffers(links: unknown): void {
    service.on('GET', '/system', { json: { _links: links } });
    service.on('GET', '/d', { json: [] });
    service.on('GET', '/d?x=%2F', { json: [] });
  }

  const bases: [string, string][] = [
    ['', '/system'],
    ['/', '/system'],
    ['///', '/system'],
    ['/system', '/system'],
    ['/system/', '/system'],
    ['/eu/v1', '/eu/v1/system'],
    ['/eu/v1//', '/eu/v1/system'],
    ['/eu/v1/system', '/eu/v1/system'],
    ['/eu/v1/system/', '/eu/v1/system'],
    ['/system/v1', '/system/v1/system'],
    ['/my-system', '/my-system/system'],
    ['/a%2Fb/', '/a%2Fb/system'],
    ['/eu \n', '/eu/system'],
  ];
  for (const [path, system] of bases) {
    it(`T-01 reaches ${system} where the base URL ends in ${JSON.stringify(path)}`, async () => {
      service.on('GET', system, (request) => service.system(request));
      await station.client({ baseUrl: ` ${service.url}${path}` }).listDevices();
      assert.equal(service.seen[0]?.path, system);
    });
  }

  it('T-01 reads a base URL of many slashes quickly', async () => {
    const slashes = '/'.repeat(200_000);
    const read = (): void => {
      assert.equal(new Origins(`http://a.example/x${slashes}`, [], []).system.pathname, '/x/system');
      assert.equal(new Origins(`http://a.example${slashes}x`, [], []).system.pathname, `${slashes}x/system`);
    };
    assert.ok((await cpuSeconds(read)) < 5);
  });

  const links: [string, string, string][] = [
    ['absolute', 'https://api.example/x?a=%2F', 'https://api.example/x?a=%2F'],
    ['absolute with the usual port', 'https://api.example:443/x', 'https://api.example/x'],
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
      const resolve = () => origins.resolve(link, new URL(`${HOST}/system`), 'rel/x');
      assert.throws(resolve, { code: 'UNTRUSTED_LINK' });
    });
  }

  it('T-02 takes another scheme of the same host and port as foreign', async () => {
    systemOffers({ 'rel/devices': service.url.replace('http:', 'https:') });
    await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
  });

  describe('of a foreign origin', () => {
    let other: ScriptedService;

    beforeEach(async () => {
      other = await station.otherService();
    });
    afterEach(() => assert.equal(other.opened, 0, 'nothing may be sent to a foreign origin'));

    const link = (): string => `${other.url}/x`;
    const gate = (relation: string) => (): void => gateOffers({ [relation]: link() });
    const system = (relation: string) => (): void => systemOffers({ [relation]: link() });
    const device = (relation: string) => (): void =>
      void (service.devices = [camera(GATE, 'Gate', { _links: { [relation]: link() } })]);
    const picture = (reply: () => Reply) => (): void => {
      gateOffers({ 'rel/snapshot': '/picture' });
      service.on('GET', '/picture', reply());
    };
    const away = (): Reply => ({ status: 307, headers: { Location: link() } });
    const list = (client: StationClient): Promise<unknown> => client.listDevices();
    const snapshot = (client: StationClient): Promise<unknown> => client.snapshot('Gate');
    const presets = (client: StationClient): Promise<unknown> => client.ptzTargets('Gate', 'presets');
    const goTo = (client: StationClient): Promise<unknown> =>
      client.ptz('Gate', { action: 'goto-preset', target: '1' });
    const free = { start: 'data-sources', camera: 'Gate', rels: ['rel/clips'], method: 'POST' } as const;
    const cases: [string, prepare: () => void, ask: (client: StationClient) => Promise<unknown>][] = [
      ['the login, before the password is sent', system('rel/login'), list],
      ['a next page', () => service.on('GET', '/devices', { json: { devices: [{}], next: link() } }), list],
      ['a redirect', () => service.on('GET', '/devices', away()), list],
      [
        'an address of another scheme around one of its own',
        () => systemOffers({ 'rel/devices': `blob:${service.url}\\@${new URL(other.url).host}/devices` }),
        list,
      ],
      ['data sources', device('rel/data_sources'), rtspForEvent],
      ['video', () => gateOffers({ 'rel/rtsp': { href: link() } }), rtspForEvent],
      ['a snapshot', gate('rel/snapshot'), snapshot],
      ['a snapshot that redirects there', picture(away), snapshot],
      ['a snapshot that is JSON with a URL there', picture(() => ({ json: { url: link() } })), snapshot],
      ['presets', gate('rel/ptz_presets'), presets],
      ['a controller', gate('rel/ptz_controller'), presets],
      [
        'the action of a preset',
        () => {
          gateOffers({ 'rel/ptz_presets': '/presets' });
          service.on('GET', '/presets', { json: [{ id: 1, _links: { 'rel/trigger': link() } }] });
        },
        goTo,
      ],
      [
        'a free request by its own address',
        () => undefined,
        (client) => client.request({ start: 'url', url: link(), rels: [], method: 'GET' }),
      ],
      ['a free request by a relation', gate('rel/clips'), (client) => client.request({ ...free, body: {} })],
      ['the details of a camera', device('rel/self'), (client) => client.getDevice('Gate')],
    ];
    for (const [what, prepare, ask] of cases) {
      it(`T-02 are refused for ${what}`, async () => {
        prepare();
        await failure(ask(station.client()), 'UNTRUSTED_LINK');
      });
    }
  });

  it('T-02 are followed to an origin that the user trusts', async () => {
    const other = await station.otherService();
    other.on('GET', '/list', { json: [camera('1', 'Far')] });
    systemOffers({ 'rel/devices': `${other.url}/list` });
    const devices = await station.client({ trustedOrigins: [' ', `${other.url}/any/path`] }).listDevices();
    assert.equal(devices[0]?.name, 'Far');
  });

  it('a trusted origin that is none is BAD_INPUT, and shows as a refusal, not as a service out of reach', async () => {
    const client = station.client({ trustedOrigins: ['video.example.com'] });
    await failure(client.listDevices(), 'BAD_INPUT');
    assert.equal(client.state.kind, 'refused');
  });

  it('quotes of a foreign host 100 characters at most', async () => {
    systemOffers({ 'rel/devices': `https://${'x'.repeat(500)}.example/devices` });
    const error = await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
    assert.match(error.message, /link points to https:\/\/x{92};/);
  });

  for (const [place, link] of [
    ['host', 'https://Planted-Secret.example/devices'],
    ['percent-encoded host', 'https://Plant%65d-S%65cr%65t.example/devices'],
    ['host of an unknown scheme', 'other://Planted-Secret/devices'],
    ['scheme', 'Planted-Secret:devices'],
    ['user', 'https://Planted-Secret@foreign.example/devices'],
    ['host that is cut', `https://${'x'.repeat(85)}Planted-Secret.example/devices`],
  ] as const) {
    it(`masks a secret that a foreign link echoes as its ${place}`, async () => {
      systemOffers({ 'rel/devices': link });
      const client = station.client({ password: 'Planted-Secret' });
      const error = await failure(client.listDevices(), 'UNTRUSTED_LINK');
      assert.doesNotMatch(error.message, /plant/i);
    });
  }

  it('follows redirects on its own origin, relative links included', async () => {
    service.on('GET', '/devices', { status: 307, headers: { Location: '/v3/list/all?x=%2F' } });
    service.on('GET', '/v3/list/all?x=%2F', {
      json: { devices: [camera(GATE, 'Gate', { _links: { 'rel/data_sources': '../sources' } })] },
    });
    service.on('GET', '/v3/sources', { json: { _links: { 'rel/rtsp': 'rtsp-of-it' } } });
    service.on('POST', '/v3/rtsp-of-it', { json: { rtspRelayURL: 'rtsp://relay.example/a' } });
    await rtspForEvent(station.client());
    assert.equal(service.count('POST', '/v3/rtsp-of-it'), 1);
  });

  it('ends a redirect in a circle', async () => {
    service.on('GET', '/devices', { status: 302, headers: { Location: '/devices' } });
    await failure(station.client().listDevices(), 'BAD_RESPONSE');
    assert.equal(service.count('GET', '/devices'), 6);
  });

  const named = (length: number) => `${'/'.repeat(length - 'devices'.length)}devices`;
  const found: [rule: string, how: string, links: unknown][] = [
    ['T-03', 'is spelled rel/devices', { 'rel/other': '/o', 'rel/devices': '/d' }],
    ['T-03', 'is spelled /rel/devices', { 'rel/other': '/o', '/rel/devices': '/d' }],
    ['T-03', 'is spelled devices', { 'rel/other': '/o', devices: '/d' }],
    ['T-03', 'is spelled as a maker does', { 'rel/other': '/o', '/vendor/rel/Devices': '/d' }],
    ['T-03', 'is spelled as a URL', { 'rel/other': '/o', 'https://docs.example/rel/devices/': '/d' }],
    ['T-03', 'has its exact key behind a loose one', { devices: '/loose', 'rel/devices': '/d' }],
    ['T-03', "has its exact key behind a maker's", { '/vendor/rel/devices': '/o', 'rel/devices': '/d' }],
    ['T-03', 'has a name of 256 characters', { [named(256)]: '/d' }],
    ['T-03', 'stands behind a name of 257 characters', { [named(257)]: '/long', devices: '/d' }],
    ['T-02', 'is a text', { 'rel/devices': '/d?x=%2F' }],
    ['T-02', 'is an object with href', { 'rel/devices': { href: '/d?x=%2F' } }],
    ['T-02 T-12', 'is an object with Href', { 'rel/devices': { Href: '/d?x=%2F' } }],
    ['T-02', 'is a list of one text', { 'rel/devices': ['/d?x=%2F'] }],
    ['T-02', 'is a list of one object', { 'rel/devices': [{ href: '/d?x=%2F' }] }],
  ];
  for (const [rule, how, _links] of found) {
    it(`${rule} finds a relation that ${how}`, async () => {
      systemOffers(_links);
      assert.deepEqual(await station.client().listDevices(), []);
    });
  }

  const notOffered: unknown[] = [
    undefined,
    null,
    'text',
    [],
    {},
    { 'rel/devices': null },
    { 'rel/devices': 7 },
    { 'rel/devices': ['/d', '/d'] },
    { [named(257)]: '/d' },
    ...['reldevices', 'rel/ddevices', 'rel/devices/y', 'x.devices', 'rel:devices'].map((key) => ({
      [key]: '/d',
    })),
  ];
  for (const _links of notOffered) {
    it(`T-03 T-04 takes the relation as not offered in ${(JSON.stringify(_links) ?? 'nothing').slice(-60)}`, async () => {
      systemOffers(_links);
      const error = await failure(station.client().listDevices(), 'LINK_NOT_OFFERED');
      assert.equal(error.cause.relation, 'rel/login');
    });
  }

  const slashes = '/'.repeat(500_000);
  const many = (name: (i: number) => string): object =>
    Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [name(i), '/x']));
  const hostile: [string, object][] = [
    ['one name of half a million slashes', { [`${slashes}x`]: '/x' }],
    ['names of many slashes each', many((i) => `${'/'.repeat(240)}${i}`)],
    ['names that end in many slashes', many((i) => `${i}${'/'.repeat(240)}`)],
    ['names of many question marks', many((i) => `${'?'.repeat(240)}${i}`)],
    ['addresses of half a million slashes', { x: `${slashes}x`, y: { href: `x${slashes}` } }],
  ];
  for (const [name, more] of hostile) {
    it(`finds a relation behind ${name} quickly`, async () => {
      systemOffers({ ...more, devices: '/d' });
      assert.ok((await cpuSeconds(() => station.client().listDevices())) < 10);
      assert.equal(service.count('GET', '/d'), 1);
    });
  }

  it('T-03 finds the relations of PTZ and snapshots in the spelling of the maker, too', async () => {
    gateOffers({ '/vendor/rel/Ptz_Presets': '/presets', 'https://docs.example/rel/snapshot': '/picture' });
    service.on('GET', '/presets', { json: [{ id: 1 }] });
    assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
    service.on('GET', '/picture', { status: 204 });
    await failure(station.client().snapshot('Gate'), 'BAD_RESPONSE');
  });

  const START = { action: 'start-tour', target: '1' } as const;
  const CLIPS = { start: 'system', rels: ['rel/clips'], method: 'GET' } as const;
  const lacking: [what: string, relation: RegExp, ask: (client: StationClient) => Promise<unknown>][] = [
    ['video', /^rel\/rtsp$/, (client) => client.openRtsp(LIVE)],
    ['a snapshot', /^rel\/snapshot$/, (client) => client.snapshot('Gate')],
    ['presets', /^rel\/.*presets$/, (client) => client.ptzTargets('Gate', 'presets')],
    ['tours', /^rel\/.*tours$/, (client) => client.ptzTargets('Gate', 'tours')],
    ['the home position', /^rel\/.*home$/, (client) => client.ptz('Gate', { action: 'goto-home' })],
    ['the start of a tour', /^rel\/.*tours$/, (client) => client.ptz('Gate', START)],
    ['a free request', /^rel\/clips$/, (client) => client.request(CLIPS)],
  ];
  for (const [what, relation, ask] of lacking) {
    it(`T-04 names the relation that is lacking where ${what} is asked for`, async () => {
      gateOffers({});
      const error = await failure(ask(station.client()), 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', relation);
      assert.match(error.message, /rel\//);
    });
  }

  for (const [where, json, rels] of [
    ['a resource that is wrapped', { result: { _links: { '/vendor/rel/clips': '/clips' } } }, []],
    ['an element of a list', [{ id: 1 }, { id: 2, _links: { clips: { href: 'clips' } } }], []],
    ['a resource behind another relation', { _links: { '/vendor/rel/more': '/more' } }, ['more']],
  ] as const) {
    it(`T-03 follows a relation freely that stands on ${where}`, async () => {
      service.on('GET', '/start', { json });
      service.on('GET', '/more', { json: { _links: { 'rel/clips': 'clips' } } });
      service.on('GET', '/clips', { json: { clips: [] } });
      const wanted = { start: 'url', url: '/start', rels: [...rels, 'rel/clips'], method: 'GET' } as const;
      assert.deepEqual((await station.client().request(wanted)).payload, { clips: [] });
    });
  }

  it('T-04 uses a function as soon as it is offered, and offered here', async () => {
    gateOffers({});
    const client = station.client();
    await failure(client.openRtsp(LIVE), 'LINK_NOT_OFFERED');
    gateOffers({ 'rel/rtsp': 'http://foreign.example/' });
    await failure(client.openRtsp(LIVE), 'UNTRUSTED_LINK');
    gateOffers({ 'rel/rtsp': '/rtsp/Gate' });
    assert.equal((await client.openRtsp(LIVE)).mode, 'live');
    await failure(client.snapshot('Gate'), 'LINK_NOT_OFFERED');
    gateOffers({ 'rel/snapshot': '/picture' });
    service.on('GET', '/picture', { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') });
    await client.snapshot('Gate');
  });
});
