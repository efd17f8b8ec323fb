import assert from 'node:assert/strict';
import type { PtzCommand } from '../../../lib/cloud/calls';
import { camera, type Reply, type ScriptedService } from '../../support/scripted-service';
import { failure, ScriptedStation } from '../../support/scripted-station';

describe('presets, tours and home of any service', () => {
  let station: ScriptedStation;
  let service: ScriptedService;

  beforeEach(async () => {
    station = await ScriptedStation.start();
    service = station.service;
  });
  afterEach(() => station.close());

  function gateOffers(links: Record<string, unknown>): void {
    service.on('GET', '/sources/Gate', { json: { _links: links } });
  }

  function presets(json: unknown): void {
    gateOffers({ 'rel/ptz_presets': '/presets' });
    service.on('GET', '/presets', { json });
  }

  function tours(json: unknown): void {
    gateOffers({ 'rel/ptz_tours': '/tours' });
    service.on('GET', '/tours', { json });
  }

  function told(...replies: Reply[]): void {
    for (const path of ['/go', '/other', '/start', '/stop']) {
      service.on('POST', path, ...(replies.length === 0 ? [{ status: 204 }] : replies));
    }
  }

  /** Method, path and body of what is no GET and no login. */
  function commands(): [string, string, unknown][] {
    return service.seen
      .filter(({ method, path }) => method !== 'GET' && path !== '/login')
      .map(({ method, path, body }) => [method, path, body === '' ? undefined : JSON.parse(body)]);
  }

  function paths(): string[] {
    return commands().map(([method, path]) => `${method} ${path}`);
  }

  async function run(command: PtzCommand): Promise<string[]> {
    await station.client().ptz('Gate', command);
    return paths();
  }

  describe('ids and names', () => {
    const presetIds: [string, unknown][] = [
      ['id', 0],
      ['id', 'a-B/c d'],
      ['Id', 3],
      ['index', 0],
      ['index', '00'],
      ['presetId', 0],
      ['PresetId', 12],
      ['number', 0],
      ['Number', '7'],
    ];
    for (const [field, id] of presetIds) {
      it(`T-18 reads the id ${JSON.stringify(id)} of a preset under ${field}, and goes to it`, async () => {
        presets([{ [field]: id, name: 'Door', _links: { 'rel/trigger': '/go' } }]);
        told();
        assert.deepEqual(await station.client().ptzTargets('Gate', 'presets'), [{ id, name: 'Door' }]);
        const target = String(id);
        const accepted = await station.client().ptz('Gate', { action: 'goto-preset', target });
        assert.deepEqual(accepted.target, { id, name: 'Door' });
        assert.deepEqual(paths(), ['POST /go']);
      });
    }

    for (const [field, id] of [
      ['id', 0],
      ['index', 2],
      ['tourId', 0],
      ['TourId', 'x'],
      ['number', 1],
    ] as const) {
      it(`T-18 reads the id ${JSON.stringify(id)} of a tour under ${field}, and starts it`, async () => {
        tours({ tours: [{ [field]: id, _links: { 'rel/start': '/start' } }] });
        told();
        assert.deepEqual(await station.client().ptzTargets('Gate', 'tours'), [{ id, name: '' }]);
        assert.deepEqual(await run({ action: 'start-tour', target: String(id) }), ['POST /start']);
      });
    }

    for (const fields of [{}, { name: null }, { name: '' }]) {
      it(`T-18 lists a preset without a name: ${JSON.stringify(fields)}`, async () => {
        presets([{ id: 4, ...fields }]);
        assert.deepEqual(await station.client().ptzTargets('Gate', 'presets'), [{ id: 4, name: '' }]);
      });
    }

    it('T-18 uses a tour that has a name and no id', async () => {
      tours({
        ptz_patterns: [{ name: 'Round', description: '', _links: { '/vendor/rel/trigger': '/start' } }],
      });
      told();
      const [tour] = await station.client().ptzTargets('Gate', 'tours');
      assert.equal(tour?.name, 'Round');
      assert.deepEqual(await run({ action: 'start-tour', target: 'Round' }), ['POST /start']);
    });

    it('T-18 takes an id before the name of another', async () => {
      presets([
        { id: 5, name: '1', _links: { 'rel/trigger': '/other' } },
        { id: 1, name: 'Door', _links: { 'rel/trigger': '/go' } },
      ]);
      told();
      assert.deepEqual(await run({ action: 'goto-preset', target: '1' }), ['POST /go']);
    });

    it('T-18 does not find a preset that is not there, and says so before anything is sent', async () => {
      presets([{ id: 0, name: 'Door', _links: { 'rel/trigger': '/go' } }]);
      const command = { action: 'goto-preset' as const, target: '00' };
      await failure(station.client().ptz('Gate', command), 'TARGET_NOT_FOUND');
      assert.deepEqual(paths(), []);
    });

    it('T-18 takes an empty list as no presets', async () => {
      presets({ ptz_presets: [], collection_header: { total_items: 0 } });
      assert.deepEqual(await station.client().ptzTargets('Gate', 'presets'), []);
    });
  });

  describe('lists', () => {
    const preset = { id: 0, name: 'Door' };
    const lists: [string, unknown][] = [
      ['a bare array', [preset]],
      ['its own name', { ptz_presets: [preset], collection_header: {} }],
      ['its short name with a capital', { Presets: [preset], MaxId: 0 }],
      ['any one name', { positions: [preset] }],
      ['items', { items: [preset], errors: [] }],
      ['a result', { status: 'success', result: { presets: [preset], maxId: 0 } }],
      ['_embedded', { _embedded: { '/vendor/rel/presets': [preset] } }],
      ['a map from id to preset', { 0: { name: 'Door' } }],
    ];
    for (const [name, json] of lists) {
      it(`T-10 T-18 are read from ${name}`, async () => {
        presets(json);
        const targets = await station.client().ptzTargets('Gate', 'presets');
        assert.deepEqual(
          targets.map(({ id, name }) => [String(id), name]),
          [['0', 'Door']],
        );
      });
    }

    it('T-11 T-18 are read over all pages', async () => {
      presets({ ptz_presets: [{ id: 0 }], collection_header: { _links: { next: '?page=2' } } });
      service.on('GET', '/presets?page=2', { json: { ptz_presets: [{ id: 1 }] } });
      const targets = await station.client().ptzTargets('Gate', 'presets');
      assert.deepEqual(
        targets.map(({ id }) => id),
        [0, 1],
      );
    });
  });

  describe('places of the links', () => {
    const list: Reply = { json: [{ id: 0, name: 'Door' }] };

    it('T-15 T-18 are the data sources resource itself', async () => {
      presets([{ id: 0 }]);
      assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    it('T-15 T-18 are an element of the data sources', async () => {
      const data_sources = [
        { type: 'audio', _links: {} },
        { type: 'video', _links: { 'rel/ptz_presets': '/presets' } },
      ];
      service.on('GET', '/sources/Gate', { json: { data_sources } });
      service.on('GET', '/presets', list);
      assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    it('T-15 T-18 are the device', async () => {
      service.devices = [camera('gate', 'Gate', { _links: { 'rel/presets': '/presets' } })];
      service.on('GET', '/presets', list);
      assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    for (const relation of ['rel/ptz_controller', '/vendor/rel/ptz']) {
      it(`T-15 T-18 are a controller behind ${relation}, relative to it`, async () => {
        gateOffers({ [relation]: '/ptz/controller' });
        service.on('GET', '/ptz/controller', {
          json: { x: 0, _links: { '/vendor/rel/presets': 'presets' } },
        });
        service.on('GET', '/ptz/presets', list);
        assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
      });
    }

    it('T-15 T-18 are a controller that a data source and not the first one has', async () => {
      const data_sources = [{ type: 'video' }, { type: 'ptz', _links: { 'rel/ptz_controller': '/ptz' } }];
      service.on('GET', '/sources/Gate', { json: { data_sources } });
      service.on('GET', '/ptz', { json: { _links: { 'rel/ptz_home': '/home' } } });
      service.on('POST', '/home', { status: 204 });
      assert.deepEqual(await run({ action: 'goto-home' }), ['POST /home']);
    });

    it('T-04 T-18 are missing on a controller where there is no right to them', async () => {
      gateOffers({ 'rel/ptz_controller': '/ptz' });
      service.on('GET', '/ptz', { json: { x: 0, _links: { self: '/ptz' } } });
      const error = await failure(station.client().ptzTargets('Gate', 'tours'), 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', /tours$/);
    });
  });

  describe('names of the links', () => {
    for (const name of ['ptz_presets', 'presets']) {
      it(`T-03 T-18 finds the presets by ${name}`, async () => {
        gateOffers({ [`rel/${name}`]: '/presets' });
        service.on('GET', '/presets', { json: [{ id: 0 }] });
        assert.equal((await station.client().ptzTargets('Gate', 'presets')).length, 1);
      });
    }

    for (const name of ['ptz_tours', 'tours', 'patterns']) {
      it(`T-03 T-18 finds the tours by ${name}`, async () => {
        gateOffers({ [`/vendor/rel/${name}`]: '/tours' });
        service.on('GET', '/tours', { json: [{ id: 0 }] });
        assert.equal((await station.client().ptzTargets('Gate', 'tours')).length, 1);
      });
    }

    for (const name of ['trigger', 'trigger_preset', 'goto']) {
      it(`T-03 T-18 goes to a preset by its ${name}`, async () => {
        presets([{ id: 0, _links: { [`rel/${name}`]: '/go' } }]);
        told();
        assert.deepEqual(await run({ action: 'goto-preset', target: '0' }), ['POST /go']);
      });
    }

    for (const name of ['home', 'ptz_home', 'go_home', 'trigger_home']) {
      it(`T-03 T-18 goes home by ${name}`, async () => {
        gateOffers({ [`rel/${name}`]: '/go' });
        told();
        assert.deepEqual(await run({ action: 'goto-home' }), ['POST /go']);
      });
    }

    for (const name of ['start', 'start_tour', 'trigger']) {
      it(`T-03 T-18 starts a tour by its ${name}`, async () => {
        tours([{ id: 0, _links: { [`rel/${name}`]: '/start' } }]);
        told();
        assert.deepEqual(await run({ action: 'start-tour', target: '0' }), ['POST /start']);
      });
    }

    for (const name of ['stop', 'stop_tour', 'halt']) {
      it(`T-03 T-18 stops a tour by its ${name}`, async () => {
        tours([{ id: 0, _links: { [`rel/${name}`]: '/stop' } }]);
        told();
        assert.deepEqual(await run({ action: 'stop-tour', target: '0' }), ['POST /stop']);
      });
    }
  });

  describe('actions', () => {
    it('T-18 uses the link of the preset before that of the list', async () => {
      const element = { id: 0, _links: { 'rel/goto': '/go' } };
      presets({ presets: [element], _links: { 'rel/trigger_preset': '/other' } });
      told();
      assert.deepEqual(await run({ action: 'goto-preset', target: '0' }), ['POST /go']);
      assert.deepEqual(commands()[0]?.[2], undefined, 'the link says all');
    });

    it('T-18 uses the link of the tour before that of the list', async () => {
      const element = { id: 0, _links: { 'rel/start': '/start', 'rel/stop': '/stop' } };
      tours({ tours: [element], _links: { 'rel/start_tour': '/other', 'rel/halt': '/other' } });
      told();
      await run({ action: 'start-tour', target: '0' });
      assert.deepEqual(await run({ action: 'stop-tour', target: '0' }), ['POST /start', 'POST /stop']);
    });

    for (const id of [0, 7, '0', 'x']) {
      it(`T-18 names the preset ${JSON.stringify(id)} in the body where only the list has the link`, async () => {
        presets({ presets: [{ id }], _links: { 'rel/trigger_preset': '/go' } });
        told();
        await run({ action: 'goto-preset', target: String(id) });
        const body = commands()[0]?.[2];
        assert.ok(typeof body === 'object' && body !== null);
        assert.deepEqual({ ...body, presetId: id }, body);
      });
    }

    it('T-18 sends the number of a preset as a related interface wants it, too', async () => {
      presets({ presets: [{ index: 0 }], _links: { '/vendor/rel/trigger_preset': '/go' } });
      told();
      await run({ action: 'goto-preset', target: '0' });
      const body = commands()[0]?.[2];
      assert.ok(typeof body === 'object' && body !== null);
      assert.deepEqual({ ...body, _type: 'Resource.Integer', value: 0 }, body);
    });

    it('T-18 names the tour in the body where only the list has the links', async () => {
      const links = { 'rel/start_tour': '/start', 'rel/stop_tour': '/stop' };
      tours({ tours: [{ tourId: 0, name: 'Round' }], _links: links });
      told();
      await run({ action: 'start-tour', target: 'Round' });
      await run({ action: 'stop-tour', target: 'Round' });
      const ids = commands().map(([, path, body]) => [path, Object(body).tourId]);
      assert.deepEqual(ids, [
        ['/start', 0],
        ['/stop', 0],
      ]);
    });

    it('T-18 stops without a tour by the link of the list, without a body', async () => {
      tours({ tours: [{ id: 0 }, { id: 1 }], _links: { '/vendor/rel/halt': '/stop' } });
      told();
      assert.deepEqual(await run({ action: 'stop-tour' }), ['POST /stop']);
    });

    it('T-18 stops a named tour by the link of the list that stops whatever runs', async () => {
      tours({ tours: [{ id: 4 }], _links: { '/vendor/rel/halt': '/stop' } });
      told();
      assert.deepEqual(await run({ action: 'stop-tour', target: '4' }), ['POST /stop']);
    });

    it('T-18 stops the only tour where none is named and only it has the link', async () => {
      tours([{ id: 0, _links: { 'rel/stop': '/stop' } }]);
      told();
      assert.deepEqual(await run({ action: 'stop-tour' }), ['POST /stop']);
    });

    it('T-18 stops the tour that was started last where none is named', async () => {
      const tour = (id: number) => ({ id, _links: { 'rel/start': '/start', 'rel/stop': `/stop-${id}` } });
      tours([tour(0), tour(1), tour(2)]);
      told();
      service.on('POST', '/stop-1', { status: 204 });
      const client = station.client();
      await client.ptz('Gate', { action: 'start-tour', target: '1' });
      const { target } = await client.ptz('Gate', { action: 'stop-tour' });
      assert.deepEqual(target, { id: 1, name: '' });
      assert.deepEqual(paths(), ['POST /start', 'POST /stop-1']);
    });

    it('T-18 names the only tour to the link of the list where none is named', async () => {
      tours({ tours: [{ tourId: 0 }], _links: { 'rel/stop_tour': '/stop' } });
      told();
      await run({ action: 'stop-tour' });
      assert.equal(Object(commands()[0]?.[2]).tourId, 0);
    });

    it('T-18 names the tour started last to the link of the list where none is named', async () => {
      const links = { 'rel/start_tour': '/start', 'rel/stop_tour': '/stop' };
      tours({ tours: [{ tourId: 0 }, { tourId: 1 }], _links: links });
      told();
      const client = station.client();
      await client.ptz('Gate', { action: 'start-tour', target: '1' });
      await client.ptz('Gate', { action: 'stop-tour' });
      assert.equal(Object(commands()[1]?.[2]).tourId, 1);
    });

    it('T-18 stops each tour where it cannot know which one runs, though some that do not run refuse', async () => {
      const tour = (id: number) => ({ id, _links: { 'rel/stop': `/stop-${id}` } });
      tours([tour(0), tour(1), tour(2)]);
      service.on('POST', '/stop-0', { status: 409, json: { message: 'not running' } });
      service.on('POST', '/stop-1', { status: 204 });
      service.on('POST', '/stop-2', { status: 400 });
      assert.deepEqual(await run({ action: 'stop-tour' }), ['POST /stop-0', 'POST /stop-1', 'POST /stop-2']);
    });

    it('T-18 fails to stop where each tour refuses', async () => {
      tours([0, 1].map((id) => ({ id, _links: { 'rel/stop': `/stop-${id}` } })));
      for (const id of [0, 1])
        service.on('POST', `/stop-${id}`, { status: 400, json: { message: `no ${id}` } });
      const error = await failure(station.client().ptz('Gate', { action: 'stop-tour' }), 'HTTP_ERROR');
      assert.equal(error.cause.serverMessage, 'no 0');
    });

    it('T-18 goes to the preset that is marked as home where no link says home', async () => {
      presets([
        { presetId: 0, isHome: false, _links: { 'rel/trigger': '/other' } },
        { presetId: 1, isHome: true, _links: { 'rel/trigger': '/go' } },
      ]);
      told();
      assert.deepEqual(await run({ action: 'goto-home' }), ['POST /go']);
    });

    const replies: [string, Reply][] = [
      ['200 with JSON', { status: 200, json: { status: 'success' } }],
      ['200 without a body', { status: 200 }],
      ['200 with a text', { status: 200, text: 'OK' }],
      ['201 with an address', { status: 201, headers: { Location: '/moves/1' } }],
      ['202 without a body', { status: 202 }],
      ['202 with JSON', { status: 202, json: null }],
      ['204', { status: 204 }],
    ];
    for (const [name, reply] of replies) {
      it(`T-18 takes a command as accepted that is answered with ${name}`, async () => {
        presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
        told(reply);
        const accepted = await station.client().ptz('Gate', { action: 'goto-preset', target: '0' });
        assert.equal(accepted.accepted, true);
        assert.deepEqual(paths(), ['POST /go']);
      });
    }

    it('T-18 sends a command by PUT where POST is not allowed', async () => {
      presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
      service.on('POST', '/go', { status: 405, headers: { Allow: 'PUT, OPTIONS' } });
      service.on('PUT', '/go', { status: 200 });
      const client = station.client();
      await client.ptz('Gate', { action: 'goto-preset', target: '0' });
      assert.deepEqual(paths(), ['POST /go', 'PUT /go']);
    });

    it('T-18 fails where neither POST nor PUT is allowed, each tried once', async () => {
      presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
      service.on('POST', '/go', { status: 405 });
      service.on('PUT', '/go', { status: 405 });
      const command = { action: 'goto-preset' as const, target: '0' };
      const error = await failure(station.client().ptz('Gate', command), 'HTTP_ERROR');
      assert.equal(error.cause.status, 405);
      assert.deepEqual(paths(), ['POST /go', 'PUT /go']);
    });

    for (const [status, code] of [
      [403, 'CameraInUse'],
      [403, 'CameraLocked'],
      [403, 'NeedOverride'],
      [409, 'ResourceLocked'],
      [423, undefined],
    ] as const) {
      it(`T-20 calls a camera busy that answers ${status}${code === undefined ? '' : ` with ${code}`}, and logs in no more for it`, async () => {
        presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
        told({ status, json: { _type: 'Error', code, message: 'held' } });
        const command = { action: 'goto-preset' as const, target: '0' };
        const error = await failure(station.client().ptz('Gate', command), 'CAMERA_BUSY');
        assert.equal(error.cause.serverMessage, 'held');
        assert.deepEqual([paths(), service.count('POST', '/login')], [['POST /go'], 1]);
      });
    }
  });
});
