import assert from 'node:assert/strict';
import type { PtzCommand, PtzTarget } from '../../../lib/cloud/calls';
import { camera, GATE, type Reply } from '../../support/service/scripted-service';
import { failure, NO_RELATIONS, stationOfEachTest } from '../../support/service/scripted-station';

const TO_0: PtzCommand = { action: 'goto-preset', target: '0' };
const START_0: PtzCommand = { action: 'start-tour', target: '0' };
const STOP_0: PtzCommand = { action: 'stop-tour', target: '0' };
const STOP: PtzCommand = { action: 'stop-tour' };
const HOME: PtzCommand = { action: 'goto-home' };

describe('presets and tours of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  function gateOffers(links: Record<string, unknown>): void {
    service.on('GET', '/sources/Gate', { json: { _links: links } });
  }

  /** What the camera Gate has, and links of its own beside. */
  function presets(json: unknown, more: Record<string, unknown> = {}): void {
    gateOffers({ 'rel/ptz_presets': '/presets', ...more });
    service.on('GET', '/presets', { json });
  }

  function tours(json: unknown): void {
    gateOffers({ 'rel/ptz_tours': '/tours' });
    service.on('GET', '/tours', { json });
  }

  /** One preset, or tour, with these links. */
  const one = (links: Record<string, unknown>, more: object = {}): object[] => [
    { id: 0, ...more, _links: links },
  ];

  const listed = (list: 'presets' | 'tours'): Promise<readonly PtzTarget[]> =>
    station.client().ptzTargets('Gate', list);

  /** Sends commands to a service that answers all of them like this. @returns method, path and body of what is no GET */
  async function told(commands: readonly PtzCommand[], reply: Reply = { status: 204 }, own = {}) {
    for (const path of ['/go', '/other', '/start', '/stop']) service.on('POST', path, reply);
    for (const command of commands)
      await station.client({ relations: { ...NO_RELATIONS, ...own } }).ptz('Gate', command);
    return sent();
  }

  const sent = () =>
    service.seen
      .filter(({ method, path }) => method !== 'GET' && path !== '/login')
      .map(({ method, path, body }) => [`${method} ${path}`, body === '' ? undefined : JSON.parse(body)]);

  /** The same without the bodies. */
  const paths = async (...commands: PtzCommand[]): Promise<string[]> =>
    (await told(commands)).map(([path]) => String(path));

  describe('lists', () => {
    for (const [list, name] of [
      ['presets', 'rel/ptz_presets'],
      ['presets', 'rel/presets'],
      ['tours', '/vendor/rel/ptz_tours'],
      ['tours', '/vendor/rel/tours'],
      ['tours', '/vendor/rel/patterns'],
    ] as const) {
      it(`T-03 T-18 are found by ${name}`, async () => {
        gateOffers({ [name]: '/list' });
        service.on('GET', '/list', { json: [{ id: 0 }] });
        assert.deepEqual(await listed(list), [{ id: 0, name: '' }]);
      });
    }

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
        assert.deepEqual(await listed('presets'), [{ id, name: 'Door' }]);
        assert.deepEqual(await paths({ action: 'goto-preset', target: String(id) }), ['POST /go']);
      });
    }

    const tourIds: [string, unknown][] = [
      ['id', 0],
      ['index', 2],
      ['tourId', 0],
      ['TourId', 'x'],
      ['number', 1],
    ];
    for (const [field, id] of tourIds) {
      it(`T-18 reads the id ${JSON.stringify(id)} of a tour under ${field}, and starts it`, async () => {
        tours({ tours: [{ [field]: id, _links: { 'rel/start': '/start' } }] });
        assert.deepEqual(await listed('tours'), [{ id, name: '' }]);
        assert.deepEqual(await paths({ action: 'start-tour', target: String(id) }), ['POST /start']);
      });
    }

    const door = { id: 0, name: 'Door' };
    const lists: [string, unknown][] = [
      ['a bare array', [door]],
      ['its own name', { ptz_presets: [door], collection_header: {} }],
      ['its short name with a capital', { Presets: [door], MaxId: 0 }],
      ['any one name', { positions: [door] }],
      ['items', { items: [door], errors: [] }],
      ['a result', { status: 'success', result: { presets: [door], maxId: 0 } }],
      ['_embedded', { _embedded: { '/vendor/rel/presets': [door] } }],
      ['a map from id to preset', { 0: { name: 'Door' } }],
    ];
    for (const [name, json] of lists) {
      it(`T-10 T-18 are read from ${name}`, async () => {
        presets(json);
        const told = (await listed('presets')).map(({ id, name }) => `${id} ${name}`);
        assert.deepEqual(told, ['0 Door']);
      });
    }

    for (const fields of [{}, { name: null }, { name: '' }]) {
      it(`T-18 have a preset without a name: ${JSON.stringify(fields)}`, async () => {
        presets([{ id: 4, ...fields }]);
        assert.deepEqual(await listed('presets'), [{ id: 4, name: '' }]);
      });
    }

    it('T-18 may be empty', async () => {
      presets({ ptz_presets: [], collection_header: { total_items: 0 } });
      assert.deepEqual(await listed('presets'), []);
    });

    it('T-11 T-18 are read over all pages', async () => {
      presets({ ptz_presets: [{ id: 0 }], collection_header: { _links: { next: '?page=2' } } });
      service.on('GET', '/presets?page=2', { json: { ptz_presets: [{ id: 1 }] } });
      const ids = (await listed('presets')).map(({ id }) => id);
      assert.deepEqual(ids, [0, 1]);
    });

    it('T-18 may have a tour with a name and no id', async () => {
      const _links = { '/vendor/rel/trigger': '/start' };
      tours({ ptz_patterns: [{ name: 'Round', description: '', _links }] });
      assert.equal((await listed('tours'))[0]?.name, 'Round');
      assert.deepEqual(await paths({ action: 'start-tour', target: 'Round' }), ['POST /start']);
    });

    const _links = { 'rel/presets': '/presets' };
    const places: [string, () => void][] = [
      [
        'an element of the data sources',
        () => service.on('GET', '/sources/Gate', { json: [{ type: 'audio' }, { type: 'video', _links }] }),
      ],
      ['the device', () => (service.devices = [camera('gate', 'Gate', { _links })])],
      ...['rel/ptz_controller', '/vendor/rel/ptz'].map((relation): [string, () => void] => [
        `a controller behind ${relation}, relative to it`,
        () => {
          gateOffers({ [relation]: '/ptz/controller' });
          const json = { x: 0, _links: { '/vendor/rel/presets': '../presets' } };
          service.on('GET', '/ptz/controller', { json });
        },
      ]),
    ];
    for (const [place, offer] of places) {
      it(`T-15 T-18 stand behind a link on ${place}`, async () => {
        offer();
        service.on('GET', '/presets', { json: [door] });
        assert.deepEqual(await listed('presets'), [door]);
      });
    }

    it('T-15 T-18 and commands stand on a controller that a data source and not the first one has', async () => {
      const data_sources = [{ type: 'video' }, { type: 'ptz', _links: { 'rel/ptz_controller': '/ptz' } }];
      service.on('GET', '/sources/Gate', { json: { data_sources } });
      service.on('GET', '/ptz', { json: { _links: { 'rel/ptz_home': '/go' } } });
      assert.deepEqual(await paths(HOME), ['POST /go']);
    });

    it('T-04 T-18 are missing on a controller where there is no right to them', async () => {
      gateOffers({ 'rel/ptz_controller': '/ptz' });
      service.on('GET', '/ptz', { json: { x: 0, _links: { self: '/ptz' } } });
      const error = await failure(listed('tours'), 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', /tours$/);
    });
  });

  describe('commands', () => {
    const names: [command: PtzCommand, path: string, names: string[], offer: (name: string) => void][] = [
      [TO_0, '/go', ['trigger', 'trigger_preset', 'goto'], (name) => presets(one({ [name]: '/go' }))],
      [HOME, '/go', ['home', 'ptz_home', 'go_home', 'trigger_home'], (name) => gateOffers({ [name]: '/go' })],
      [START_0, '/start', ['start', 'start_tour', 'trigger'], (name) => tours(one({ [name]: '/start' }))],
      [STOP_0, '/stop', ['stop', 'stop_tour', 'halt'], (name) => tours(one({ [name]: '/stop' }))],
    ];
    for (const [command, path, relations, offer] of names) {
      for (const relation of relations) {
        it(`T-03 T-18 ${command.action} by rel/${relation}`, async () => {
          offer(`rel/${relation}`);
          assert.deepEqual(await told([command]), [[`POST ${path}`, undefined]]);
        });
      }
    }

    it('T-18 use the link of the preset before that of the list', async () => {
      presets({ presets: one({ 'rel/goto': '/go' }), _links: { 'rel/trigger_preset': '/other' } });
      assert.deepEqual(await told([TO_0]), [['POST /go', undefined]]);
    });

    it('T-18 use the link of the tour before that of the list', async () => {
      const own = one({ 'rel/start': '/start', 'rel/stop': '/stop' });
      tours({ tours: own, _links: { 'rel/start_tour': '/other', 'rel/halt': '/other' } });
      assert.deepEqual(await paths(START_0, STOP_0), ['POST /start', 'POST /stop']);
    });

    for (const id of [0, 7, '0', 'x']) {
      it(`T-18 name the preset ${JSON.stringify(id)} in the body where only the list has the link`, async () => {
        presets({ presets: [{ id }], _links: { 'rel/trigger_preset': '/go' } });
        const commands = await told([{ action: 'goto-preset', target: String(id) }]);
        assert.partialDeepStrictEqual(commands, [['POST /go', { presetId: id }]]);
      });
    }

    it('T-18 send the number of a preset as a related interface wants it, too', async () => {
      presets({ presets: [{ index: 0 }], _links: { '/vendor/rel/trigger_preset': '/go' } });
      const body = { _type: 'Resource.Integer', value: 0 };
      assert.partialDeepStrictEqual(await told([TO_0]), [['POST /go', body]]);
    });

    it('T-18 name the tour in the body where only the list has the links', async () => {
      const links = { 'rel/start_tour': '/start', 'rel/stop_tour': '/stop' };
      tours({ tours: [{ tourId: 0, name: 'Round' }], _links: links });
      const actions = ['start-tour', 'stop-tour'] as const;
      const commands = await told(actions.map((action) => ({ action, target: 'Round' })));
      assert.partialDeepStrictEqual(commands, [
        ['POST /start', { tourId: 0 }],
        ['POST /stop', { tourId: 0 }],
      ]);
    });

    const two = { tours: [{ id: 0 }, { id: 1 }], _links: { '/vendor/rel/halt': '/stop' } };
    const ownStop = one({ 'rel/stop': '/stop' });
    const byNumber = { tours: [{ tourId: 0 }], _links: { 'rel/stop_tour': '/stop' } };
    const stops: [string, unknown, PtzCommand, unknown][] = [
      ['without a tour by the link of the list', two, STOP, undefined],
      ['a named tour by the link of the list that stops whatever runs', two, STOP_0, undefined],
      ['the only tour where none is named and only it has the link', ownStop, STOP, undefined],
      ['the only tour where none is named, and name it to the link of the list', byNumber, STOP, 0],
    ];
    for (const [what, json, command, tourId] of stops) {
      it(`T-18 stop ${what}`, async () => {
        tours(json);
        const commands = (await told([command])).map(([path, body]) => [path, Object(body).tourId]);
        assert.deepEqual(commands, [['POST /stop', tourId]]);
      });
    }

    const eachStops = [0, 1, 2].map((id) => ({ id, _links: { 'rel/stop': `/stop-${id}` } }));

    it('T-18 stop each tour where it cannot be known which one runs, though some that do not run refuse', async () => {
      tours(eachStops);
      service.on('POST', '/stop-0', { status: 409, json: { message: 'not running' } });
      service.on('POST', '/stop-1', { status: 204 });
      service.on('POST', '/stop-2', { status: 400 });
      assert.deepEqual(await paths(STOP), ['POST /stop-0', 'POST /stop-1', 'POST /stop-2']);
    });

    it('T-18 fail to stop where each tour refuses', async () => {
      tours(eachStops);
      for (const id of [0, 1, 2])
        service.on('POST', `/stop-${id}`, { status: 400, json: { message: `no ${id}` } });
      const error = await failure(told([STOP]), 'HTTP_ERROR');
      assert.equal(error.cause.serverMessage, 'no 0');
    });

    it('T-18 go to the preset that is marked as home where no link says home', async () => {
      presets([
        { presetId: 0, isHome: false, _links: { 'rel/trigger': '/other' } },
        { presetId: 1, isHome: true, _links: { 'rel/trigger': '/go' } },
      ]);
      assert.deepEqual(await paths(HOME), ['POST /go']);
    });

    it('T-04 do not say that home is not offered where only the presets could not be asked for', async () => {
      presets([]);
      service.on('GET', '/presets', { status: 500 });
      await failure(told([HOME]), 'HTTP_ERROR');
    });

    it('T-18 take an id before the name of another', async () => {
      presets([
        { id: 5, name: '0', _links: { 'rel/trigger': '/other' } },
        { id: 0, name: 'Door', _links: { 'rel/trigger': '/go' } },
      ]);
      assert.deepEqual(await paths(TO_0), ['POST /go']);
    });

    it('T-18 do not find a preset that is not there, and say so before anything is sent', async () => {
      presets(one({ 'rel/trigger': '/go' }, { name: 'Door' }));
      await failure(told([{ action: 'goto-preset', target: '00' }]), 'TARGET_NOT_FOUND');
      assert.deepEqual(sent(), []);
    });

    it('T-18 are told with the target that they were given, by its id or its name', async () => {
      tours(one({ 'rel/start': '/go' }, { name: 'Round' }));
      service.on('POST', '/go', { status: 202 });
      const told = { action: 'start-tour', cameraId: GATE, target: { id: 0, name: 'Round' }, accepted: true };
      for (const target of ['0', 'Round'])
        assert.deepEqual(await station.client().ptz('Gate', { action: 'start-tour', target }), told);
    });

    describe('by the relations that the settings name', () => {
      const OWN = { gotoPreset: 'rel/self', startTour: 'rel/run', stopTour: 'end' };
      const ownTour = one({ 'rel/run': '/start', 'rel/end': '/stop' }, { name: 'Round' });
      const SELF = { 'rel/self': '/presets' };
      const gone = ['POST /go'];
      const both = ['POST /start', 'POST /stop'];
      const selfIsGo = { presets: one({ 'rel/self': '/go' }), _links: SELF };
      const ofList = { presets: one({ 'rel/self': '/other' }), _links: { 'rel/recall': '/go' } };
      const swapped = one({ 'rel/end': '/start', 'rel/start': '/stop' });
      const recall = { gotoPreset: 'rel/recall' };
      const end = { startTour: 'rel/end' };
      const rows: [what: string, offer: () => void, own: object, commands: PtzCommand[], paths: string[]][] =
        [
          ['go to a preset by its rel/self', () => presets(selfIsGo), OWN, [TO_0], gone],
          ['start and stop a tour', () => tours({ tours: ownTour }), OWN, [START_0, STOP_0], both],
          ['look for those before the known ones', () => tours(swapped), end, [START_0], ['POST /start']],
          ['find them on the list, for all its presets', () => presets(ofList), recall, [TO_0], gone],
        ];
      for (const [what, offer, own, commands, expected] of rows) {
        it(`T-18 ${what}`, async () => {
          offer();
          const sent = (await told(commands, { status: 204 }, own)).map(([path]) => path);
          assert.deepEqual(sent, expected);
        });
      }

      it('T-18 take the rel/self of a list or camera for none of a preset', async () => {
        presets({ presets: one({ 'rel/other': '/go' }), _links: SELF }, SELF);
        await failure(told([TO_0], { status: 204 }, OWN), 'LINK_NOT_OFFERED');
        assert.deepEqual(sent(), []);
      });

      it('T-04 name what the preset does offer', async () => {
        presets(one({ 'rel/self': '/go' }, { name: 'Door' }));
        const { message, cause } = await failure(told([TO_0]), 'LINK_NOT_OFFERED');
        assert.match(message, /^The preset "Door" does not offer rel\/trigger now.* It offers rel\/self\.$/);
        assert.equal(cause.relation, 'rel/trigger');
      });

      it('T-04 name what the tour does offer', async () => {
        tours({ tours: ownTour });
        const { message } = await failure(told([START_0]), 'LINK_NOT_OFFERED');
        assert.match(message, /^The tour "Round" does not offer .* It offers rel\/run, rel\/end\.$/);
      });
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
      it(`T-18 are accepted that are answered with ${name}`, async () => {
        presets(one({ 'rel/trigger': '/go' }));
        service.on('POST', '/go', reply);
        assert.equal((await station.client().ptz('Gate', TO_0)).accepted, true);
        assert.equal(sent().length, 1);
      });
    }

    for (const [what, reply, status] of [
      ['are sent by PUT where POST is not allowed', { status: 200 }, undefined],
      ['fail where neither POST nor PUT is allowed, each tried once', { status: 405 }, 405],
    ] as const) {
      it(`T-18 ${what}`, async () => {
        presets({ presets: [{ id: 7 }], _links: { 'rel/trigger_preset': '/go' } });
        service.on('PUT', '/go', reply);
        const refused = { status: 405, headers: { Allow: 'PUT, OPTIONS' } };
        const telling = told([{ action: 'goto-preset', target: '7' }], refused);
        if (status === undefined) await telling;
        else assert.equal((await failure(telling, 'HTTP_ERROR')).cause.status, status);
        const body = { presetId: 7 };
        assert.partialDeepStrictEqual(sent(), [
          ['POST /go', body],
          ['PUT /go', body],
        ]);
        assert.equal(sent().length, 2);
      });
    }

    for (const [status, code] of [
      [403, 'CameraInUse'],
      [403, 'CameraLocked'],
      [403, 'NeedOverride'],
      [409, 'ResourceLocked'],
      [423, 'no code'],
    ] as const) {
      it(`T-20 are CAMERA_BUSY where ${status} with ${code} comes, with no new login and not sent again`, async () => {
        presets(one({ 'rel/trigger': '/go' }));
        const json = { _type: 'Error', code: status === 423 ? undefined : code, message: 'held' };
        const error = await failure(told([TO_0], { status, json }), 'CAMERA_BUSY');
        assert.equal(error.cause.serverMessage, 'held');
        assert.deepEqual([sent().length, service.count('POST', '/login')], [1, 1]);
      });
    }
  });
});
