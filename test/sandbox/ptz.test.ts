import assert from 'node:assert/strict';
import type { Sandbox } from '../../sandbox';
import { closeSandboxes, first, startLoggedIn, stateOf } from './service-client';
import type { Json, ServiceClient } from './service-client';

describe('PTZ of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let links: Json;
  let presets: Json;
  let tours: Json;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
    links = (await client.dataSources(first(await client.devices()))).at('_links');
    presets = (await client.get(links.at('rel/ptz_presets').text)).body.at('ptz_presets');
    tours = (await client.get(links.at('rel/ptz_tours').text)).body.at('ptz_tours');
  });
  afterEach(closeSandboxes);

  const home = (): Json => links.at('rel/ptz_home');
  const preset = (id: number): Json => presets.at(id, '_links', 'rel/trigger');
  const tour = (id: number, command: 'start' | 'stop'): Json => tours.at(id, '_links', `rel/${command}`);

  it('lists presets and tours with ids from 0 on and names', () => {
    const found = [
      presets.list.map((each) => each.at('id').number),
      tours.list.map((each) => each.at('name').text),
    ];
    assert.deepEqual(found, [
      [0, 1, 2, 3],
      ['Perimeter', 'Night Round'],
    ]);
  });

  const WAYS: [title: string, commands: () => Json[], position: string, tour: number | null][] = [
    ['goes to a preset', () => [preset(0)], 'preset 0', null],
    ['goes home', () => [preset(2), home()], 'home', null],
    ['starts a tour', () => [tour(1, 'start')], 'home', 1],
    ['stops a tour', () => [tour(1, 'start'), tour(1, 'stop')], 'home', null],
    ['keeps a tour when another one is stopped', () => [tour(1, 'start'), tour(0, 'stop')], 'home', 1],
    ['ends a tour by a preset', () => [tour(0, 'start'), preset(1)], 'preset 1', null],
  ];
  for (const [title, commands, position, running] of WAYS)
    it(title, async () => {
      for (const command of commands()) assert.equal((await client.post(command.text)).status, 204);
      const { value } = (await stateOf(sandbox)).at('cameras', 0, 'ptz');
      assert.deepEqual(value, { position, tour: running });
    });

  it('answers 404 to an unknown preset, and 405 to a GET of a command', async () => {
    assert.equal((await client.post(preset(0).text.replace('/0/', '/99/'))).status, 404);
    assert.equal((await client.get(home().text)).status, 405);
  });

  it('is not there for a fixed camera', async () => {
    const { list } = (await stateOf(sandbox)).at('cameras');
    const fixed = first(list.filter((camera) => camera.at('ptz').value === null));
    const link = home().text.replace(first(list).at('id').text, fixed.at('id').text);
    assert.equal((await client.post(link)).status, 404);
  });
});
