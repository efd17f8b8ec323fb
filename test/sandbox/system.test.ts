import assert from 'node:assert/strict';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { advance, closeSandboxes, ServiceClient, startLoggedIn, startSandbox } from './service-client';

let sandbox: Sandbox;
/** Logged in. */
let client: ServiceClient;

async function start(options: SandboxOptions = {}): Promise<void> {
  ({ sandbox, client } = await startLoggedIn(options));
}

/** Another client, which is not. */
const stranger = (apiKey = sandbox.apiKey): ServiceClient => new ServiceClient(sandbox.url, apiKey);
const devicesLink = async (range?: string): Promise<string> =>
  (await client.system(range)).body.at('_links', 'rel/devices').text;
const offers = async (link: string, who = client): Promise<boolean> =>
  (await who.system()).body.at('_links').has(link);

describe('the System resource of the sandbox', () => {
  beforeEach(() => start());
  afterEach(closeSandboxes);

  it('rejects a request without the ApiKey header', async () => {
    const headers = { Accept: 'application/json; version=1-3' };
    const response = await fetch(`${sandbox.url}/system`, { headers });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /InvalidApiKey/);
  });

  it('rejects a request with a wrong ApiKey, also one behind the login', async () => {
    const intruder = stranger('wrong');
    intruder.cookie = client.cookie;
    assert.equal((await intruder.get(await devicesLink())).status, 401);
  });

  it('takes the key that was asked for, and makes up another one at each start where none is given', async () => {
    const [chosen, empty] = [await startSandbox({ apiKey: 'a key' }), await startSandbox({ apiKey: '' })];
    assert.equal(chosen.apiKey, 'a key');
    assert.equal((await new ServiceClient(chosen.url, 'a key').system()).status, 200);
    assert.notEqual(empty.apiKey, sandbox.apiKey);
    assert.ok(empty.apiKey.length >= 20);
  });

  it('has the fields of the specification', async () => {
    const { body, headers } = await stranger().system('1-2');
    assert.deepEqual(body.keys, ['id', 'name', '_links', '_system_id', '_type']);
    assert.equal(body.at('_type').text, 'System');
    assert.match(body.at('name').text, /SANDBOX/);
    assert.equal(headers.get('content-type'), 'application/json; version=2');
  });

  it('answers 406 where no version is requested, and 501 where it supports none in the range', async () => {
    const without = await client.request('GET', '/system', { headers: { Accept: 'application/json' } });
    assert.deepEqual([without.status, (await client.system('7-7')).status], [406, 501]);
  });

  for (const [versions, range, chosen] of [
    ['1.2-3', '1-1.9', '1.2'],
    ['1-3', '1-2', '2'],
  ] as const)
    it(`keeps the chosen version ${chosen} in the links, without further negotiation`, async () => {
      await start({ versions });
      const { headers } = await client.system(range);
      assert.equal(headers.get('content-type'), `application/json; version=${chosen}`);
      const link = await devicesLink(range);
      assert.ok(link.includes(`/v${chosen}/`), link);
      assert.equal((await client.get(link)).status, 200);
    });

  it('offers the login before it, and the devices only after it', async () => {
    assert.deepEqual((await stranger().system()).body.at('_links').keys, ['rel/self', 'rel/login']);
    assert.deepEqual((await client.system()).body.at('_links').keys, ['rel/self', 'rel/devices']);
  });

  it('refuses the devices without a session', async () => {
    const { status, body } = await stranger().get(await devicesLink());
    assert.deepEqual([status, body.at('code').text], [401, 'Unauthenticated']);
  });

  it('has other paths at each start, so that only links lead to them', async () => {
    const former = await devicesLink();
    await start();
    assert.equal((await client.get(former)).status, 404);
  });

  it('answers 405 and the allowed method to another one', async () => {
    const { status, headers } = await client.post('/system');
    assert.deepEqual([status, headers.get('allow')], [405, 'GET']);
  });

  it('refuses a body beyond its limit and lives on', async () => {
    const link = (await client.system()).body.at('_links', 'rel/self').text;
    assert.equal((await client.post(link, { text: 'x'.repeat(70_000) })).status, 413);
    assert.equal((await client.system()).status, 200);
  });
});

describe('the login of the sandbox', () => {
  beforeEach(() => start());
  afterEach(closeSandboxes);

  it('refuses a wrong password, however often, and then takes the right one, and sets a cookie', async () => {
    const { username, password } = sandbox.setStation('north', { scheme: 'https' });
    const other = stranger();
    for (let i = 0; i < 20; i++) assert.equal((await other.login(username, 'wrong')).status, 401);
    const { status, headers } = await other.login(username, password);
    assert.equal(status, 200);
    assert.match(headers.get('set-cookie') ?? '', /^sandbox_session=[\w-]{43}; Path=\/; HttpOnly/);
  });

  it('refuses a body without name or password', async () => {
    const link = (await stranger().system()).body.at('_links', 'rel/login').text;
    for (const body of [{ username: 'somebody' }, ['somebody']])
      assert.equal((await stranger().post(link, body)).status, 400);
  });

  it('takes name and password of choice', async () => {
    const chosen = { username: 'night desk', password: 'Kö-1 ß' };
    assert.partialDeepStrictEqual(sandbox.setStation('chosen', { ...chosen, scheme: 'http' }), chosen);
    assert.equal((await stranger().login(chosen.username, chosen.password)).status, 200);
  });

  it('has one Agent User for each station, stable while the sandbox runs', () => {
    const north = sandbox.setStation('north', { scheme: 'http' });
    const south = sandbox.setStation('south', { scheme: 'http' });
    sandbox.removeStation('north');
    assert.deepEqual(sandbox.setStation('north', { scheme: 'https' }), north);
    for (const field of ['username', 'password', 'secret', 'agentUserId'] as const)
      assert.notEqual(north[field], south[field]);
  });

  it('makes up a password as the service demands it', () => {
    const { password } = sandbox.setStation('north', { scheme: 'http' });
    for (const kind of [/^.{8,50}$/, /[A-Z]/, /[a-z]/, /\d/, /[^A-Za-z\d]/, /^[^,]+$/])
      assert.match(password, kind);
  });

  it('ends the sessions of a station that gets another password, not of one that is set again unchanged', async () => {
    sandbox.setStation('north', { scheme: 'https' });
    assert.ok(await offers('rel/devices'));
    sandbox.setStation('north', { scheme: 'http', password: 'Another-1' });
    assert.ok(await offers('rel/login'));
  });

  it('ends a session that was not used for hours', async () => {
    await advance(sandbox, 3600);
    assert.ok(await offers('rel/devices'));
    await advance(sandbox, 3 * 3600);
    assert.ok(await offers('rel/login'));
  });
});
