import assert from 'node:assert/strict';
import { camera, type Reply } from '../../support/service/scripted-service';
import { failure } from '../../support/service/scripted-station';
import { PtzBench } from './ptz-bench';

describe('presets and tours of any service', () => {
  let bench: PtzBench;

  beforeEach(async () => {
    bench = await PtzBench.start();
  });
  afterEach(() => bench.station.close());

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
        bench.presets([{ [field]: id, name: 'Door', _links: { 'rel/trigger': '/go' } }]);
        bench.answer();
        assert.deepEqual(await bench.station.client().ptzTargets('Gate', 'presets'), [{ id, name: 'Door' }]);
        const target = String(id);
        const accepted = await bench.station.client().ptz('Gate', { action: 'goto-preset', target });
        assert.deepEqual(accepted.target, { id, name: 'Door' });
        assert.deepEqual(bench.paths, ['POST /go']);
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
        bench.tours({ tours: [{ [field]: id, _links: { 'rel/start': '/start' } }] });
        bench.answer();
        assert.deepEqual(await bench.station.client().ptzTargets('Gate', 'tours'), [{ id, name: '' }]);
        assert.deepEqual(await bench.run({ action: 'start-tour', target: String(id) }), ['POST /start']);
      });
    }

    for (const fields of [{}, { name: null }, { name: '' }]) {
      it(`T-18 lists a preset without a name: ${JSON.stringify(fields)}`, async () => {
        bench.presets([{ id: 4, ...fields }]);
        assert.deepEqual(await bench.station.client().ptzTargets('Gate', 'presets'), [{ id: 4, name: '' }]);
      });
    }

    it('T-18 uses a tour that has a name and no id', async () => {
      bench.tours({
        ptz_patterns: [{ name: 'Round', description: '', _links: { '/vendor/rel/trigger': '/start' } }],
      });
      bench.answer();
      const [tour] = await bench.station.client().ptzTargets('Gate', 'tours');
      assert.equal(tour?.name, 'Round');
      assert.deepEqual(await bench.run({ action: 'start-tour', target: 'Round' }), ['POST /start']);
    });

    it('T-18 takes an id before the name of another', async () => {
      bench.presets([
        { id: 5, name: '1', _links: { 'rel/trigger': '/other' } },
        { id: 1, name: 'Door', _links: { 'rel/trigger': '/go' } },
      ]);
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'goto-preset', target: '1' }), ['POST /go']);
    });

    it('T-18 does not find a preset that is not there, and says so before anything is sent', async () => {
      bench.presets([{ id: 0, name: 'Door', _links: { 'rel/trigger': '/go' } }]);
      const command = { action: 'goto-preset' as const, target: '00' };
      await failure(bench.station.client().ptz('Gate', command), 'TARGET_NOT_FOUND');
      assert.deepEqual(bench.paths, []);
    });

    it('T-18 takes an empty list as no presets', async () => {
      bench.presets({ ptz_presets: [], collection_header: { total_items: 0 } });
      assert.deepEqual(await bench.station.client().ptzTargets('Gate', 'presets'), []);
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
        bench.presets(json);
        const targets = await bench.station.client().ptzTargets('Gate', 'presets');
        assert.deepEqual(
          targets.map(({ id, name }) => [String(id), name]),
          [['0', 'Door']],
        );
      });
    }

    it('T-11 T-18 are read over all pages', async () => {
      bench.presets({ ptz_presets: [{ id: 0 }], collection_header: { _links: { next: '?page=2' } } });
      bench.service.on('GET', '/presets?page=2', { json: { ptz_presets: [{ id: 1 }] } });
      const targets = await bench.station.client().ptzTargets('Gate', 'presets');
      assert.deepEqual(
        targets.map(({ id }) => id),
        [0, 1],
      );
    });
  });

  describe('places of the links', () => {
    const list: Reply = { json: [{ id: 0, name: 'Door' }] };

    it('T-15 T-18 are the data sources resource itself', async () => {
      bench.presets([{ id: 0 }]);
      assert.equal((await bench.station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    it('T-15 T-18 are an element of the data sources', async () => {
      const data_sources = [
        { type: 'audio', _links: {} },
        { type: 'video', _links: { 'rel/ptz_presets': '/presets' } },
      ];
      bench.service.on('GET', '/sources/Gate', { json: { data_sources } });
      bench.service.on('GET', '/presets', list);
      assert.equal((await bench.station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    it('T-15 T-18 are the device', async () => {
      bench.service.devices = [camera('gate', 'Gate', { _links: { 'rel/presets': '/presets' } })];
      bench.service.on('GET', '/presets', list);
      assert.equal((await bench.station.client().ptzTargets('Gate', 'presets')).length, 1);
    });

    for (const relation of ['rel/ptz_controller', '/vendor/rel/ptz']) {
      it(`T-15 T-18 are a controller behind ${relation}, relative to it`, async () => {
        bench.gateOffers({ [relation]: '/ptz/controller' });
        bench.service.on('GET', '/ptz/controller', {
          json: { x: 0, _links: { '/vendor/rel/presets': 'presets' } },
        });
        bench.service.on('GET', '/ptz/presets', list);
        assert.equal((await bench.station.client().ptzTargets('Gate', 'presets')).length, 1);
      });
    }

    it('T-15 T-18 are a controller that a data source and not the first one has', async () => {
      const data_sources = [{ type: 'video' }, { type: 'ptz', _links: { 'rel/ptz_controller': '/ptz' } }];
      bench.service.on('GET', '/sources/Gate', { json: { data_sources } });
      bench.service.on('GET', '/ptz', { json: { _links: { 'rel/ptz_home': '/home' } } });
      bench.service.on('POST', '/home', { status: 204 });
      assert.deepEqual(await bench.run({ action: 'goto-home' }), ['POST /home']);
    });

    it('T-04 T-18 are missing on a controller where there is no right to them', async () => {
      bench.gateOffers({ 'rel/ptz_controller': '/ptz' });
      bench.service.on('GET', '/ptz', { json: { x: 0, _links: { self: '/ptz' } } });
      const error = await failure(bench.station.client().ptzTargets('Gate', 'tours'), 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', /tours$/);
    });
  });
});
