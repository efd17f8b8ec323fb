import assert from 'node:assert/strict';
import { StationClient, type StationClientOptions } from '../../lib/cloud/station-client';
import type { PtzCommand } from '../../lib/cloud/calls';
import { JPEG } from '../support/service/foreign/foreign-service';
import { ForkedServices, type Access } from '../support/service/forked-services';
import type { PeculiarityName } from '../support/service/peculiarities';
import { STATION_TIMING } from '../../lib/cloud/timing';
import { failure, IMPATIENT, NO_RELATIONS, settingsOf } from '../support/service/scripted-station';

const DOOR: PtzCommand = { action: 'goto-preset', target: 'Door' };

describe('services with peculiarities', () => {
  let services: ForkedServices;
  const clients: StationClient[] = [];

  before(async () => {
    services = await ForkedServices.start();
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
  after(() => services.kill());

  function clientOf(access: Access, options: Partial<StationClientOptions> = {}): StationClient {
    const client = new StationClient(
      { ...settingsOf(access), ...options },
      { ...STATION_TIMING, ...IMPATIENT },
    );
    clients.push(client);
    return client;
  }

  async function clientFor(
    peculiarity: PeculiarityName,
    how = '',
    options: Partial<StationClientOptions> = {},
  ): Promise<StationClient> {
    return clientOf(await services.service(peculiarity, how), options);
  }

  describe('in what a preset or tour is called by', () => {
    const OWN = { gotoPreset: 'rel/self', startTour: 'rel/run', stopTour: 'end' };
    const relations = { ...NO_RELATIONS, ...OWN };

    async function commands(access: Access): Promise<string[]> {
      const paths = await services.paths(access);
      return paths.filter((path) => path.startsWith('POST') && path !== 'POST /login');
    }

    it('T-18 goes to a preset by its rel/self, where the settings name that', async () => {
      const access = await services.service('ownPtzLinks', 'rel/self rel/run rel/end');
      await clientOf(access, { relations }).ptz('Gate', DOOR);
      assert.deepEqual(await commands(access), ['POST /presets/0']);
    });

    it('T-18 starts and stops a tour by the relations that the settings name', async () => {
      const access = await services.service('ownPtzLinks', 'rel/self rel/run rel/end');
      const client = clientOf(access, { relations });
      await client.ptz('Gate', { action: 'start-tour', target: '4' });
      await client.ptz('Gate', { action: 'stop-tour', target: '4' });
      assert.deepEqual(await commands(access), ['POST /tours/4', 'POST /tours/4/end']);
    });

    it('T-18 looks for the relation of the settings before the known ones', async () => {
      const access = await services.service('ownPtzLinks', 'rel/trigger rel/end rel/start');
      const turned = { ...NO_RELATIONS, startTour: 'rel/end' };
      await clientOf(access, { relations: turned }).ptz('Gate', { action: 'start-tour', target: 'Round' });
      assert.deepEqual(await commands(access), ['POST /tours/4']);
    });

    it('T-18 finds it on the list as well, for all its presets', async () => {
      const access = await services.service('ownLinkOfTheList', 'rel/recall');
      const recall = { ...NO_RELATIONS, gotoPreset: 'rel/recall' };
      await clientOf(access, { relations: recall }).ptz('Gate', DOOR);
      assert.deepEqual(await commands(access), ['POST /all']);
    });

    it('T-18 takes the rel/self of a list or camera for none of a preset', async () => {
      const access = await services.service('ownPtzLinks', 'rel/other rel/run rel/end');
      await failure(clientOf(access, { relations }).ptz('Gate', DOOR), 'LINK_NOT_OFFERED');
      assert.deepEqual(await commands(access), []);
    });

    it('T-04 names what the preset does offer', async () => {
      const client = await clientFor('ownPtzLinks', 'rel/self rel/run rel/end');
      const error = await failure(client.ptz('Gate', DOOR), 'LINK_NOT_OFFERED');
      assert.match(
        error.message,
        /^The preset "Door" does not offer rel\/trigger now.* It offers rel\/self\.$/,
      );
      assert.equal(error.cause.relation, 'rel/trigger');
    });

    it('T-04 names what the tour does offer', async () => {
      const client = await clientFor('ownPtzLinks', 'rel/self rel/run rel/end');
      const start: PtzCommand = { action: 'start-tour', target: '4' };
      const error = await failure(client.ptz('Gate', start), 'LINK_NOT_OFFERED');
      assert.match(error.message, /^The tour "Round" does not offer .* It offers rel\/run, rel\/end\.$/);
    });
  });

  describe('in the method that a picture is asked for with', () => {
    const CAMERA = ['GET /camera', 'POST /camera'];

    async function asked(how: string): Promise<string[]> {
      const access = await services.service('picturesByOtherMethod', how);
      assert.deepEqual((await clientOf(access).snapshot('Gate')).jpeg, JPEG);
      return (await services.paths(access)).filter((path) => /camera|picture/.test(path));
    }

    for (const allowed of ['POST', 'HEAD, post', 'PUT,POST']) {
      it(`T-19 takes it by POST where a 405 allows ${allowed}`, async () => {
        assert.deepEqual(await asked(allowed), CAMERA);
      });
    }

    it('T-19 takes it by POST at the place that a redirect leads to', async () => {
      assert.deepEqual(await asked('elsewhere POST'), ['GET /camera', 'GET /picture', 'POST /picture']);
    });

    for (const allowed of ['', 'PUT', 'DELETE, PATCH', 'POSTER']) {
      it(`T-19 asks no more where a 405 allows ${allowed === '' ? 'nothing' : allowed}`, async () => {
        const access = await services.service('picturesByOtherMethod', allowed);
        const error = await failure(clientOf(access).snapshot('Gate'), 'HTTP_ERROR');
        assert.equal(error.cause.status, 405);
        assert.deepEqual(
          (await services.paths(access)).filter((path) => path.includes('camera')),
          [CAMERA[0]],
        );
      });
    }

    for (const status of ['405', '503']) {
      it(`T-19 tries it by POST once, also where that is answered with ${status}`, async () => {
        const access = await services.service('picturesByNoMethod', status);
        const error = await failure(clientOf(access).snapshot('Gate'), 'HTTP_ERROR');
        assert.equal(error.cause.status, Number(status));
        assert.deepEqual(
          (await services.paths(access)).filter((path) => path.includes('camera')),
          CAMERA,
        );
      });
    }
  });

  describe('in how they refuse', () => {
    const OF_THE_KEY = [
      '{"code":"InvalidApiKey","message":"refused"}',
      '{"message":"The API key is not known."}',
      '{"error":{"message":"bad key"}}',
      '{"errors":{"Api-Key":["is not valid"]}}',
      '{"code":"KeyExpired"}',
      'Missing subscription key',
      '<html><head><title>No API key</title></head></html>',
    ];
    for (const body of OF_THE_KEY) {
      it(`T-07 takes 400 with ${body} as API_KEY_REJECTED`, async () => {
        const client = await clientFor('keyRefusedWith400', body);
        const error = await failure(client.listDevices(), 'API_KEY_REJECTED');
        assert.equal(error.cause.status, 400);
        assert.equal(client.state.kind, 'refused');
      });
    }

    const OF_ELSE = [
      '',
      '{"code":"BadRequest","message":"malformed"}',
      'No monkeys, no keyboards',
      '{"error":{"key":"bad_request"}}',
      '<html><body><a accesskey="1" href="/">home</a></body></html>',
    ];
    for (const body of OF_ELSE) {
      it(`T-07 takes 400 with ${body === '' ? 'no body' : body} as HTTP_ERROR`, async () => {
        await failure((await clientFor('keyRefusedWith400', body)).listDevices(), 'HTTP_ERROR');
      });
    }

    for (const status of [400, 401, 402, 403, 404, 405, 409, 410, 415, 418, 422, 423, 451, 499]) {
      it(`T-05 takes a login that is answered with ${status} as LOGIN_FAILED`, async () => {
        const client = await clientFor('loginRefusedWith', String(status));
        const error = await failure(client.listDevices(), 'LOGIN_FAILED');
        assert.deepEqual([error.cause.status, error.cause.serverMessage], [status, 'not like this']);
      });
    }

    for (const [status, code] of [
      [408, 'HTTP_ERROR'],
      [429, 'RATE_LIMITED'],
      [500, 'HTTP_ERROR'],
    ] as const) {
      it(`T-05 takes no login that is answered with ${status} as refused: ${code}`, async () => {
        await failure((await clientFor('loginRefusedWith', String(status))).listDevices(), code);
      });
    }
  });

  describe('in the version that they choose', () => {
    const inside = [
      ['1', '9', '9'],
      ['4.5', '5.11', '5.2'],
      [' 3 ', '3', '3.0'],
    ] as const;
    for (const [versionLow, versionHigh, version] of inside) {
      it(`T-09 finds ${version} within ${versionLow} to ${versionHigh}`, async () => {
        const client = await clientFor('ofVersions', version, { versionLow, versionHigh });
        await client.listDevices();
        assert.equal(client.unaskedVersion, undefined);
      });
    }

    const outside = [
      ['1', '9', '12'],
      ['4.5', '5.2', '5.11'],
      ['2', '3', '1.9'],
    ] as const;
    for (const [versionLow, versionHigh, version] of outside) {
      it(`T-09 goes on with ${version} and tells of it where ${versionLow} to ${versionHigh} was asked for`, async () => {
        const client = await clientFor('ofVersions', version, { versionLow, versionHigh });
        assert.equal(client.unaskedVersion, undefined);
        assert.equal((await client.listDevices()).length, 2);
        assert.equal(client.unaskedVersion, version);
      });
    }
  });
});
