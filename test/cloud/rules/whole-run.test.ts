import assert from 'node:assert/strict';
import type { StationClient } from '../../../lib/cloud/station-client';
import { ChainService } from '../../support/service/foreign/chain-service';
import { JPEG } from '../../support/service/foreign/foreign-service';
import { failure, LIVE, rtspForEvent, stationOfEachTest } from '../../support/service/scripted-station';

const TIME = '2026-11-21T10:00:00.1234567';
/** Id of the camera called Gate, as the service writes it, and as an event may. */
const ID = '{0E9F0C1A-0000-E911-F000-00000000000A}';
const REMOTE_ID = '4xIx1DMwMLSwMDW2tDROTd_-Gate';
const EVENT = { cameraId: ID.slice(1, -1).toLowerCase(), cameraRemoteId: REMOTE_ID, eventStartTime: TIME };
const URL_OF_RELAY = 'rtsps://relay.example/chain?key=a%2Fb';

describe('a whole run at a service of chained links, which shares nothing with the sandbox', () => {
  const station = stationOfEachTest();
  const { service } = station;
  let foreign: ChainService;
  let client: StationClient;

  beforeEach(() => {
    foreign = new ChainService(service);
    client = station.client(foreign.settings());
  });
  afterEach(() => {
    const { seen, apiKey } = service;
    const withoutKey = seen.filter(({ headers }) => headers['apikey'] !== apiKey);
    assert.deepEqual(withoutKey, [], 'T-08 the API key goes with every request');
  });

  it('T-01 T-05 T-06 T-09 logs in below a path, by cookies of any name, with a dotted version', async () => {
    await client.listDevices();
    assert.deepEqual(client.state, { kind: 'connected', version: '5.11' });
  });

  it('T-10 T-11 T-12 T-14 lists the cameras of all pages with name, site and status', async () => {
    const devices = await client.listDevices();
    assert.partialDeepStrictEqual(devices, [
      { id: ID, name: 'Gate', site: 'Depot', status: 'online', online: true },
      { name: 'Yard', status: 'unauthenticated, initializing', online: false },
      { name: 'Dock', status: 'id_inconsistent, Online', online: true },
    ]);
  });

  it('T-02 T-11 keeps the queries of links as they were sent and makes up none', async () => {
    await client.listDevices();
    await client.snapshot('Gate');
    const known = JSON.stringify(service.seen.map(({ path }) => decodeURIComponent(path)));
    assert.doesNotMatch(known, /[?&](start|count|page|offset|limit|skip)=/);
    assert.ok(service.seen.every(({ path }) => !path.includes('%25')));
  });

  it('T-05 sends the newest cookies where every answer brings others', async () => {
    for (let turn = 0; turn < 3; turn += 1) await client.listDevices({ fresh: true });
    assert.equal(service.seen.filter(({ path }) => /login|auth/i.test(path)).length, 1);
  });

  it('T-07 logs in anew where the session is over', async () => {
    await client.listDevices();
    foreign.forgetSessions();
    assert.equal((await client.listDevices({ fresh: true })).length, 3);
  });

  it('T-12 tells the details of a camera', async () => {
    const told = { id: ID, name: 'Gate', online: true, firmware: '7.1' };
    assert.partialDeepStrictEqual(await client.getDevice('Gate'), told);
  });

  it('T-03 T-15 T-16 T-17 opens live video', async () => {
    const session = await client.openRtsp(LIVE);
    assert.deepEqual(foreign.told.sessions, [{ cameraId: REMOTE_ID, quality: 'high' }]);
    assert.equal(session.url, URL_OF_RELAY);
    assert.deepEqual(session.relay, { scheme: 'rtsps', host: 'relay.example', port: 322 });
  });

  it('T-03 T-15 T-16 T-17 opens the recorded video of a time', async () => {
    const wanted = { ...LIVE, mode: 'recorded', time: TIME, preRoll: 0, quality: 'low' } as const;
    const session = await client.openRtsp({ ...wanted, camera: EVENT.cameraId });
    const body = { cameraId: REMOTE_ID, quality: 'low', t: TIME, search: 'true' };
    assert.deepEqual(foreign.told.sessions, [body]);
    assert.equal(session.url, URL_OF_RELAY);
  });

  it('T-13 T-17 opens the video of an event, the second one with one request', async () => {
    const [cold, warm] = [await rtspForEvent(client, EVENT), await rtspForEvent(client, EVENT)];
    const body = { cameraId: REMOTE_ID, quality: 'high', t: TIME, search: 'true' };
    assert.deepEqual(foreign.told.sessions, [body, body]);
    assert.deepEqual([cold.cameraId, warm.requests], [ID, 1]);
  });

  it('T-13 finds the remote id where the event has none', async () => {
    const { cameraRemoteId } = await rtspForEvent(client, { ...EVENT, cameraRemoteId: null });
    assert.equal(cameraRemoteId, REMOTE_ID);
  });

  it('T-18 lists presets and tours, and uses them by id or name', async () => {
    const presets = [
      { id: 0, name: 'Door' },
      { id: 4, name: '' },
    ];
    const tours = [{ id: '2', name: 'Round' }];
    assert.deepEqual(await client.ptzTargets('Gate', 'presets'), presets);
    assert.deepEqual(await client.ptzTargets('Gate', 'tours'), tours);
    for (const [action, named, target, move] of [
      ['goto-preset', '0', presets[0], 'preset 0'],
      ['goto-preset', 'Door', presets[0], 'preset 0'],
      ['start-tour', 'Round', tours[0], 'tour 2 starts'],
      ['stop-tour', '2', tours[0], 'tours stop'],
      ['stop-tour', undefined, null, 'tours stop'],
    ] as const) {
      const accepted = await client.ptz('Gate', { action, ...(named !== undefined && { target: named }) });
      assert.deepEqual(accepted, { action, cameraId: ID, target, accepted: true });
      assert.equal(foreign.told.moves.at(-1), move);
    }
  });

  it('T-18 T-04 says that a home position is not offered', async () => {
    const error = await failure(client.ptz('Gate', { action: 'goto-home' }), 'LINK_NOT_OFFERED');
    assert.match(error.cause.relation ?? '', /home/);
  });

  it('T-18 T-04 says which link a fixed camera lacks', async () => {
    const error = await failure(client.ptzTargets('Dock', 'presets'), 'LINK_NOT_OFFERED');
    assert.match(error.cause.relation ?? '', /^rel\//);
  });

  it('T-19 takes a snapshot', async () => {
    const { jpeg, cameraId, filename } = await client.snapshot('Gate');
    assert.deepEqual(jpeg, JPEG);
    assert.equal(cameraId, ID);
    assert.match(filename, /^[\w.+-]+\.jpe?g$/);
  });

  it('T-02 T-19 adds a width to the query of the link', async () => {
    await client.snapshot('Gate');
    await client.snapshot('Gate', { width: 640 });
    assert.deepEqual(foreign.told.pictures, ['quality=a%2Fb', 'quality=a%2Fb&width=640']);
  });

  it('T-03 follows relations freely', async () => {
    const wanted = { start: 'data-sources', rels: ['rel/ptz_controller', 'presets'] } as const;
    const answer = await client.request({ ...wanted, camera: 'Gate', method: 'GET' });
    assert.equal(answer.statusCode, 200);
    assert.match(JSON.stringify(answer.payload), /"Door"/);
  });

  it('T-20 tells what the service says where nothing is', async () => {
    const nowhere = client.request({ start: 'url', url: '/vms/eu-1/none', rels: [], method: 'GET' });
    const { cause } = await failure(nowhere, 'HTTP_ERROR');
    const told = { status: 404, serverCode: 'NoSuchResource', serverMessage: 'refused as NoSuchResource' };
    assert.partialDeepStrictEqual(cause, told);
  });
});
