import assert from 'node:assert/strict';
import type { StationClient, StationClientOptions } from '../../lib/cloud/station-client';
import { assertPause, Gate, eventually } from '../support/time/patience';
import { camera, GATE, type Reply, type Route, withCookies } from '../support/service/scripted-service';
import {
  EVENT_OF_YARD,
  failure,
  LIVE,
  rtspForEvent,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../support/service/scripted-station';

const FRESH = { fresh: true };
/** More cookies than are kept. */
const FLOOD = Array.from({ length: 70 }, (_, n) => `other${n}=1; Path=/`);

describe('login of a central station', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** Logs in, whoever asks, with an answer of this kind, and these cookies beside that of the session. */
  function login(reply: Reply, ...cookies: string[]): void {
    service.on('POST', '/login', () =>
      withCookies([`sid=${service.newSession()}; Path=/`, ...cookies], reply),
    );
  }

  const loginBody = (): unknown => JSON.parse(service.last('POST', '/login')?.body ?? '');

  it('T-08 follows the sequence system, login, system, devices, with the API key on each', async () => {
    await station.client().listDevices();
    const steps = service.seen.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(steps, ['GET /system', 'POST /login', 'GET /system', 'GET /devices']);
    assert.ok(service.seen.every(({ headers }) => headers['apikey'] === service.apiKey));
    assert.equal(service.seen[0]?.headers.cookie, undefined, 'no empty one before the login');
  });

  it('T-08 sends the API key after a redirect, too', async () => {
    service.on('GET', '/devices', { status: 302, headers: { Location: '/elsewhere' } });
    service.on('GET', '/elsewhere', { json: [] });
    await station.client().listDevices();
    assert.equal(service.last('GET', '/elsewhere')?.headers['apikey'], service.apiKey);
  });

  it('T-09 asks for the version range on /system and nowhere else', async () => {
    await station.client({ versionLow: '5.2', versionHigh: '5.11' }).listDevices();
    const asked = service.seen.filter(({ headers }) => headers.accept?.includes('version'));
    const wanted = '/system application/json; version=5.2-5.11';
    const askedWith = asked.map(({ path, headers }) => `${path} ${headers.accept}`);
    assert.deepEqual(askedWith, [wanted, wanted]);
  });

  const logins: [string, Reply][] = [
    ['200 with a body', { status: 200, json: { session: 'x' } }],
    ['200 with a body that is no JSON', { status: 200, text: '<html>welcome</html>' }],
    ['200 without a body', { status: 200 }],
    ['201', { status: 201, headers: { Location: '/session/1' } }],
    ['202', { status: 202, json: null }],
    ['204', { status: 204 }],
    ['301', { status: 301, headers: { Location: '/' } }],
    ['302, which is not followed', { status: 302, headers: { Location: 'http://elsewhere.invalid/' } }],
    ['303', { status: 303, headers: { Location: 'welcome' } }],
    ['307 without an address', { status: 307 }],
  ];
  for (const [kind, reply] of logins) {
    it(`T-05 takes a login as done that is answered with ${kind}`, async () => {
      login(reply);
      assert.equal((await station.client().listDevices()).length, 2);
      assert.equal(service.count('POST', '/login'), 1);
    });
  }

  const looks = { status: 'success', session: 'x', _links: { 'rel/devices': '/devices' } };
  for (const [what, reply] of [
    ['brings the cookie of nobody', withCookies('sid=worthless')],
    ['brings no cookie', { json: {} }],
    ['only looks like one', withCookies('sid=of-nobody; Path=/', { json: looks })],
  ] as const) {
    it(`T-05 fails with LOGIN_FAILED where the answer ${what}`, async () => {
      service.on('POST', '/login', reply);
      await failure(station.client().listDevices(), 'LOGIN_FAILED');
    });
  }

  for (const [what, settings, fields] of [
    [
      'the configured field names, and the extra fields',
      { loginUserField: 'Email', loginPasswordField: 'Secret', loginExtra: { tenant: 'x' } },
      { tenant: 'x', Email: 'agent7', Secret: 'Pass+word&1' },
    ],
    [
      'username and password where no names are set',
      { loginUserField: '', loginPasswordField: '' },
      { username: 'agent7', password: 'Pass+word&1' },
    ],
    [
      'no extra field in the place of name or password',
      { loginExtra: { username: 'other', tenant: { id: 1 } } },
      { username: 'agent7', password: 'Pass+word&1', tenant: { id: 1 } },
    ],
  ] as const) {
    it(`T-06 sends as JSON ${what}`, async () => {
      login({});
      await station.client(settings).listDevices();
      assert.deepEqual(loginBody(), fields);
      assert.match(String(service.last('POST', '/login')?.headers['content-type']), /^application\/json/);
    });
  }

  it('T-20 tells why a login was refused, in the words of the service', async () => {
    const error = await failure(station.client({ password: 'wrong-one' }).listDevices(), 'LOGIN_FAILED');
    assert.deepEqual(error.cause, {
      status: 403,
      relation: 'rel/login',
      attempts: 1,
      serverCode: 'Unauthenticated',
      serverMessage: 'wrong name or password',
    });
  });

  for (const status of [400, 401, 402, 403, 404, 405, 409, 410, 415, 418, 422, 423, 451, 499]) {
    it(`T-05 takes a login that is answered with ${status} as LOGIN_FAILED`, async () => {
      service.on('POST', '/login', { status, json: { message: 'not like this' } });
      const { cause } = await failure(station.client().listDevices(), 'LOGIN_FAILED');
      assert.deepEqual([cause.status, cause.serverMessage], [status, 'not like this']);
    });
  }

  for (const [status, code] of [
    [408, 'HTTP_ERROR'],
    [429, 'RATE_LIMITED'],
    [500, 'HTTP_ERROR'],
  ] as const) {
    it(`T-05 takes no login that is answered with ${status} as refused: ${code}`, async () => {
      service.on('POST', '/login', { status });
      await failure(station.client().listDevices(), code);
    });
  }

  for (const text of [
    '{"code":"InvalidApiKey","message":"refused"}',
    '{"message":"The API key is not known."}',
    '{"error":{"message":"bad key"}}',
    '{"errors":{"Api-Key":["is not valid"]}}',
    '{"code":"KeyExpired"}',
    'Missing subscription key',
    '<html><head><title>No API key</title></head></html>',
  ]) {
    it(`T-07 takes 400 with ${text} as API_KEY_REJECTED`, async () => {
      service.on('GET', '/system', { status: 400, text });
      const client = station.client();
      const error = await failure(client.listDevices(), 'API_KEY_REJECTED');
      assert.deepEqual([error.cause.status, client.state.kind], [400, 'refused']);
    });
  }

  for (const text of [
    '',
    '{"code":"BadRequest","message":"malformed"}',
    'No monkeys, no keyboards',
    '{"error":{"key":"bad_request"}}',
    '<html><body><a accesskey="1" href="/">home</a></body></html>',
  ]) {
    it(`T-07 takes 400 with ${text === '' ? 'no body' : text} as HTTP_ERROR`, async () => {
      service.on('GET', '/system', { status: 400, text });
      await failure(station.client().listDevices(), 'HTTP_ERROR');
    });
  }

  it('T-07 takes a refusal of /system without a session as API_KEY_REJECTED', async () => {
    const client = station.client({ apiKey: 'wrong-key' });
    await failure(client.listDevices(), 'API_KEY_REJECTED');
    assert.equal(client.state.kind, 'refused');
  });

  for (const [method, path, relation] of [
    ['POST', '/login', 'rel/login'],
    ['GET', '/system', 'system'],
  ] as const) {
    it(`T-07 takes a head that is too large for ${path} neither for a matter of the key nor of the password`, async () => {
      service.on(method, path, { status: 431 });
      const { cause } = await failure(station.client().listDevices(), 'HTTP_ERROR');
      assert.deepEqual([cause.status, cause.relation], [431, relation]);
    });
  }

  it('T-07 takes a head that is too large with the new cookies for no refusal of the session', async () => {
    service.on('GET', '/system', service.usual, { status: 431 });
    const error = await failure(station.client({}, { loginSettlesMs: 60_000 }).listDevices(), 'HTTP_ERROR');
    assert.equal(error.cause.status, 431);
    assert.equal(service.seen.length, 3);
  });

  it('T-07 asks /system once more without the cookie where it is refused with one', async () => {
    service.on('GET', '/system', service.usual, { status: 403, json: {} });
    await failure(station.client().listDevices(), 'API_KEY_REJECTED');
    const asked = service.seen.filter(({ path }) => path === '/system').map(({ headers }) => headers.cookie);
    assert.deepEqual(asked, [undefined, 'sid=session-value-1', undefined]);
  });

  it('needs no login where devices are offered at once', async () => {
    service.on('GET', '/system', { json: { _links: { 'rel/devices': '/open' } } });
    service.on('GET', '/open', { json: [] });
    assert.deepEqual(await station.client().listDevices(), []);
    assert.equal(service.count('POST', '/login'), 0);
  });

  const missing: Partial<StationClientOptions>[] = [
    { apiKey: ' ' },
    { apiKey: 'two\nlines' },
    { baseUrl: 'ftp://service' },
    { username: '' },
    { password: '' },
    { versionLow: '5.11', versionHigh: '5.2' },
  ];
  for (const settings of missing) {
    it(`T-09 is CONFIG_MISSING before anything is sent with ${JSON.stringify(settings)}`, async () => {
      await failure(station.client(settings).listDevices(), 'CONFIG_MISSING');
      assert.equal(service.seen.length, 0);
    });
  }

  it('takes off the white space around a pasted API key', async () => {
    const client = station.client({ apiKey: ` ${service.apiKey}\r\n` });
    assert.equal((await client.listDevices()).length, 2);
  });

  it('makes one login for 200 operations at once', async () => {
    const client = station.client();
    await Promise.all(Array.from({ length: 200 }, () => client.listDevices()));
    assert.equal(service.count('POST', '/login'), 1);
    assert.equal(service.count('GET', '/devices'), 1);
  });

  it('gives the last error at once for a while after a refused login', async () => {
    const client = station.client({ password: 'wrong-one' }, { probeMs: 60_000 });
    const first = await failure(client.listDevices(), 'LOGIN_FAILED');
    assert.equal(await failure(client.listDevices(), 'LOGIN_FAILED'), first);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('tries a refused login again by itself, each time after a longer pause', async () => {
    const client = station.client({}, { probeMs: 40 });
    const refused = { status: 403 };
    service.on('POST', '/login', refused, refused, refused, service.usual);
    await failure(client.listDevices(), 'LOGIN_FAILED');
    await eventually(() => client.state.kind === 'connected', 'the login that succeeds');
    const pauses = service.gaps('/login');
    assert.equal(pauses.length, 3);
    for (const [index, pause] of pauses.entries()) assertPause(pause, 20 * 2 ** index);
  });

  it('tells its state to those who listen', async () => {
    const client = station.client();
    const kinds: string[] = [];
    const stop = client.onState((state) => kinds.push(state.kind));
    assert.equal(client.state.kind, 'idle');
    await client.listDevices();
    assert.deepEqual(kinds, ['logging-in', 'connected']);
    stop();
    await client.listDevices(FRESH);
    assert.equal(kinds.length, 2);
  });

  it('leaves the shared login alone where one of its callers gives up', async () => {
    const gate = new Gate();
    service.on('POST', '/login', (request) => ({ ...Object(service.logIn(request)), after: gate.opened }));
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

  describe('sets cookies', () => {
    /** The cookies that a list of cameras at this path is asked for with. */
    async function sentTo(path: string): Promise<string[]> {
      service.on('GET', '/system', (request) => {
        const link = service.loggedIn(request) ? { 'rel/devices': path } : { 'rel/login': '/login' };
        return { json: { _links: link } };
      });
      service.on('GET', path, { json: [] });
      await station.client().listDevices();
      return (service.last('GET', path)?.headers.cookie ?? '').split('; ');
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
    for (const [kind, cookie, isSent] of attributes) {
      it(`T-05 ${isSent ? 'sends' : 'does not send'} one with ${kind}`, async () => {
        login({}, cookie);
        assert.equal((await sentTo('/area/list')).includes('c=1'), isSent);
      });
    }

    const names = ['.App.Core.Cookies', 'x!y~z', '__Secure-a', '$sid', '1', 'sid.with-many_signs|^`'];
    const values = ['a=b==', '"quoted text"', 'a%2Fb', '', '{"json":1}'];
    for (const pair of [...names.map((name) => `${name}=value`), ...values.map((value) => `c=${value}`)]) {
      it(`T-05 sends ${pair} as it came`, async () => {
        login({}, `${pair}; Secure; Path=/`);
        assert.ok((await sentTo('/list')).includes(pair));
      });
    }

    it('T-05 sends several, and the newest value of each, until an answer takes one back', async () => {
      login({}, 'route=a; Path=/', 'c=1; Path=/', 'other=1; Path=/elsewhere');
      const cookies = ['route=b; Path=/', 'c=; Path=/; Max-Age=0'];
      service.on('GET', '/devices', withCookies(cookies, { json: [] }));
      const client = await station.connected();
      await client.listDevices(FRESH);
      assert.equal(service.last('GET', '/devices')?.headers.cookie, 'sid=session-value-1; route=b');
    });

    for (const [bearer, reply] of [
      ['an error', { status: 500 }],
      ['a refusal of something else', { status: 404 }],
      ['a redirect', { status: 302, headers: { Location: '/rtsp/Gate' } }],
    ] as const) {
      it(`T-05 takes the newest value from ${bearer}, too`, async () => {
        const client = await station.connected();
        service.on('POST', '/rtsp/Gate', withCookies('sid=newest; Path=/', reply));
        service.sessions.add('newest');
        await client.openRtsp(LIVE).catch(() => undefined);
        await client.listDevices(FRESH);
        assert.equal(service.last('GET', '/devices')?.headers.cookie, 'sid=newest');
        assert.equal(service.count('POST', '/login'), 1);
      });
    }
  });
});

describe('session of a central station', () => {
  const station = stationOfEachTest();
  const { service } = station;
  const logins = (): number => service.count('POST', '/login');

  describe('that is lost', () => {
    const free = { start: 'url', url: '/free', rels: [], method: 'POST', body: { a: 1 } } as const;
    const picture = { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') };
    const granted = { json: { url: 'rtsp://relay.example/1' } };
    const presets = { json: [{ id: 1, _links: { 'rel/trigger': '/go' } }] };
    const command = { action: 'goto-preset' as const, target: '1' };
    const asked: [string, string, Reply, (client: StationClient) => Promise<unknown>][] = [
      ['a list', 'GET /devices', { json: [] }, (client) => client.listDevices(FRESH)],
      ['a snapshot', 'GET /picture', picture, (client) => client.snapshot('Gate')],
      ['the details of a camera', 'GET /self', { json: { id: 'g' } }, (client) => client.getDevice('Gate')],
      ['a list of presets', 'GET /presets', presets, (client) => client.ptzTargets('Gate', 'presets')],
      ['the request for video', 'POST /rtsp/Gate', granted, (client) => client.openRtsp(LIVE)],
      ['the command to a preset', 'POST /go', { status: 204 }, (client) => client.ptz('Gate', command)],
      ['a free POST', 'POST /free', { status: 204 }, (client) => client.request(free)],
    ];

    beforeEach(() => {
      const _links = { 'rel/self': '/self', 'rel/data_sources': '/sources/Gate' };
      service.devices = [camera(GATE, 'Gate', { _links })];
      const links = { 'rel/snapshot': '/picture', 'rel/ptz_presets': '/presets', 'rel/rtsp': '/rtsp/Gate' };
      service.on('GET', '/sources/Gate', { json: { _links: links } });
      service.on('GET', '/presets', presets);
    });

    for (const status of [401, 403]) {
      for (const [what, route, reply, ask] of asked) {
        it(`T-07 is opened anew for ${what} that is refused with ${status}, and that is sent once more`, async () => {
          const [method = '', path = ''] = route.split(' ');
          const client = await station.connected();
          const before = service.count(method, path);
          service.on(method, path, { status }, reply);
          await ask(client);
          assert.equal(service.count(method, path), before + 2);
          assert.equal(logins(), 2);
        });
      }
    }

    it('T-07 fails with the message of the service where a command is refused again, and sends it no third time', async () => {
      service.on('POST', '/go', { status: 403, json: { code: 'Unauthorized', message: 'not for you' } });
      const error = await failure(station.client().ptz('Gate', command), 'PERMISSION_DENIED');
      assert.equal(error.cause.serverMessage, 'not for you');
      assert.equal(service.count('POST', '/go'), 2);
    });
  });

  it('T-07 makes one login for all operations that meet the lost session together', async () => {
    const client = await station.warm();
    service.sessions.clear();
    assert.equal((await rtspForEvent(client)).requests, 5);
    service.sessions.clear();
    await Promise.all(Array.from({ length: 100 }, () => rtspForEvent(client)));
    assert.equal(logins(), 3);
  });

  it('T-07 recovers as often as it is lost', async () => {
    const client = station.client();
    for (let round = 1; round <= 4; round += 1) {
      await client.listDevices(FRESH);
      assert.equal(logins(), round);
      service.sessions.clear();
    }
  });

  it('T-07 fails with PERMISSION_DENIED where a link is refused after a fresh login too', async () => {
    const json = { code: 'Unauthorized', message: 'not yours' };
    service.on('POST', '/rtsp/Gate', { status: 403, json });
    const error = await failure(rtspForEvent(station.client()), 'PERMISSION_DENIED');
    assert.deepEqual(error.cause, {
      status: 403,
      relation: 'rel/rtsp',
      attempts: 2,
      serverCode: 'Unauthorized',
      serverMessage: 'not yours',
    });
  });

  for (const [what, refusalMs, logged, asked] of [
    ['makes no further login for a while after that', 60_000, 2, 4],
    ['tries a fresh login again once that while is over', 0, 4, 6],
  ] as const) {
    it(`T-07 ${what}`, async () => {
      service.on('POST', '/rtsp/Gate', { status: 403 });
      const client = station.client({}, { refusalMs });
      for (let turn = 0; turn < 3; turn += 1) await failure(rtspForEvent(client), 'PERMISSION_DENIED');
      assert.deepEqual([logins(), service.count('POST', '/rtsp/Gate')], [logged, asked]);
      assert.equal((await client.listDevices(FRESH)).length, 2);
    });
  }

  it('T-07 takes a refusal as one of rights where the newest cookie does not help', async () => {
    const gate = new Gate();
    service.on('POST', '/rtsp/Gate', { status: 403, after: gate.opened });
    const client = await station.connected();
    const refused = failure(client.openRtsp(LIVE), 'PERMISSION_DENIED');
    await eventually(() => service.count('POST', '/rtsp/Gate') === 1, 'the request');
    service.on('GET', '/devices', withCookies('route=b; Path=/', { json: service.devices }));
    await client.listDevices(FRESH);
    gate.open();
    await refused;
    assert.equal(service.count('POST', '/rtsp/Gate'), 3);
    assert.equal(logins(), 2);
  });

  it('T-07 stays where one camera is refused and the login fails meanwhile', async () => {
    const client = await station.warm();
    service.on('POST', '/rtsp/Yard', { status: 403 });
    service.on('POST', '/login', { status: 429, headers: { 'Retry-After': '3600' } });
    await failure(rtspForEvent(client, EVENT_OF_YARD), 'RATE_LIMITED');
    assert.equal((await rtspForEvent(client)).requests, 1);
    assert.equal(client.state.kind, 'connected');
  });

  it('T-07 is made anew where it is lost while another link is refused for lack of rights', async () => {
    const client = await station.warm();
    service.on('POST', '/rtsp/Yard', { status: 403 });
    await failure(rtspForEvent(client, EVENT_OF_YARD), 'PERMISSION_DENIED');
    service.sessions.clear();
    await rtspForEvent(client);
    assert.equal(logins(), 3);
  });

  it('T-07 ends where it no longer offers the devices', async () => {
    const client = await station.connected();
    service.sessions.clear();
    service.on('GET', '/devices', { status: 404 }, service.usual);
    assert.equal((await client.listDevices(FRESH)).length, 2);
    assert.equal(logins(), 2);
  });

  it('T-21 asks /system anew where the address of the devices is gone', async () => {
    const client = await station.connected();
    service.on('GET', '/devices', { status: 404 });
    service.on('GET', '/moved', { json: service.devices });
    service.on('GET', '/system', { json: { _links: { 'rel/devices': '/moved' } } });
    assert.equal((await client.listDevices(FRESH)).length, 2);
    assert.equal(logins(), 1);
  });

  it('T-05 stays where its cookie came before the login, whatever cookies other answers bring', async () => {
    service.on('GET', '/system', (request) => {
      const reply = service.system(request);
      const hasCookie = request.headers.cookie !== undefined;
      return hasCookie ? reply : withCookies(`sid=${service.newSession()}; Path=/`, reply);
    });
    // It lets in the session that it was told, and brings no cookie of its own.
    service.on('POST', '/login', { json: {} });
    service.on('GET', '/devices', (request) => {
      const cookies = FLOOD.map((text) => `${service.seen.length}${text}`);
      return withCookies(cookies, service.standard(request));
    });
    const client = station.client();
    for (let turn = 0; turn < 3; turn += 1) await client.listDevices(FRESH);
    assert.equal(service.count('GET', '/devices'), 3, 'none refused');
  });

  /** Each answer makes the cookie before invalid; one that is old is refused, but at /system, unless told otherwise. */
  function rotate(answer: Route, old: Route = () => ({ status: 401, json: { code: 'AuthExpired' } })): void {
    let valid = '';
    service.behaviour = (request) => {
      const isOld = valid !== '' && request.path !== '/login' && !request.headers.cookie?.includes(valid);
      const reply = isOld ? old(request) : answer(request);
      if (isOld && Object(reply).status === 401) return reply;
      valid = service.newSession();
      return withCookies(`sid=${valid}; Path=/`, reply);
    };
  }

  it('T-05 needs one login for calls at once, again and again, where each answer makes the cookie before invalid', async () => {
    rotate(service.usual);
    const client = station.client();
    for (let wave = 1; wave <= 4; wave += 1) {
      await Promise.all(Array.from({ length: 10 }, () => rtspForEvent(client)));
    }
    assert.equal(logins(), 1);
  });

  it('T-05 takes no refusal as one of rights where the answer with the newest cookie was never read', async () => {
    let lost = 0;
    rotate(
      (request) => {
        if (request.path.startsWith('/rtsp') && (lost += 1) <= 3) return 'silence';
        return service.standard(request);
      },
      ({ path }) => (path === '/system' ? { json: { _links: { 'rel/login': '/login' } } } : { status: 401 }),
    );
    const client = await station.connected({ timeoutMs: SHORT_TIMEOUT }, { retryMs: 10, longestRetryMs: 10 });
    await rtspForEvent(client);
    assert.equal(lost, 4);
  });

  it('T-05 keeps late cookies of an old session out of the new one', async () => {
    const gate = new Gate();
    const client = await station.warm();
    const late = { after: gate.opened, json: { url: 'rtsp://relay.example/late' } };
    service.on('POST', '/rtsp/Gate', withCookies('sid=stale; Path=/', late));
    const slow = rtspForEvent(client);
    await eventually(() => service.count('POST', '/rtsp/Gate') === 2, 'the slow request');
    service.sessions.clear();
    await client.listDevices(FRESH);
    gate.open();
    await slow;
    await client.listDevices(FRESH);
    assert.equal(service.last('GET', '/devices')?.headers.cookie, 'sid=session-value-2');
  });

  it('counts shared work for the operation that started it', async () => {
    const client = station.client();
    const [first, second] = await Promise.all([rtspForEvent(client), rtspForEvent(client)]);
    assert.deepEqual([first.requests, second.requests], [6, 1]);
  });

  describe('whose head is too large for the service', () => {
    it('T-05 drops cookies that have grown beyond what the service takes', async () => {
      const client = await station.connected();
      service.on('GET', '/devices', { status: 431 }, service.usual);
      assert.equal((await client.listDevices(FRESH)).length, 2);
      assert.equal(logins(), 2);
    });

    it('T-05 goes on without a new login where the cookies that came after it are too many, again and again', async () => {
      service.on('GET', '/devices', (request) => {
        const isTooLarge = request.headers.cookie?.includes('other');
        return withCookies(FLOOD, isTooLarge ? { status: 431 } : service.standard(request));
      });
      const client = station.client();
      for (let wave = 1; wave <= 4; wave += 1)
        await Promise.all([client.listDevices(FRESH), rtspForEvent(client)]);
      assert.equal(logins(), 1);
    });

    it('T-05 sends cookies that were too many no more, also where it fails without them', async () => {
      service.on('GET', '/devices', withCookies(FLOOD, { status: 431 }));
      const client = station.client();
      for (let turn = 0; turn < 3; turn += 1) await failure(client.listDevices(FRESH), 'HTTP_ERROR');
      assert.equal(logins(), 2, 'one login in a while');
      assert.ok(!service.seen.some(({ headers }) => headers.cookie?.includes('other')), 'none is sent on');
    });

    it('T-05 goes on without a new login where answers make its own cookie larger than the service takes, again and again', async () => {
      service.behaviour = (request) => {
        if ((request.headers.cookie ?? '').length > 8192) return { status: 431 };
        const reply = service.standard(request);
        return request.path === '/rtsp/Gate' ? withCookies(`sid=${'x'.repeat(9000)}; Path=/`, reply) : reply;
      };
      const client = station.client();
      for (let turn = 0; turn < 4; turn += 1) await rtspForEvent(client);
      assert.equal(logins(), 1);
    });

    it('T-05 fails with HTTP_ERROR where a new session does not help: of rights that says nothing', async () => {
      const client = await station.connected();
      service.on('GET', '/devices', { status: 431 });
      for (let turn = 0; turn < 2; turn += 1) await failure(client.listDevices(FRESH), 'HTTP_ERROR');
      assert.equal(logins(), 2, 'one login in a while');
      await rtspForEvent(client);
    });
  });
});
