import assert from 'node:assert/strict';
import { closeSandboxes, startLoggedIn, stateOf, type Json } from './service-client';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

function find(devices: Json[], test: (device: Json) => boolean): Json {
  const device = devices.find(test);
  assert.ok(device !== undefined, 'there is such a device');
  return device;
}

describe('the cameras of the sandbox', () => {
  afterEach(closeSandboxes);

  it('are 24 at 3 sites unless asked otherwise', async () => {
    const { client } = await startLoggedIn();
    const devices = await client.devices();
    assert.equal(devices.length, 24);
    assert.equal(new Set(devices.map((device) => device.at('siteName').text)).size, 3);
  });

  it('are as many, at as many sites, as asked for', async () => {
    const { client } = await startLoggedIn({ cameras: 7, sites: 2 });
    const devices = await client.devices();
    assert.equal(devices.length, 7);
    assert.equal(new Set(devices.map((device) => device.at('siteId').text)).size, 2);
  });

  it('may be none', async () => {
    const { client } = await startLoggedIn({ cameras: 0 });
    assert.deepEqual(await client.devices(), []);
  });

  it('have id, name, site, status and links, and names that show the sandbox', async () => {
    const { client } = await startLoggedIn();
    for (const device of await client.devices()) {
      assert.match(device.at('id').text, UUID);
      assert.match(device.at('name').text, /^SANDBOX /);
      assert.match(device.at('siteName').text, /^SANDBOX /);
      assert.match(device.at('status').text, /^(online|offline)$/);
      assert.deepEqual(device.at('_links').keys, ['rel/self', 'rel/data_sources']);
      assert.equal(device.at('_type').text, 'Device');
    }
  });

  it('have each a name of their own', async () => {
    const { client } = await startLoggedIn({ cameras: 150, sites: 20 });
    const devices = await client.devices();
    assert.equal(new Set(devices.map((device) => device.at('name').text)).size, 150);
    assert.equal(new Set(devices.map((device) => device.at('siteName').text)).size, 20);
  });

  it('come in pages of 100 with a link to the next', async () => {
    const { client } = await startLoggedIn({ cameras: 250 });
    const first = (await client.get((await client.system()).body.at('_links', 'rel/devices').text)).body;
    assert.equal(first.at('devices').list.length, 100);
    assert.ok(first.at('_links').has('next'));
    assert.equal(new Set((await client.devices()).map((device) => device.at('id').text)).size, 250);
  });

  it('are a few of them offline', async () => {
    const { client } = await startLoggedIn();
    const offline = (await client.devices()).filter((device) => device.at('status').text !== 'online');
    assert.equal(offline.length, 2);
  });

  it('keep their ids over restarts, so that flows keep working', async () => {
    const ids = async (): Promise<string[]> => {
      const { client } = await startLoggedIn({ cameras: 3 });
      return (await client.devices()).map((device) => device.at('id').text);
    };
    assert.deepEqual(await ids(), await ids());
  });

  it('have other ids with another seed', async () => {
    const one = await startLoggedIn({ cameras: 1, seed: 7 });
    const two = await startLoggedIn({ cameras: 1, seed: 8 });
    const [a, b] = [await one.client.devices(), await two.client.devices()];
    assert.notEqual(a[0]?.at('id').text, b[0]?.at('id').text);
  });

  it('show their details behind rel/self', async () => {
    const { client } = await startLoggedIn();
    const [device] = await client.devices();
    assert.ok(device !== undefined);
    const details = await client.details(device);
    assert.equal(details.at('id').text, device.at('id').text);
    assert.equal(details.at('model').text, 'PTZ camera');
    assert.match(details.at('serverName').text, /^SANDBOX /);
  });

  for (const [place, inRecord, inDetails] of [
    ['record', true, true],
    ['details', false, true],
    ['none', false, false],
  ] as const) {
    it(`show the remote id ${place === 'none' ? 'nowhere' : `in the ${place}`} with remoteId ${place}`, async () => {
      const { client } = await startLoggedIn({ remoteId: place });
      const [device] = await client.devices();
      assert.ok(device !== undefined);
      assert.equal(device.has('remoteId'), inRecord);
      assert.equal((await client.details(device)).has('remoteId'), inDetails);
    });
  }

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
    const devices = await client.devices();
    const kinds = new Set<string>();
    for (const device of devices) {
      const { keys } = (await client.dataSources(device)).at('_links');
      kinds.add(keys.join(' '));
    }
    assert.deepEqual([...kinds].sort(), [
      'rel/self rel/rtsp rel/snapshot',
      'rel/self rel/rtsp rel/snapshot rel/ptz_presets rel/ptz_tours rel/ptz_home',
    ]);
  });

  it('that are unknown are answered with 404', async () => {
    const { client } = await startLoggedIn();
    const [device] = await client.devices();
    const link = device?.at('_links', 'rel/self').text.replace(/[\da-f]{12}$/, '000000000000') ?? '';
    assert.equal((await client.get(link)).status, 404);
  });

  it('that are offline refuse RTSP, snapshots and movement', async () => {
    const { client } = await startLoggedIn();
    const offline = find(await client.devices(), (device) => device.at('status').text === 'offline');
    const links = (await client.dataSources(offline)).at('_links');
    const rtsp = await client.post(links.at('rel/rtsp').text, { cameraId: 'x', quality: 'high' });
    assert.equal(rtsp.status, 409);
    assert.equal(rtsp.body.at('code').text, 'CameraUnavailable');
    assert.equal((await client.get(links.at('rel/snapshot').text)).status, 409);
  });
});
