import assert from 'node:assert/strict';
import type { SandboxOptions } from '../../sandbox';
import { closeSandboxes, first, startLoggedIn, stateOf } from './service-client';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('the cameras of the sandbox', () => {
  afterEach(closeSandboxes);

  /** The values of a field of all cameras. */
  async function all(field: string, options: SandboxOptions = {}): Promise<string[]> {
    const { client } = await startLoggedIn(options);
    return (await client.devices()).map((device) => device.at(field).text);
  }

  for (const [title, options, cameras, sites] of [
    ['24 at 3 sites unless asked otherwise', {}, 24, 3],
    ['as many, at as many sites, as asked for', { cameras: 7, sites: 2 }, 7, 2],
    ['none where asked for', { cameras: 0 }, 0, 0],
    ['each with a name of its own, as the sites', { cameras: 150, sites: 20 }, 150, 20],
  ] as const)
    it(`are ${title}`, async () => {
      const { client } = await startLoggedIn(options);
      const devices = await client.devices();
      const different = (field: string): number =>
        new Set(devices.map((device) => device.at(field).text)).size;
      const found = [devices.length, ...['name', 'siteName', 'siteId'].map(different)];
      assert.deepEqual(found, [cameras, cameras, sites, sites]);
    });

  it('have id, name, site, status and links, and names that show the sandbox', async () => {
    const { client } = await startLoggedIn();
    for (const device of await client.devices()) {
      assert.match(device.at('id').text, UUID);
      for (const field of ['name', 'siteName']) assert.match(device.at(field).text, /^SANDBOX /);
      assert.match(device.at('status').text, /^(online|offline)$/);
      assert.deepEqual(device.at('_links').keys, ['rel/self', 'rel/data_sources']);
      assert.equal(device.at('_type').text, 'Device');
    }
  });

  it('come in pages of 100 with a link to the next', async () => {
    const { client } = await startLoggedIn({ cameras: 250 });
    const { body } = await client.get((await client.system()).body.at('_links', 'rel/devices').text);
    assert.equal(body.at('devices').list.length, 100);
    assert.ok(body.at('_links').has('next'));
    assert.equal(new Set((await client.devices()).map((device) => device.at('id').text)).size, 250);
  });

  it('are a few of them offline', async () => {
    assert.equal((await all('status')).filter((status) => status !== 'online').length, 2);
  });

  it('keep their ids over restarts, so that flows keep working, and have others with another seed', async () => {
    const ids = await all('id', { cameras: 3 });
    assert.deepEqual(await all('id', { cameras: 3 }), ids);
    assert.notEqual((await all('id', { cameras: 3, seed: 8 }))[0], ids[0]);
  });

  it('show their details behind rel/self, where one that is unknown is answered with 404', async () => {
    const { client } = await startLoggedIn();
    const device = first(await client.devices());
    const details = await client.details(device);
    assert.deepEqual([details.at('id').text, details.at('model').text], [device.at('id').text, 'PTZ camera']);
    assert.match(details.at('serverName').text, /^SANDBOX /);
    const unknown = device.at('_links', 'rel/self').text.replace(/[\da-f]{12}$/, '000000000000');
    assert.equal((await client.get(unknown)).status, 404);
  });

  for (const [remoteId, ...places] of [
    ['record', true, true],
    ['details', false, true],
    ['none', false, false],
  ] as const)
    it(`show the remote id ${remoteId === 'none' ? 'nowhere' : `in the ${remoteId}`} with remoteId ${remoteId}`, async () => {
      const { client } = await startLoggedIn({ remoteId });
      const device = first(await client.devices());
      const shown = [device, await client.details(device)].map((each) => each.has('remoteId'));
      assert.deepEqual(shown, places);
    });

  it('have a remote id that is opaque, case-sensitive and not the id', async () => {
    const { sandbox } = await startLoggedIn();
    for (const camera of (await stateOf(sandbox)).at('cameras').list) {
      const remoteId = camera.at('remoteId').text;
      assert.match(remoteId, /^(?=.*-)(?=.*_)(?=.*[a-z])(?=.*[A-Z])[\w-]{43}$/);
      assert.notEqual(remoteId, camera.at('id').text);
    }
  });

  it('offer RTSP and snapshots behind their data sources, and PTZ only where they can move', async () => {
    const { client } = await startLoggedIn();
    const kinds = new Set<string>();
    for (const device of await client.devices())
      kinds.add((await client.dataSources(device)).at('_links').keys.join(' '));
    assert.deepEqual([...kinds].sort(), [
      'rel/self rel/rtsp rel/snapshot',
      'rel/self rel/rtsp rel/snapshot rel/ptz_presets rel/ptz_tours rel/ptz_home',
    ]);
  });

  it('that are offline refuse RTSP and snapshots', async () => {
    const { client } = await startLoggedIn();
    const offline = (await client.devices()).filter((device) => device.at('status').text === 'offline');
    const links = (await client.dataSources(first(offline))).at('_links');
    const rtsp = await client.post(links.at('rel/rtsp').text, { cameraId: 'x', quality: 'high' });
    assert.deepEqual([rtsp.status, rtsp.body.at('code').text], [409, 'CameraUnavailable']);
    assert.equal((await client.get(links.at('rel/snapshot').text)).status, 409);
  });
});
