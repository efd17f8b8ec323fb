import assert from 'node:assert/strict';
import type { Sandbox } from '../../sandbox';
import { closeSandboxes, control, startLoggedIn, type Json, type ServiceClient } from './service-client';
import { assertPause } from '../support/time/patience';

describe('faults of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
  });
  afterEach(closeSandboxes);

  const fault = async (request: Record<string, unknown>): Promise<void> => {
    assert.equal((await control(sandbox, 'POST', 'faults', request)).status, 201);
  };
  const device = async (index: number): Promise<Json> =>
    (await client.devices())[index] ?? assert.fail('no such camera');
  const statusOf = async (index: number): Promise<string> => (await device(index)).at('status').text;
  const systems = async (count: number): Promise<number[]> => {
    const statuses: number[] = [];
    while (statuses.length < count) statuses.push((await client.system()).status);
    return statuses;
  };

  it('answer a status as often as asked for, or until they are cleared', async () => {
    await fault({ kind: 'status', status: 500, count: 2 });
    assert.deepEqual(await systems(3), [500, 500, 200]);
    await fault({ kind: 'status', status: 503 });
    assert.deepEqual(await systems(2), [503, 503]);
    assert.equal((await control(sandbox, 'DELETE', 'faults')).status, 204);
    assert.deepEqual(await systems(1), [200]);
  });

  it('meet only the relation asked for', async () => {
    await fault({ kind: 'status', status: 500, relation: 'rel/devices' });
    const system = await client.system();
    assert.equal(system.status, 200);
    assert.equal((await client.get(system.body.at('_links', 'rel/devices').text)).status, 500);
  });

  it('take a relation without rel/', async () => {
    client.cookie = '';
    await fault({ kind: 'status', status: 500, relation: 'login' });
    assert.equal((await client.login('a', 'b')).status, 500);
  });

  it('meet only the camera asked for', async () => {
    const devices = [await device(0), await device(1)];
    await fault({ kind: 'status', status: 500, camera: devices[0]?.at('name').text });
    const answers = devices.map((each) => client.get(each.at('_links', 'rel/self').text));
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(statuses, [500, 200]);
  });

  it('delay an answer', async () => {
    await fault({ kind: 'latency', ms: 150, count: 1 });
    const before = performance.now();
    assert.deepEqual(await systems(1), [200]);
    assertPause(performance.now() - before, 150);
  });

  it('cut the connection', async () => {
    await fault({ kind: 'reset', count: 1 });
    await assert.rejects(client.system());
    assert.deepEqual(await systems(1), [200]);
  });

  for (const kind of ['session-expiry', 'session expiry'])
    it(`end the sessions once by ${kind}`, async () => {
      const link = (await client.system()).body.at('_links', 'rel/devices').text;
      await fault({ kind });
      assert.equal((await client.get(link)).status, 401);
      assert.ok((await client.system()).body.at('_links').has('rel/login'));
    });

  it('end the session at the relation asked for', async () => {
    const sources = await client.dataSources(await device(0));
    await fault({ kind: 'session-expiry', relation: 'rel/rtsp' });
    assert.ok((await client.system()).body.at('_links').has('rel/devices'));
    assert.equal((await client.post(sources.at('_links', 'rel/rtsp').text)).status, 401);
  });

  it('show a camera as offline and refuse its video, until they are cleared or as often as asked for', async () => {
    const sources = await client.dataSources(await device(3));
    await fault({ kind: 'camera-offline', camera: (await device(3)).at('id').text });
    assert.deepEqual([await statusOf(3), await statusOf(2)], ['offline', 'online']);
    assert.equal((await client.details(await device(3))).at('status').text, 'offline');
    assert.equal((await client.get(sources.at('_links', 'rel/snapshot').text)).status, 409);
    await control(sandbox, 'DELETE', 'faults');
    assert.equal(await statusOf(3), 'online');
    await fault({ kind: 'camera offline', camera: (await device(3)).at('id').text, count: 1 });
    assert.deepEqual([await statusOf(3), await statusOf(3)], ['offline', 'online']);
  });

  it('show all cameras as offline', async () => {
    await fault({ kind: 'camera-offline' });
    const statuses = (await client.devices()).map((one) => one.at('status').text);
    assert.deepEqual([...new Set(statuses)], ['offline']);
  });

  it('do not hide a wrong key', async () => {
    await fault({ kind: 'status', status: 503 });
    assert.equal((await fetch(`${sandbox.url}/system`)).status, 401);
  });

  it('are listed', async () => {
    await fault({ kind: 'latency', ms: 0, relation: 'rel/rtsp', count: 3 });
    const listed = (await control(sandbox, 'GET', 'faults')).body.at(0);
    assert.deepEqual([listed.at('kind').text, listed.at('remaining').number], ['latency', 3]);
  });

  it('end a wait when the sandbox closes', async () => {
    await fault({ kind: 'latency', ms: 600_000 });
    const answer = assert.rejects(client.system());
    await control(sandbox, 'GET', 'state');
    await sandbox.close();
    await answer;
  });

  for (const [field, request] of [
    ['kind', {}],
    ['kind', { kind: 'earthquake' }],
    ['status', { kind: 'status' }],
    ['status', { kind: 'status', status: 99 }],
    ['status', { kind: 'status', status: '503' }],
    ['ms', { kind: 'latency' }],
    ['ms', { kind: 'latency', ms: -1 }],
    ['count', { kind: 'reset', count: 0 }],
    ['count', { kind: 'reset', count: 1.5 }],
    ['relation', { kind: 'reset', relation: 'rel/nothing' }],
    ['often', { kind: 'reset', often: 3 }],
  ] as const)
    it(`are refused with a clear word about ${field} for ${JSON.stringify(request)}`, async () => {
      const { status, body } = await control(sandbox, 'POST', 'faults', request);
      assert.deepEqual([status, body.at('field').text], [400, field]);
      assert.ok(body.at('message').text.includes(field));
    });

  it('are refused for an unknown camera', async () => {
    assert.equal((await control(sandbox, 'POST', 'faults', { kind: 'reset', camera: 'none' })).status, 404);
  });
});
