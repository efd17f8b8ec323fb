import assert from 'node:assert/strict';
import type { Reply } from '../../support/service/scripted-service';
import { failure } from '../../support/service/scripted-station';
import { PtzBench } from './ptz-bench';

describe('PTZ commands to any service', () => {
  let bench: PtzBench;

  beforeEach(async () => {
    bench = await PtzBench.start();
  });
  afterEach(() => bench.station.close());

  describe('names of the links', () => {
    for (const name of ['ptz_presets', 'presets']) {
      it(`T-03 T-18 finds the presets by ${name}`, async () => {
        bench.gateOffers({ [`rel/${name}`]: '/presets' });
        bench.service.on('GET', '/presets', { json: [{ id: 0 }] });
        assert.equal((await bench.station.client().ptzTargets('Gate', 'presets')).length, 1);
      });
    }

    for (const name of ['ptz_tours', 'tours', 'patterns']) {
      it(`T-03 T-18 finds the tours by ${name}`, async () => {
        bench.gateOffers({ [`/vendor/rel/${name}`]: '/tours' });
        bench.service.on('GET', '/tours', { json: [{ id: 0 }] });
        assert.equal((await bench.station.client().ptzTargets('Gate', 'tours')).length, 1);
      });
    }

    for (const name of ['trigger', 'trigger_preset', 'goto']) {
      it(`T-03 T-18 goes to a preset by its ${name}`, async () => {
        bench.presets([{ id: 0, _links: { [`rel/${name}`]: '/go' } }]);
        bench.answer();
        assert.deepEqual(await bench.run({ action: 'goto-preset', target: '0' }), ['POST /go']);
      });
    }

    for (const name of ['home', 'ptz_home', 'go_home', 'trigger_home']) {
      it(`T-03 T-18 goes home by ${name}`, async () => {
        bench.gateOffers({ [`rel/${name}`]: '/go' });
        bench.answer();
        assert.deepEqual(await bench.run({ action: 'goto-home' }), ['POST /go']);
      });
    }

    for (const name of ['start', 'start_tour', 'trigger']) {
      it(`T-03 T-18 starts a tour by its ${name}`, async () => {
        bench.tours([{ id: 0, _links: { [`rel/${name}`]: '/start' } }]);
        bench.answer();
        assert.deepEqual(await bench.run({ action: 'start-tour', target: '0' }), ['POST /start']);
      });
    }

    for (const name of ['stop', 'stop_tour', 'halt']) {
      it(`T-03 T-18 stops a tour by its ${name}`, async () => {
        bench.tours([{ id: 0, _links: { [`rel/${name}`]: '/stop' } }]);
        bench.answer();
        assert.deepEqual(await bench.run({ action: 'stop-tour', target: '0' }), ['POST /stop']);
      });
    }
  });

  describe('actions', () => {
    it('T-18 uses the link of the preset before that of the list', async () => {
      const element = { id: 0, _links: { 'rel/goto': '/go' } };
      bench.presets({ presets: [element], _links: { 'rel/trigger_preset': '/other' } });
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'goto-preset', target: '0' }), ['POST /go']);
      assert.deepEqual(bench.commands[0]?.[2], undefined, 'the link says all');
    });

    it('T-18 uses the link of the tour before that of the list', async () => {
      const element = { id: 0, _links: { 'rel/start': '/start', 'rel/stop': '/stop' } };
      bench.tours({ tours: [element], _links: { 'rel/start_tour': '/other', 'rel/halt': '/other' } });
      bench.answer();
      await bench.run({ action: 'start-tour', target: '0' });
      assert.deepEqual(await bench.run({ action: 'stop-tour', target: '0' }), ['POST /start', 'POST /stop']);
    });

    for (const id of [0, 7, '0', 'x']) {
      it(`T-18 names the preset ${JSON.stringify(id)} in the body where only the list has the link`, async () => {
        bench.presets({ presets: [{ id }], _links: { 'rel/trigger_preset': '/go' } });
        bench.answer();
        await bench.run({ action: 'goto-preset', target: String(id) });
        const body = bench.commands[0]?.[2];
        assert.ok(typeof body === 'object' && body !== null);
        assert.deepEqual({ ...body, presetId: id }, body);
      });
    }

    it('T-18 sends the number of a preset as a related interface wants it, too', async () => {
      bench.presets({ presets: [{ index: 0 }], _links: { '/vendor/rel/trigger_preset': '/go' } });
      bench.answer();
      await bench.run({ action: 'goto-preset', target: '0' });
      const body = bench.commands[0]?.[2];
      assert.ok(typeof body === 'object' && body !== null);
      assert.deepEqual({ ...body, _type: 'Resource.Integer', value: 0 }, body);
    });

    it('T-18 names the tour in the body where only the list has the links', async () => {
      const links = { 'rel/start_tour': '/start', 'rel/stop_tour': '/stop' };
      bench.tours({ tours: [{ tourId: 0, name: 'Round' }], _links: links });
      bench.answer();
      await bench.run({ action: 'start-tour', target: 'Round' });
      await bench.run({ action: 'stop-tour', target: 'Round' });
      const ids = bench.commands.map(([, path, body]) => [path, Object(body).tourId]);
      assert.deepEqual(ids, [
        ['/start', 0],
        ['/stop', 0],
      ]);
    });

    it('T-18 stops without a tour by the link of the list, without a body', async () => {
      bench.tours({ tours: [{ id: 0 }, { id: 1 }], _links: { '/vendor/rel/halt': '/stop' } });
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'stop-tour' }), ['POST /stop']);
    });

    it('T-18 stops a named tour by the link of the list that stops whatever runs', async () => {
      bench.tours({ tours: [{ id: 4 }], _links: { '/vendor/rel/halt': '/stop' } });
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'stop-tour', target: '4' }), ['POST /stop']);
    });

    it('T-18 stops the only tour where none is named and only it has the link', async () => {
      bench.tours([{ id: 0, _links: { 'rel/stop': '/stop' } }]);
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'stop-tour' }), ['POST /stop']);
    });

    it('T-18 names the only tour to the link of the list where none is named', async () => {
      bench.tours({ tours: [{ tourId: 0 }], _links: { 'rel/stop_tour': '/stop' } });
      bench.answer();
      await bench.run({ action: 'stop-tour' });
      assert.equal(Object(bench.commands[0]?.[2]).tourId, 0);
    });

    it('T-18 stops each tour where it cannot know which one runs, though some that do not run refuse', async () => {
      const tour = (id: number) => ({ id, _links: { 'rel/stop': `/stop-${id}` } });
      bench.tours([tour(0), tour(1), tour(2)]);
      bench.service.on('POST', '/stop-0', { status: 409, json: { message: 'not running' } });
      bench.service.on('POST', '/stop-1', { status: 204 });
      bench.service.on('POST', '/stop-2', { status: 400 });
      assert.deepEqual(await bench.run({ action: 'stop-tour' }), [
        'POST /stop-0',
        'POST /stop-1',
        'POST /stop-2',
      ]);
    });

    it('T-18 fails to stop where each tour refuses', async () => {
      bench.tours([0, 1].map((id) => ({ id, _links: { 'rel/stop': `/stop-${id}` } })));
      for (const id of [0, 1])
        bench.service.on('POST', `/stop-${id}`, { status: 400, json: { message: `no ${id}` } });
      const error = await failure(bench.station.client().ptz('Gate', { action: 'stop-tour' }), 'HTTP_ERROR');
      assert.equal(error.cause.serverMessage, 'no 0');
    });

    it('T-18 goes to the preset that is marked as home where no link says home', async () => {
      bench.presets([
        { presetId: 0, isHome: false, _links: { 'rel/trigger': '/other' } },
        { presetId: 1, isHome: true, _links: { 'rel/trigger': '/go' } },
      ]);
      bench.answer();
      assert.deepEqual(await bench.run({ action: 'goto-home' }), ['POST /go']);
    });

    it('T-04 does not say that home is not offered where only the presets could not be asked for', async () => {
      bench.presets([]);
      bench.service.on('GET', '/presets', { status: 500 });
      await failure(bench.run({ action: 'goto-home' }), 'HTTP_ERROR');
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
        bench.presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
        bench.answer(reply);
        const accepted = await bench.station.client().ptz('Gate', { action: 'goto-preset', target: '0' });
        assert.equal(accepted.accepted, true);
        assert.deepEqual(bench.paths, ['POST /go']);
      });
    }

    it('T-18 sends a command by PUT where POST is not allowed', async () => {
      bench.presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
      bench.service.on('POST', '/go', { status: 405, headers: { Allow: 'PUT, OPTIONS' } });
      bench.service.on('PUT', '/go', { status: 200 });
      const client = bench.station.client();
      await client.ptz('Gate', { action: 'goto-preset', target: '0' });
      assert.deepEqual(bench.paths, ['POST /go', 'PUT /go']);
    });

    it('T-18 fails where neither POST nor PUT is allowed, each tried once', async () => {
      bench.presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
      bench.service.on('POST', '/go', { status: 405 });
      bench.service.on('PUT', '/go', { status: 405 });
      const command = { action: 'goto-preset' as const, target: '0' };
      const error = await failure(bench.station.client().ptz('Gate', command), 'HTTP_ERROR');
      assert.equal(error.cause.status, 405);
      assert.deepEqual(bench.paths, ['POST /go', 'PUT /go']);
    });

    for (const [status, code] of [
      [403, 'CameraInUse'],
      [403, 'CameraLocked'],
      [403, 'NeedOverride'],
      [409, 'ResourceLocked'],
      [423, undefined],
    ] as const) {
      it(`T-20 calls a camera busy that answers ${status}${code === undefined ? '' : ` with ${code}`}, and logs in no more for it`, async () => {
        bench.presets([{ id: 0, _links: { 'rel/trigger': '/go' } }]);
        bench.answer({ status, json: { _type: 'Error', code, message: 'held' } });
        const command = { action: 'goto-preset' as const, target: '0' };
        const error = await failure(bench.station.client().ptz('Gate', command), 'CAMERA_BUSY');
        assert.equal(error.cause.serverMessage, 'held');
        assert.deepEqual([bench.paths, bench.service.count('POST', '/login')], [['POST /go'], 1]);
      });
    }
  });
});
