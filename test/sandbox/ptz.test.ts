import assert from 'node:assert/strict';
import type { Sandbox } from '../../sandbox';
import { closeSandboxes, startLoggedIn, stateOf, type Json, type ServiceClient } from './service-client';

describe('PTZ of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let links: Json;
  let presets: Json;
  let tours: Json;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
    const [device] = await client.devices();
    assert.ok(device !== undefined);
    links = (await client.dataSources(device)).at('_links');
    presets = (await client.get(links.at('rel/ptz_presets').text)).body.at('ptz_presets');
    tours = (await client.get(links.at('rel/ptz_tours').text)).body.at('ptz_tours');
  });
  afterEach(closeSandboxes);

  const position = async (): Promise<unknown> => (await stateOf(sandbox)).at('cameras', 0, 'ptz').value;
  const follow = async (link: Json): Promise<number> => (await client.post(link.text)).status;

  it('lists presets and tours with ids from 0 on and names', () => {
    assert.deepEqual(
      presets.list.map((preset) => preset.at('id').number),
      [0, 1, 2, 3],
    );
    assert.deepEqual(
      tours.list.map((tour) => tour.at('name').text),
      ['Perimeter', 'Night Round'],
    );
  });

  it('goes to a preset', async () => {
    assert.equal(await follow(presets.at(0, '_links', 'rel/trigger')), 204);
    assert.deepEqual(await position(), { position: 'preset 0', tour: null });
  });

  it('goes home', async () => {
    await follow(presets.at(2, '_links', 'rel/trigger'));
    assert.equal(await follow(links.at('rel/ptz_home')), 204);
    assert.deepEqual(await position(), { position: 'home', tour: null });
  });

  it('starts and stops a tour', async () => {
    assert.equal(await follow(tours.at(1, '_links', 'rel/start')), 204);
    assert.deepEqual(await position(), { position: 'home', tour: 1 });
    assert.equal(await follow(tours.at(1, '_links', 'rel/stop')), 204);
    assert.deepEqual(await position(), { position: 'home', tour: null });
  });

  it('keeps a tour running when another one is stopped', async () => {
    await follow(tours.at(1, '_links', 'rel/start'));
    await follow(tours.at(0, '_links', 'rel/stop'));
    assert.deepEqual(await position(), { position: 'home', tour: 1 });
  });

  it('ends a tour by a preset', async () => {
    await follow(tours.at(0, '_links', 'rel/start'));
    await follow(presets.at(1, '_links', 'rel/trigger'));
    assert.deepEqual(await position(), { position: 'preset 1', tour: null });
  });

  it('answers 404 to an unknown preset', async () => {
    const link = presets.at(0, '_links', 'rel/trigger').text.replace('/0/', '/99/');
    assert.equal((await client.post(link)).status, 404);
  });

  it('answers 405 to a GET of a command', async () => {
    assert.equal((await client.get(links.at('rel/ptz_home').text)).status, 405);
  });

  it('is not there for a fixed camera', async () => {
    const fixed = (await stateOf(sandbox))
      .at('cameras')
      .list.find((camera) => camera.at('ptz').value === null);
    const ptzId = (await stateOf(sandbox)).at('cameras', 0, 'id').text;
    const link = links.at('rel/ptz_home').text.replace(ptzId, fixed?.at('id').text ?? '');
    assert.equal((await client.post(link)).status, 404);
  });
});
