import assert from 'node:assert/strict';
import { request } from 'node:http';
import { guardControl } from '../../sandbox/control';
import { Refusal } from '../../sandbox';
import { closeSandboxes, control, startLoggedIn, startSandbox, stateOf } from './service-client';

/** The status of a GET with headers that `fetch` would not send. */
function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('the control calls of the sandbox', () => {
  afterEach(closeSandboxes);

  it('need no key', async () => {
    const sandbox = await startSandbox();
    assert.equal((await fetch(`${sandbox.url}/sandbox/state`)).status, 200);
  });

  it('raise an alarm and tell its ids', async () => {
    const sandbox = await startSandbox();
    const { status, body } = await control(sandbox, 'POST', 'alarms', { seconds: 5 });
    assert.equal(status, 200);
    assert.deepEqual(body.keys, ['alarmId', 'messageId']);
  });

  it('raise an alarm without a body', async () => {
    const sandbox = await startSandbox();
    assert.equal((await fetch(`${sandbox.url}/sandbox/alarms`, { method: 'POST' })).status, 200);
  });

  for (const [body, field] of [
    [{ eventClass: 'fire' }, 'eventClass'],
    [{ seconds: -1 }, 'seconds'],
    [{ seconds: '5' }, 'seconds'],
    [{ camera: 7 }, 'camera'],
    [{ cameraId: 'x' }, 'cameraId'],
  ] as const) {
    it(`refuse the alarm ${JSON.stringify(body)} with a clear word`, async () => {
      const answer = await control(await startSandbox(), 'POST', 'alarms', body);
      assert.equal(answer.status, 400);
      assert.ok(answer.body.at('message').text.includes(field));
    });
  }

  it('answer 404 to an alarm of an unknown camera', async () => {
    assert.equal((await control(await startSandbox(), 'POST', 'alarms', { camera: 'none' })).status, 404);
  });

  it('advance the clock', async () => {
    const sandbox = await startSandbox();
    const before = Date.now();
    const answer = await control(sandbox, 'POST', 'clock', { advance: 3600 });
    const ahead = Date.parse(answer.body.at('now').text) - 3_600_000;
    assert.ok(ahead >= before && ahead <= Date.now());
  });

  for (const body of [{}, { advance: -1 }, { advance: '5' }, { advance: 1e12 }, { seconds: 5 }]) {
    it(`refuse the clock ${JSON.stringify(body)}`, async () => {
      assert.equal((await control(await startSandbox(), 'POST', 'clock', body)).status, 400);
    });
  }

  it('refuse a body that is not JSON, and one that is no object', async () => {
    const { url } = await startSandbox();
    for (const body of ['{', '[]', '"text"', 'null']) {
      assert.equal((await fetch(`${url}/sandbox/alarms`, { method: 'POST', body })).status, 400);
    }
  });

  it('answer 404 to an unknown one and 405 to a wrong method', async () => {
    const sandbox = await startSandbox();
    assert.equal((await control(sandbox, 'GET', 'nothing')).status, 404);
    const wrong = await control(sandbox, 'DELETE', 'alarms');
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'POST');
  });

  it('tell the state, but no key, password or phrase', async () => {
    const { sandbox } = await startLoggedIn();
    const { username, password, secret } = sandbox.setStation('south', { scheme: 'https' });
    const state = await stateOf(sandbox);
    assert.equal(state.at('url').text, sandbox.url);
    assert.equal(state.at('cameras').list.length, 26);
    assert.equal(state.at('sessions').number, 1);
    assert.equal(state.at('video').at('opened').number, 0);
    assert.equal(state.at('stations').list.length, 2);
    const text = JSON.stringify(state.value);
    for (const planted of [username, password, secret, sandbox.apiKey]) assert.ok(!text.includes(planted));
  });

  it('refuse a host name that is not this machine’s, against DNS rebinding', async () => {
    const { url } = await startSandbox();
    assert.equal(await statusWith(`${url}/sandbox/state`, { Host: 'evil.example' }), 403);
    assert.equal(await statusWith(`${url}/sandbox/state`, { Host: '127.0.0.1.evil.example' }), 403);
    assert.equal(await statusWith(`${url}/sandbox/state`, { Host: 'localhost:1234' }), 200);
    assert.equal(await statusWith(`${url}/sandbox/state`, { Host: '[::1]' }), 200);
  });

  it('refuse a web page of another origin', async () => {
    const { url } = await startSandbox();
    const state = `${url}/sandbox/state`;
    assert.equal(await statusWith(state, { Origin: 'https://evil.example' }), 403);
    assert.equal(await statusWith(state, { Origin: 'null' }), 403);
    assert.equal(await statusWith(state, { 'Sec-Fetch-Site': 'cross-site' }), 403);
    assert.equal(await statusWith(state, { 'Sec-Fetch-Site': 'none' }), 200);
    assert.equal(await statusWith(state, { Origin: url }), 200);
  });

  it('refuse another machine', () => {
    const call = {
      method: 'GET',
      path: '/sandbox/state',
      query: new URLSearchParams(),
      headers: { host: '127.0.0.1' },
      body: Buffer.alloc(0),
    };
    assert.throws(() => guardControl({ ...call, remoteAddress: '192.0.2.7' }), Refusal);
    assert.throws(() => guardControl({ ...call, remoteAddress: '' }), Refusal);
    for (const remoteAddress of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
      guardControl({ ...call, remoteAddress });
    }
  });
});
