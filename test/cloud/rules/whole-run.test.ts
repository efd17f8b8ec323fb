import assert from 'node:assert/strict';
import type { StationClient } from '../../../lib/cloud/station-client';
import { JPEG, type ForeignService } from '../../support/service/foreign/foreign-service';
import { failure, stationOfEachTest } from '../../support/service/scripted-station';
import { FLAVOURS } from './flavours';

const TIME = '2026-11-21T10:00:00.1234567';
const CHOICE = { quality: '', whenOffline: 'fail' as const };

for (const flavour of FLAVOURS) {
  describe(`a whole run at ${flavour.name}`, () => {
    const station = stationOfEachTest();
    const { service } = station;
    let foreign: ForeignService;
    let client: StationClient;

    beforeEach(async () => {
      foreign = flavour.build(service);
      client = station.client(foreign.settings());
    });
    afterEach(async () => {
      const { seen, apiKey } = station.service;
      const withoutKey = seen.filter(({ headers }) => headers['apikey'] !== apiKey);
      assert.deepEqual(withoutKey, [], 'T-08 the API key goes with every request');
    });

    function event() {
      return { cameraId: flavour.eventId, cameraRemoteId: flavour.remoteId, eventStartTime: TIME };
    }

    it('T-01 T-05 T-06 T-09 logs in below a path, by cookies of any name, with a dotted version', async () => {
      await client.listDevices();
      assert.deepEqual(client.state, { kind: 'connected', version: flavour.version });
    });

    it('T-10 T-11 T-12 T-14 lists the cameras of all pages with name, site and status', async () => {
      const devices = await client.listDevices();
      assert.deepEqual(
        devices.map(({ name, status, online }) => [name, status, online]),
        ['Gate', 'Yard', 'Dock'].map((name, place) => [name, ...(flavour.statuses[place] ?? [])]),
      );
      assert.deepEqual([devices[0]?.id, devices[0]?.site], [flavour.id, 'Depot']);
    });

    it('T-02 T-11 keeps the queries of links as they were sent and makes up none', async () => {
      await client.listDevices();
      await client.snapshot('Gate', {});
      const known = JSON.stringify(service.seen.map(({ path }) => decodeURIComponent(path)));
      assert.doesNotMatch(known, /[?&](start|count|page|offset|limit|skip)=/);
      assert.ok(service.seen.every(({ path }) => !path.includes('%25')));
    });

    it('T-05 sends the newest cookies where every answer brings others', async () => {
      for (let turn = 0; turn < 3; turn += 1) await client.listDevices({ fresh: true });
      assert.equal(service.seen.filter(({ path }) => /login|auth/i.test(path)).length, 1);
    });

    it('T-05 serves several requests at once where every answer brings other cookies', async () => {
      await client.listDevices();
      const wanted = { mode: 'event' as const, event: event(), preRoll: 0, ...CHOICE };
      await Promise.all(Array.from({ length: 8 }, () => client.openRtsp(wanted)));
      assert.equal(foreign.told.sessions.length, 8);
    });

    it('T-07 logs in anew where the session is over', async () => {
      await client.listDevices();
      foreign.forgetSessions();
      assert.equal((await client.listDevices({ fresh: true })).length, 3);
    });

    it('T-12 tells the details of a camera', async () => {
      const device = await client.getDevice('Gate');
      const [field, value] = flavour.detail;
      assert.equal(device[field], value);
      assert.deepEqual([device.id, device.name, device.online], [flavour.id, 'Gate', true]);
    });

    it('T-03 T-15 T-16 T-17 opens live video', async () => {
      const session = await client.openRtsp({ mode: 'live', camera: 'Gate', ...CHOICE });
      assert.deepEqual(foreign.told.sessions, [{ cameraId: flavour.remoteId, quality: 'high' }]);
      assert.equal(session.url, flavour.url);
      assert.deepEqual(session.relay, flavour.relay);
    });

    it('T-03 T-15 T-16 T-17 opens the recorded video of a time', async () => {
      const wanted = { mode: 'recorded' as const, camera: flavour.eventId, time: TIME, preRoll: 0 };
      const session = await client.openRtsp({ ...wanted, ...CHOICE, quality: 'low' });
      const body = { cameraId: flavour.remoteId, quality: 'low', t: TIME, search: 'true' };
      assert.deepEqual(foreign.told.sessions, [body]);
      assert.equal(session.url, flavour.url);
    });

    it('T-13 T-17 opens the video of an event, the second one with one request', async () => {
      const wanted = { mode: 'event' as const, event: event(), preRoll: 0, ...CHOICE };
      const cold = await client.openRtsp(wanted);
      const warm = await client.openRtsp(wanted);
      const body = { cameraId: flavour.remoteId, quality: 'high', t: TIME, search: 'true' };
      assert.deepEqual(foreign.told.sessions, [body, body]);
      assert.deepEqual([cold.cameraId, warm.requests], [flavour.id, 1]);
    });

    it('T-13 finds the remote id where the event has none', async () => {
      const { cameraRemoteId: _none, ...others } = event();
      await client.openRtsp({ mode: 'event', event: others, preRoll: 0, ...CHOICE });
      assert.equal(foreign.told.sessions.length, 1);
    });

    it('T-18 lists the presets', async () => {
      assert.deepEqual(await client.ptzTargets('Gate', 'presets'), flavour.presets);
    });

    it('T-18 lists the tours', async () => {
      assert.deepEqual(await client.ptzTargets('Gate', 'tours'), flavour.tours);
    });

    it('T-18 goes to the preset whose id is 0', async () => {
      const accepted = await client.ptz('Gate', { action: 'goto-preset', target: '0' });
      assert.deepEqual(foreign.told.moves, ['preset 0']);
      const target = flavour.presets[0];
      assert.deepEqual(accepted, { action: 'goto-preset', cameraId: flavour.id, target, accepted: true });
    });

    it('T-18 goes to a preset by its name', async () => {
      await client.ptz('Gate', { action: 'goto-preset', target: 'Door' });
      assert.deepEqual(foreign.told.moves, ['preset 0']);
    });

    it('T-18 T-04 goes home, or says that this is not offered', async () => {
      const going = client.ptz('Gate', { action: 'goto-home' });
      if (flavour.home === undefined) {
        const error = await failure(going, 'LINK_NOT_OFFERED');
        assert.match(error.cause.relation ?? '', /home/);
        return;
      }
      assert.equal((await going).target, null);
      assert.deepEqual(foreign.told.moves, [flavour.home]);
    });

    it('T-18 starts a tour', async () => {
      const { target } = await client.ptz('Gate', { action: 'start-tour', target: 'Round' });
      assert.deepEqual(foreign.told.moves, [flavour.start]);
      assert.deepEqual(target, flavour.tours[0]);
    });

    it('T-18 stops a tour that is named', async () => {
      await client.ptz('Gate', { action: 'stop-tour', target: String(flavour.tours[0]?.id) });
      assert.deepEqual(foreign.told.moves, [flavour.stop]);
    });

    it('T-18 stops a tour that is not named', async () => {
      await client.ptz('Gate', { action: 'stop-tour' });
      assert.deepEqual(foreign.told.moves, [flavour.stopAny]);
    });

    it('T-18 T-04 says which link a fixed camera lacks', async () => {
      const error = await failure(client.ptzTargets('Dock', 'presets'), 'LINK_NOT_OFFERED');
      assert.match(error.cause.relation ?? '', /^rel\//);
    });

    it('T-19 takes a snapshot', async () => {
      const { jpeg, cameraId, filename } = await client.snapshot('Gate', {});
      assert.deepEqual(jpeg, JPEG);
      assert.equal(cameraId, flavour.id);
      assert.match(filename, /^[\w.+-]+\.jpe?g$/);
    });

    it('T-02 T-19 adds a width to the query of the link', async () => {
      await client.snapshot('Gate', {});
      await client.snapshot('Gate', { width: 640 });
      const wanted = flavour.pictures.map((query) => String(new URLSearchParams(query)));
      assert.deepEqual(foreign.told.pictures, wanted);
    });

    it('T-03 follows relations freely', async () => {
      const { start, rels } = flavour.toPresets;
      const answer = await client.request({ start, rels, camera: 'Gate', method: 'GET' });
      assert.equal(answer.statusCode, 200);
      assert.match(JSON.stringify(answer.payload), /"Door"/);
    });

    it('T-20 tells what the service says where nothing is', async () => {
      const { pathname } = new URL(String(foreign.settings().baseUrl));
      const url = `${pathname.replace(/\/(system)?$/, '')}/none`;
      const nowhere = client.request({ start: 'url', url, rels: [], method: 'GET' });
      const { status, serverCode, serverMessage } = (await failure(nowhere, 'HTTP_ERROR')).cause;
      assert.equal(status, 404);
      const { serverCode: code, serverMessage: message } = flavour.notFound;
      assert.deepEqual([serverCode, serverMessage], [code, message]);
    });
  });
}
