import assert from 'node:assert/strict';
import type { StationClient } from '../../../lib/cloud/station-client';
import { camera, type Reply } from '../../support/service/scripted-service';
import { Gate, eventually } from '../../support/time/patience';
import { failure, LIVE, stationOfEachTest } from '../../support/service/scripted-station';

describe('session and login of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** Lets the login set these cookies beside that of the session. */
  function loginSets(...cookies: string[]): void {
    service.on('POST', '/login', () => ({
      headers: { 'Set-Cookie': [`sid=${service.newSession()}; Path=/`, ...cookies] },
    }));
  }

  function cookieAt(path: string): string {
    return service.last('GET', path)?.headers.cookie ?? '';
  }

  /** Cameras below a path of their own. */
  async function listBelow(path: string, client: StationClient = station.client()): Promise<string> {
    service.on('GET', '/system', (request) => {
      const link = service.loggedIn(request) ? { 'rel/devices': path } : { 'rel/login': '/login' };
      return { json: { _links: link } };
    });
    service.on('GET', path, { json: [] });
    await client.listDevices({ fresh: true });
    return cookieAt(path);
  }

  const attributes: [string, string, boolean][] = [
    ['Path of the list', 'c=1; Path=/area', true],
    ['Path of another place', 'c=1; Path=/are', false],
    ['Path of a place below', 'c=1; Path=/area/list/below', false],
    ['no Path, set at the root', 'c=1', true],
    ['Max-Age that lasts', 'c=1; Path=/; Max-Age=60', true],
    ['Max-Age that is over', 'c=1; Path=/; Max-Age=0', false],
    ['Max-Age before Expires', 'c=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT', true],
    ['Expires in the past', 'c=1; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT', false],
    ['Expires to come', 'c=1; Path=/; Expires=Fri, 31 Dec 2100 23:59:59 GMT', true],
    ['Domain of the service', 'c=1; Path=/; Domain=127.0.0.1', true],
    ['Domain of somebody else', 'c=1; Path=/; Domain=vendor.example', false],
    ['attributes that nobody knows', 'c=1; Path=/; Priority=High; Partitioned; X-Y=Z', true],
    ['attributes in another case', 'c=1; PATH=/; HTTPONLY; samesite=none', true],
  ];
  for (const [kind, cookie, sent] of attributes) {
    it(`T-05 ${sent ? 'sends' : 'does not send'} a cookie with ${kind}`, async () => {
      loginSets(cookie);
      assert.equal((await listBelow('/area/list')).includes('c=1'), sent);
    });
  }

  const names = ['.App.Core.Cookies', 'x!y~z', '__Secure-a', '$sid', '1', 'sid.with-many_signs|^`'];
  for (const name of names) {
    it(`T-05 sends a cookie of the name ${name}`, async () => {
      loginSets(`${name}=value; Secure; Path=/`);
      assert.ok((await listBelow('/list')).includes(`${name}=value`));
    });
  }

  const values = ['a=b==', '"quoted text"', 'a%2Fb', '', '{"json":1}'];
  for (const value of values) {
    it(`T-05 sends the cookie value ${JSON.stringify(value)} as it came`, async () => {
      loginSets(`c=${value}; Path=/`);
      assert.ok((await listBelow('/list')).split('; ').includes(`c=${value}`));
    });
  }

  it('T-05 lets a cookie go that an answer takes back', async () => {
    loginSets('c=1; Path=/');
    service.on('GET', '/list', { json: [], headers: { 'Set-Cookie': 'c=; Path=/; Max-Age=0' } });
    const client = station.client();
    await listBelow('/list', client);
    service.on('GET', '/list', { json: [], headers: { 'Set-Cookie': 'c=; Path=/; Max-Age=0' } });
    await client.listDevices({ fresh: true });
    await client.listDevices({ fresh: true });
    assert.doesNotMatch(cookieAt('/list'), /c=/);
  });

  const bearers: [string, Reply][] = [
    ['an error', { status: 500, headers: { 'Set-Cookie': 'sid=newest; Path=/' } }],
    ['a refusal of something else', { status: 404, headers: { 'Set-Cookie': 'sid=newest; Path=/' } }],
    ['a redirect', { status: 302, headers: { Location: '/rtsp/Gate', 'Set-Cookie': 'sid=newest; Path=/' } }],
  ];
  for (const [bearer, reply] of bearers) {
    it(`T-05 takes the newest value from ${bearer}, too`, async () => {
      const client = station.client();
      await client.listDevices();
      service.on('POST', '/rtsp/Gate', reply);
      service.sessions.add('newest');
      await client.openRtsp(LIVE).catch(() => undefined);
      await client.listDevices({ fresh: true });
      assert.equal(cookieAt('/devices'), 'sid=newest');
      assert.equal(service.count('POST', '/login'), 1);
    });
  }

  const logins: [string, Reply][] = [
    ['200 with a body', { status: 200, json: { session: 'x' } }],
    ['200 with a body that is no JSON', { status: 200, text: '<html>welcome</html>' }],
    ['200 without a body', { status: 200 }],
    ['201', { status: 201, headers: { Location: '/session/1' } }],
    ['202', { status: 202, json: null }],
    ['301', { status: 301, headers: { Location: '/' } }],
    ['303', { status: 303, headers: { Location: 'welcome' } }],
    ['307 without an address', { status: 307 }],
  ];
  for (const [kind, reply] of logins) {
    it(`T-05 takes a login as done that is answered with ${kind}`, async () => {
      service.on('POST', '/login', () => {
        const cookie = { 'Set-Cookie': `sid=${service.newSession()}; Path=/` };
        return typeof reply === 'string' ? reply : { ...reply, headers: { ...reply.headers, ...cookie } };
      });
      assert.equal((await station.client().listDevices()).length, 2);
      assert.equal(service.count('POST', '/login'), 1);
    });
  }

  it('T-05 does not take a login as done because its answer looks like it', async () => {
    const json = { status: 'success', session: 'x', _links: { 'rel/devices': '/devices' } };
    service.on('POST', '/login', { json, headers: { 'Set-Cookie': 'sid=of-nobody; Path=/' } });
    await failure(station.client().listDevices(), 'LOGIN_FAILED');
  });

  it('T-06 takes username and password where no names are set', async () => {
    const client = station.client({ loginUserField: '', loginPasswordField: '' });
    assert.equal((await client.listDevices()).length, 2);
  });

  it('T-06 lets no extra field stand in for name or password', async () => {
    const loginExtra = { username: 'other', tenant: { id: 1 } };
    await station.client({ loginExtra }).listDevices();
    assert.deepEqual(JSON.parse(service.last('POST', '/login')?.body ?? ''), {
      username: service.username,
      password: service.password,
      tenant: { id: 1 },
    });
  });

  it('T-06 sends the login as JSON', async () => {
    await station.client().listDevices();
    assert.match(String(service.last('POST', '/login')?.headers['content-type']), /^application\/json/);
  });

  describe('that is lost', () => {
    const asked: [string, string, (client: StationClient) => Promise<unknown>][] = [
      ['a snapshot', 'GET /picture', (client) => client.snapshot('Gate', {})],
      ['the details of a camera', 'GET /self', (client) => client.getDevice('Gate')],
      ['a list of presets', 'GET /presets', (client) => client.ptzTargets('Gate', 'presets')],
      [
        'the command to a preset',
        'POST /go',
        (client) => client.ptz('Gate', { action: 'goto-preset', target: '1' }),
      ],
      [
        'a free POST',
        'POST /free',
        (client) => client.request({ start: 'url', url: '/free', rels: [], method: 'POST', body: { a: 1 } }),
      ],
    ];

    beforeEach(() => {
      const _links = { 'rel/self': '/self', 'rel/data_sources': '/sources/Gate' };
      service.devices = [camera('gate', 'Gate', { _links })];
      const links = { 'rel/snapshot': '/picture', 'rel/ptz_presets': '/presets' };
      service.on('GET', '/sources/Gate', { json: { _links: links } });
      service.on('GET', '/self', { json: { id: 'gate', model: 'Dome' } });
      service.on('GET', '/picture', { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') });
      service.on('GET', '/presets', { json: [{ id: 1, _links: { 'rel/trigger': '/go' } }] });
      service.on('POST', '/go', { status: 204 });
      service.on('POST', '/free', { status: 204 });
    });

    for (const status of [401, 403]) {
      for (const [what, route, ask] of asked) {
        it(`T-07 is opened anew for ${what} that is refused with ${status}, and that is sent once more`, async () => {
          const [method = '', path = ''] = route.split(' ');
          const client = station.client();
          await client.listDevices();
          const reply: Reply = { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') };
          const [first, ...later]: Reply[] = [
            { status },
            path === '/picture' ? reply : { json: [{ id: 1, _links: { 'rel/trigger': '/go' } }] },
          ];
          service.on(method, path, first ?? 'reset', ...later);
          await ask(client);
          assert.equal(service.count(method, path), 2);
          assert.equal(service.count('POST', '/login'), 2);
        });
      }
    }

    it('T-07 fails with the message of the service where a command is refused again, and sends it no third time', async () => {
      service.on('POST', '/go', { status: 403, json: { code: 'Unauthorized', message: 'not for you' } });
      const command = { action: 'goto-preset' as const, target: '1' };
      const error = await failure(station.client().ptz('Gate', command), 'PERMISSION_DENIED');
      assert.equal(error.cause.serverMessage, 'not for you');
      assert.equal(service.count('POST', '/go'), 2);
    });
  });

  it('T-07 takes a refusal as one of rights where the newest cookie does not help', async () => {
    const gate = new Gate();
    service.on('POST', '/rtsp/Gate', { status: 403, after: gate.opened });
    const client = station.client();
    await client.listDevices();
    const refused = failure(client.openRtsp(LIVE), 'PERMISSION_DENIED');
    await eventually(() => service.count('POST', '/rtsp/Gate') === 1, 'the request');
    service.on('GET', '/devices', { json: service.devices, headers: { 'Set-Cookie': 'route=b; Path=/' } });
    await client.listDevices({ fresh: true });
    gate.open();
    await refused;
    assert.equal(service.count('POST', '/rtsp/Gate'), 3);
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('T-08 sends the API key after a redirect, too', async () => {
    service.on('GET', '/devices', { status: 302, headers: { Location: '/elsewhere' } });
    service.on('GET', '/elsewhere', { json: [] });
    await station.client().listDevices();
    assert.equal(service.last('GET', '/elsewhere')?.headers['apikey'], service.apiKey);
  });
});
