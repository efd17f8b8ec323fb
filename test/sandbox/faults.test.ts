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
  const device = async (index: number): Promise<Json> => {
    const found = (await client.devices())[index];
    assert.ok(found !== undefined);
    return found;
  };

  it('answer a status until they are cleared', async () => {
    await fault({ kind: 'status', status: 503 });
    assert.equal((await client.system()).status, 503);
    assert.equal((await client.system()).status, 503);
    assert.equal((await control(sandbox, 'DELETE', 'faults')).status, 204);
    assert.equal((await client.system()).status, 200);
  });

  it('answer a status as often as asked for', async () => {
    await fault({ kind: 'status', status: 500, count: 2 });
    const statuses = [
      (await client.system()).status,
      (await client.system()).status,
      (await client.system()).status,
    ];
    assert.deepEqual(statuses, [500, 500, 200]);
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
    const [first, second] = [await device(0), await device(1)];
    await fault({ kind: 'status', status: 500, camera: first.at('name').text });
    assert.equal((await client.get(first.at('_links', 'rel/self').text)).status, 500);
    assert.equal((await client.get(second.at('_links', 'rel/self').text)).status, 200);
  });

  it('delay an answer', async () => {
    await fault({ kind: 'latency', ms: 150, count: 1 });
    const before = performance.now();
    assert.equal((await client.system()).status, 200);
    assertPause(performance.now() - before, 150);
  });

  it('cut the connection', async () => {
    await fault({ kind: 'reset', count: 1 });
    await assert.rejects(client.system());
    assert.equal((await client.system()).status, 200);
  });

  for (const kind of ['session-expiry', 'session expiry']) {
    it(`end the sessions once by ${kind}`, async () => {
      const link = (await client.system()).body.at('_links', 'rel/devices').text;
      await fault({ kind });
      assert.equal((await client.get(link)).status, 401);
      assert.ok((await client.system()).body.at('_links').has('rel/login'));
    });
  }

  it('end the session at the relation asked for', async () => {
    const sources = await client.dataSources(await device(0));
    await fault({ kind: 'session-expiry', relation: 'rel/rtsp' });
    assert.ok((await client.system()).body.at('_links').has('rel/devices'));
    assert.equal((await client.post(sources.at('_links', 'rel/rtsp').text)).status, 401);
  });

  it('show a camera as offline and refuse its video', async () => {
    const sources = await client.dataSources(await device(3));
    await fault({ kind: 'camera-offline', camera: (await device(3)).at('id').text });
    assert.equal((await device(3)).at('status').text, 'offline');
    assert.equal((await client.details(await device(3))).at('status').text, 'offline');
    assert.equal((await device(2)).at('status').text, 'online');
    assert.equal((await client.get(sources.at('_links', 'rel/snapshot').text)).status, 409);
    await control(sandbox, 'DELETE', 'faults');
    assert.equal((await device(3)).at('status').text, 'online');
  });

  it('show a camera as offline as often as asked for', async () => {
    await fault({ kind: 'camera offline', camera: (await device(3)).at('id').text, count: 1 });
    assert.equal((await device(3)).at('status').text, 'offline');
    assert.equal((await device(3)).at('status').text, 'online');
  });

  it('show all cameras as offline', async () => {
    await fault({ kind: 'camera-offline' });
    const statuses = (await client.devices()).map((one) => one.at('status').text);
    assert.deepEqual([...new Set(statuses)], ['offline']);
  });

  it('do not hide a wrong key', async () => {
    await fault({ kind: 'status', status: 503 });
    const response = await fetch(`${sandbox.url}/system`);
    assert.equal(response.status, 401);
  });

  it('are listed', async () => {
    await fault({ kind: 'latency', ms: 0, relation: 'rel/rtsp', count: 3 });
    const [listed] = (await control(sandbox, 'GET', 'faults')).body.list;
    assert.equal(listed?.at('kind').text, 'latency');
    assert.equal(listed?.at('remaining').number, 3);
  });

  it('end a wait when the sandbox closes', async () => {
    await fault({ kind: 'latency', ms: 600_000 });
    const answer = assert.rejects(client.system());
    await control(sandbox, 'GET', 'state');
    await sandbox.close();
    await answer;
  });

  for (const [request, field] of [
    [{}, 'kind'],
    [{ kind: 'earthquake' }, 'kind'],
    [{ kind: 'status' }, 'status'],
    [{ kind: 'status', status: 99 }, 'status'],
    [{ kind: 'status', status: '503' }, 'status'],
    [{ kind: 'latency' }, 'ms'],
    [{ kind: 'latency', ms: -1 }, 'ms'],
    [{ kind: 'reset', count: 0 }, 'count'],
    [{ kind: 'reset', count: 1.5 }, 'count'],
    [{ kind: 'reset', relation: 'rel/nothing' }, 'relation'],
    [{ kind: 'reset', often: 3 }, 'often'],
  ] as const) {
    it(`are refused with a clear word about ${field} for ${JSON.stringify(request)}`, async () => {
      const answer = await control(sandbox, 'POST', 'faults', request);
      assert.equal(answer.status, 400);
      assert.equal(answer.body.at('field').text, field);
      assert.ok(answer.body.at('message').text.includes(field));
    });
  }

  it('are refused for an unknown camera', async () => {
    assert.equal((await control(sandbox, 'POST', 'faults', { kind: 'reset', camera: 'none' })).status, 404);
  });
});
