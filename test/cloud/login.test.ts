import assert from 'node:assert/strict';
import { assertPause, eventually } from '../support/time/patience';
import { failure, stationOfEachTest } from '../support/service/scripted-station';

describe('login of a central station', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('follows the sequence: system, login, system, devices', async () => {
    await station.client().listDevices();
    const steps = service.seen.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(steps, ['GET /system', 'POST /login', 'GET /system', 'GET /devices']);
  });

  it('T-08 sends the API key on every request, login included', async () => {
    await station.client().listDevices();
    assert.ok(service.seen.every(({ headers }) => headers['apikey'] === service.apiKey));
  });

  it('asks for the version range on /system and nowhere else', async () => {
    await station.client({ versionLow: '2', versionHigh: '4.11' }).listDevices();
    const asked = service.seen.filter(({ headers }) => headers.accept?.includes('version'));
    assert.deepEqual(
      asked.map(({ path, headers }) => [path, headers.accept]),
      [
        ['/system', 'application/json; version=2-4.11'],
        ['/system', 'application/json; version=2-4.11'],
      ],
    );
  });

  it('T-05 takes a 302 with a cookie as success and does not follow it', async () => {
    service.on('POST', '/login', () => ({
      status: 302,
      headers: { 'Set-Cookie': `sid=${service.newSession()}`, Location: 'http://elsewhere.invalid/welcome' },
    }));
    assert.equal((await station.client().listDevices()).length, 2);
  });

  it('T-05 takes a 204 without a body as success', async () => {
    service.on('POST', '/login', () => ({
      status: 204,
      headers: { 'Set-Cookie': `sid=${service.newSession()}` },
    }));
    assert.equal((await station.client().listDevices()).length, 2);
  });

  it('T-05 sends several cookies, and the newest value of each', async () => {
    service.on('POST', '/login', () => ({
      headers: {
        'Set-Cookie': [`sid=${service.newSession()}`, 'route=a; Path=/', 'other=1; Path=/elsewhere'],
      },
    }));
    service.on('GET', '/devices', { json: [], headers: { 'Set-Cookie': 'route=b; Path=/' } });
    const client = station.client();
    await client.listDevices();
    await client.listDevices({ fresh: true });
    assert.equal(service.last('GET', '/devices')?.headers.cookie, 'sid=session-value-1; route=b');
  });

  it('sends no empty cookie header before the login', async () => {
    await station.client().listDevices();
    assert.equal(service.seen[0]?.headers.cookie, undefined);
  });

  it('T-05 fails with LOGIN_FAILED where rel/devices is missing after the login', async () => {
    service.on('POST', '/login', { headers: { 'Set-Cookie': 'sid=worthless' } });
    await failure(station.client().listDevices(), 'LOGIN_FAILED');
  });

  it('T-05 fails with LOGIN_FAILED where the login brings no cookie', async () => {
    service.on('POST', '/login', { json: {} });
    await failure(station.client().listDevices(), 'LOGIN_FAILED');
  });

  it('T-06 uses the configured field names and merges the extra fields', async () => {
    service.on('POST', '/login', () => ({ headers: { 'Set-Cookie': `sid=${service.newSession()}` } }));
    const settings = { loginUserField: 'Email', loginPasswordField: 'Secret', loginExtra: { tenant: 'x' } };
    await station.client(settings).listDevices();
    assert.deepEqual(JSON.parse(service.last('POST', '/login')?.body ?? ''), {
      tenant: 'x',
      Email: service.username,
      Secret: service.password,
    });
  });

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

  it('T-07 takes a refusal of /system without a session as API_KEY_REJECTED', async () => {
    const client = station.client({ apiKey: 'wrong-key' });
    await failure(client.listDevices(), 'API_KEY_REJECTED');
    assert.equal(client.state.kind, 'refused');
  });

  it('T-07 takes a head that is too large neither for a matter of the key nor of the password', async () => {
    service.on('POST', '/login', { status: 431 });
    const atLogin = await failure(station.client().listDevices(), 'HTTP_ERROR');
    assert.deepEqual([atLogin.cause.status, atLogin.cause.relation], [431, 'rel/login']);
    service.on('GET', '/system', { status: 431 });
    const atSystem = await failure(station.client().listDevices(), 'HTTP_ERROR');
    assert.deepEqual([atSystem.cause.status, atSystem.cause.relation], [431, 'system']);
  });

  it('T-07 takes a head that is too large with the new cookies for no refusal of the session', async () => {
    service.on('GET', '/system', (request) => service.system(request), { status: 431 });
    const error = await failure(station.client({}, { loginSettlesMs: 60_000 }).listDevices(), 'HTTP_ERROR');
    assert.equal(error.cause.status, 431);
    assert.equal(service.seen.length, 3);
  });

  it('T-07 asks /system once more without the cookie where it is refused with one', async () => {
    const refused = { status: 403, json: {} };
    service.on('GET', '/system', (request) => service.system(request), refused, refused);
    await failure(station.client().listDevices(), 'API_KEY_REJECTED');
    const asked = service.seen.filter(({ path }) => path === '/system').map(({ headers }) => headers.cookie);
    assert.deepEqual(asked, [undefined, 'sid=session-value-1', undefined]);
  });

  it('T-09 refuses a version range that is none before anything is sent', async () => {
    await failure(station.client({ versionLow: '5.11', versionHigh: '5.2' }).listDevices(), 'CONFIG_MISSING');
    assert.equal(service.seen.length, 0);
  });

  it('needs no login where devices are offered at once', async () => {
    service.on('GET', '/system', { json: { _links: { 'rel/devices': '/open' } } });
    service.on('GET', '/open', { json: [] });
    assert.deepEqual(await station.client().listDevices(), []);
    assert.equal(service.count('POST', '/login'), 0);
  });

  it('asks for the missing half of the settings before it sends anything', async () => {
    await failure(station.client({ apiKey: ' ' }).listDevices(), 'CONFIG_MISSING');
    await failure(station.client({ apiKey: 'two\nlines' }).listDevices(), 'CONFIG_MISSING');
    await failure(station.client({ baseUrl: 'ftp://service' }).listDevices(), 'CONFIG_MISSING');
    await failure(station.client({ username: '' }).listDevices(), 'CONFIG_MISSING');
    await failure(station.client({ password: '' }).listDevices(), 'CONFIG_MISSING');
    assert.equal(service.seen.length, 0);
  });

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
    const client = station.client({ password: service.password }, { probeMs: 40 });
    const at: number[] = [];
    service.on('POST', '/login', (request) => {
      at.push(performance.now());
      return at.length < 4 ? { status: 403 } : service.logIn(request);
    });
    await failure(client.listDevices(), 'LOGIN_FAILED');
    await eventually(() => client.state.kind === 'connected', 'the login that succeeds');
    const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0));
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
    assert.deepEqual(client.state, { kind: 'connected', version: '3' });
    stop();
    await client.listDevices({ fresh: true });
    assert.equal(kinds.length, 2);
  });
});
