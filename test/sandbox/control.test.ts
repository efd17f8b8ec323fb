import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { guardControl } from '../../sandbox/control';
import { Refusal, type Sandbox } from '../../sandbox';
import { closeSandboxes, control, startLoggedIn, stateOf } from './service-client';

/** The status of a GET with headers that `fetch` would not send. */
async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  const sent = request(url, { headers, agent: false }).end();
  const [response]: IncomingMessage[] = await once(sent, 'response');
  return response?.resume().statusCode ?? 0;
}

describe('the control calls of the sandbox', () => {
  let sandbox: Sandbox;
  before(async () => {
    ({ sandbox } = await startLoggedIn());
  });
  after(closeSandboxes);

  it('need no key', async () => {
    assert.equal((await fetch(`${sandbox.url}/sandbox/state`)).status, 200);
  });

  it('raise an alarm, also without a body, and tell its ids', async () => {
    const { status, body } = await control(sandbox, 'POST', 'alarms', { seconds: 5 });
    assert.deepEqual([status, body.keys], [200, ['alarmId', 'messageId']]);
    assert.equal((await fetch(`${sandbox.url}/sandbox/alarms`, { method: 'POST' })).status, 200);
  });

  for (const [field, body] of [
    ['eventClass', { eventClass: 'fire' }],
    ['seconds', { seconds: -1 }],
    ['seconds', { seconds: '5' }],
    ['camera', { camera: 7 }],
    ['cameraId', { cameraId: 'x' }],
  ] as const)
    it(`refuse the alarm ${JSON.stringify(body)} with a clear word`, async () => {
      const answer = await control(sandbox, 'POST', 'alarms', body);
      assert.equal(answer.status, 400);
      assert.ok(answer.body.at('message').text.includes(field));
    });

  for (const [title, path, body, status] of [
    ['an alarm of an unknown camera', 'alarms', { camera: 'none' }, 404],
    ...[{}, { advance: -1 }, { advance: '5' }, { advance: 1e12 }, { seconds: 5 }].map(
      (clock) => [`the clock ${JSON.stringify(clock)}`, 'clock', clock, 400] as const,
    ),
  ] as const)
    it(`answer ${status} to ${title}`, async () => {
      assert.equal((await control(sandbox, 'POST', path, body)).status, status);
    });

  it('advance the clock', async () => {
    const before = Date.now();
    const answer = await control(sandbox, 'POST', 'clock', { advance: 3600 });
    const ahead = Date.parse(answer.body.at('now').text) - 3_600_000;
    assert.ok(ahead >= before && ahead <= Date.now());
  });

  for (const body of ['{', '[]', '"text"', 'null'])
    it(`refuse the body ${body}, which is no JSON, or no object`, async () => {
      assert.equal((await fetch(`${sandbox.url}/sandbox/alarms`, { method: 'POST', body })).status, 400);
    });

  it('answer 404 to an unknown one and 405 to a wrong method', async () => {
    assert.equal((await control(sandbox, 'GET', 'nothing')).status, 404);
    const wrong = await control(sandbox, 'DELETE', 'alarms');
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
  });

  it('tell the state, but no key, password or phrase', async () => {
    const { username, password, secret } = sandbox.setStation('south', { scheme: 'https' });
    const state = await stateOf(sandbox);
    assert.partialDeepStrictEqual(state.value, { url: sandbox.url, sessions: 1, video: { opened: 0 } });
    assert.deepEqual([state.at('cameras').list.length, state.at('stations').list.length], [26, 2]);
    const text = JSON.stringify(state.value);
    for (const planted of [username, password, secret, sandbox.apiKey]) assert.ok(!text.includes(planted));
  });

  const STRANGERS: [title: string, headers: Record<string, string>, status: number][] = [
    ['refuse a host name that is not this machine’s, against DNS rebinding', { Host: 'evil.example' }, 403],
    ['refuse a host name that begins as this machine’s', { Host: '127.0.0.1.evil.example' }, 403],
    ['take a name of this machine', { Host: 'localhost:1234' }, 200],
    ['take an address of this machine', { Host: '[::1]' }, 200],
    ['refuse a web page of another origin', { Origin: 'https://evil.example' }, 403],
    ['refuse a web page of no origin', { Origin: 'null' }, 403],
    ['refuse a web page of another site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['take what a person asks for', { 'Sec-Fetch-Site': 'none' }, 200],
  ];
  for (const [title, headers, status] of STRANGERS)
    it(title, async () => {
      assert.equal(await statusWith(`${sandbox.url}/sandbox/state`, headers), status);
    });

  it('take a page of their own origin', async () => {
    assert.equal(await statusWith(`${sandbox.url}/sandbox/state`, { Origin: sandbox.url }), 200);
  });

  it('refuse another machine', () => {
    const headers = { host: '127.0.0.1' };
    const query = new URLSearchParams();
    const call = { method: 'GET', path: '/sandbox/state', query, headers, body: Buffer.alloc(0) };
    for (const remoteAddress of ['192.0.2.7', ''])
      assert.throws(() => guardControl({ ...call, remoteAddress }), Refusal);
    for (const remoteAddress of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
      guardControl({ ...call, remoteAddress });
  });
});
