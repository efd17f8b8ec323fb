import assert from 'node:assert/strict';
import { closeSandboxes, control, ServiceClient, startLoggedIn, startSandbox } from './service-client';

describe('the System resource of the sandbox', () => {
  afterEach(closeSandboxes);

  it('rejects a request without the ApiKey header', async () => {
    const sandbox = await startSandbox();
    const response = await fetch(`${sandbox.url}/system`, {
      headers: { Accept: 'application/json; version=1-3' },
    });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /InvalidApiKey/);
  });

  it('rejects a request with a wrong ApiKey, also one behind the login', async () => {
    const { sandbox, client } = await startLoggedIn();
    const system = await client.system();
    const intruder = new ServiceClient(sandbox.url, 'wrong');
    intruder.cookie = client.cookie;
    assert.equal((await intruder.get(system.body.at('_links', 'rel/devices').text)).status, 401);
  });

  it('takes the key that was asked for', async () => {
    const sandbox = await startSandbox({ apiKey: 'a key of choice' });
    assert.equal(sandbox.apiKey, 'a key of choice');
    assert.equal((await new ServiceClient(sandbox.url, 'a key of choice').system()).status, 200);
  });

  it('makes up another key at each start where none is given', async () => {
    const [one, two] = [await startSandbox(), await startSandbox({ apiKey: '' })];
    assert.notEqual(one.apiKey, two.apiKey);
    assert.ok(one.apiKey.length >= 20);
  });

  it('has the fields of the specification', async () => {
    const sandbox = await startSandbox();
    const { body, headers } = await new ServiceClient(sandbox.url, sandbox.apiKey).system('1-2');
    assert.deepEqual(body.keys, ['id', 'name', '_links', '_system_id', '_type']);
    assert.equal(body.at('_type').text, 'System');
    assert.match(body.at('name').text, /SANDBOX/);
    assert.equal(headers.get('content-type'), 'application/json; version=2');
  });

  it('answers 406 where no version is requested', async () => {
    const sandbox = await startSandbox();
    const client = new ServiceClient(sandbox.url, sandbox.apiKey);
    const answer = await client.request('GET', '/system', { headers: { Accept: 'application/json' } });
    assert.equal(answer.status, 406);
  });

  it('answers 501 where it supports no version in the range', async () => {
    const sandbox = await startSandbox({ versions: '5,6' });
    assert.equal((await new ServiceClient(sandbox.url, sandbox.apiKey).system('7-7')).status, 501);
  });

  it('selects a dotted version, which its links keep', async () => {
    const { client } = await startLoggedIn({ versions: '1.2-3' });
    const { headers, body } = await client.system('1-1.9');
    assert.equal(headers.get('content-type'), 'application/json; version=1.2');
    assert.match(body.at('_links', 'rel/devices').text, /\/v1\.2\//);
    assert.equal((await client.get(body.at('_links', 'rel/devices').text)).status, 200);
  });

  it('keeps the chosen version in the links, without further negotiation', async () => {
    const { client } = await startLoggedIn();
    const { body } = await client.system('1-2');
    assert.match(body.at('_links', 'rel/devices').text, /\/v2\//);
    assert.equal((await client.get(body.at('_links', 'rel/devices').text)).status, 200);
  });

  it('offers the login before it, and the devices only after it', async () => {
    const sandbox = await startSandbox();
    const { username, password } = sandbox.setStation('north', { scheme: 'https' });
    const client = new ServiceClient(sandbox.url, sandbox.apiKey);
    assert.deepEqual((await client.system()).body.at('_links').keys, ['rel/self', 'rel/login']);
    assert.equal((await client.login(username, password)).status, 200);
    assert.deepEqual((await client.system()).body.at('_links').keys, ['rel/self', 'rel/devices']);
  });

  it('refuses the devices without a session', async () => {
    const { client } = await startLoggedIn();
    const link = (await client.system()).body.at('_links', 'rel/devices').text;
    client.cookie = '';
    const answer = await client.get(link);
    assert.equal(answer.status, 401);
    assert.equal(answer.body.at('code').text, 'Unauthenticated');
  });

  it('has other paths at each start, so that only links lead to them', async () => {
    const [one, two] = [await startLoggedIn(), await startLoggedIn()];
    const link = (await one.client.system()).body.at('_links', 'rel/devices').text;
    assert.equal((await two.client.get(link)).status, 404);
  });

  it('answers 405 and the allowed method to another one', async () => {
    const { client } = await startLoggedIn();
    const answer = await client.request('POST', '/system', { json: {} });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'GET');
  });

  it('refuses a body beyond its limit and lives on', async () => {
    const { client } = await startLoggedIn();
    const link = (await client.system()).body.at('_links', 'rel/self').text;
    assert.equal((await client.post(link, { text: 'x'.repeat(70_000) })).status, 413);
    assert.equal((await client.system()).status, 200);
  });
});

describe('the login of the sandbox', () => {
  afterEach(closeSandboxes);

  it('sets a cookie', async () => {
    const sandbox = await startSandbox();
    const { username, password } = sandbox.setStation('north', { scheme: 'https' });
    const answer = await new ServiceClient(sandbox.url, sandbox.apiKey).login(username, password);
    assert.match(answer.headers.get('set-cookie') ?? '', /^sandbox_session=[\w-]{43}; Path=\/; HttpOnly/);
  });

  it('refuses a wrong password, however often, and then takes the right one', async () => {
    const sandbox = await startSandbox();
    const { username, password } = sandbox.setStation('north', { scheme: 'https' });
    const client = new ServiceClient(sandbox.url, sandbox.apiKey);
    for (let i = 0; i < 20; i++) assert.equal((await client.login(username, 'wrong')).status, 401);
    assert.equal((await client.login(username, password)).status, 200);
  });

  it('refuses a body without name or password', async () => {
    const sandbox = await startSandbox();
    const client = new ServiceClient(sandbox.url, sandbox.apiKey);
    const link = (await client.system()).body.at('_links', 'rel/login').text;
    assert.equal((await client.post(link, { username: 'somebody' })).status, 400);
    assert.equal((await client.post(link, ['somebody'])).status, 400);
  });

  it('takes name and password of choice', async () => {
    const sandbox = await startSandbox();
    const chosen = { username: 'night desk', password: 'Kö-1 ß', scheme: 'http' } as const;
    const { username, password } = sandbox.setStation('north', chosen);
    assert.deepEqual([username, password], ['night desk', 'Kö-1 ß']);
    const client = new ServiceClient(sandbox.url, sandbox.apiKey);
    assert.equal((await client.login('night desk', 'Kö-1 ß')).status, 200);
  });

  it('has one Agent User for each station, stable while the sandbox runs', async () => {
    const sandbox = await startSandbox();
    const north = sandbox.setStation('north', { scheme: 'http' });
    const south = sandbox.setStation('south', { scheme: 'http' });
    sandbox.removeStation('north');
    assert.deepEqual(sandbox.setStation('north', { scheme: 'https' }), north);
    for (const field of ['username', 'password', 'secret', 'agentUserId'] as const) {
      assert.notEqual(north[field], south[field]);
    }
  });

  it('makes up a password as the service demands it', async () => {
    const sandbox = await startSandbox();
    const { password } = sandbox.setStation('north', { scheme: 'http' });
    assert.ok(password.length >= 8 && password.length <= 50);
    for (const kind of [/[A-Z]/, /[a-z]/, /\d/, /[^A-Za-z\d]/, /^[^,]+$/]) assert.match(password, kind);
  });

  it('ends the sessions of a station that is removed or gets another password', async () => {
    const { sandbox, client } = await startLoggedIn();
    sandbox.setStation('north', { scheme: 'http', password: 'Another-1' });
    assert.ok((await client.system()).body.at('_links').has('rel/login'));
  });

  it('keeps the sessions of a station that is set again unchanged', async () => {
    const { sandbox, client } = await startLoggedIn();
    sandbox.setStation('north', { scheme: 'https' });
    assert.ok((await client.system()).body.at('_links').has('rel/devices'));
  });

  it('ends a session that was not used for hours', async () => {
    const { sandbox, client } = await startLoggedIn();
    await control(sandbox, 'POST', 'clock', { advance: 3600 });
    assert.ok((await client.system()).body.at('_links').has('rel/devices'));
    await control(sandbox, 'POST', 'clock', { advance: 3 * 3600 });
    assert.ok((await client.system()).body.at('_links').has('rel/login'));
  });
});
