import assert from 'node:assert/strict';
import { cpuSeconds } from '../support/time/event-loop';
import { camera, GATE, type Reply } from '../support/service/scripted-service';
import { eventually } from '../support/time/patience';
import {
  EVENT_OF_YARD,
  failure,
  PATIENT,
  rtspForEvent,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../support/service/scripted-station';

const NO_REMOTE_ID = { cameraId: GATE, eventStartTime: '2026-11-21T10:00:00' };

describe('trouble with one camera', () => {
  const station = stationOfEachTest();
  const { service } = station;

  function withDetails(reply: Reply, more: Record<string, unknown> = {}): void {
    const links = { 'rel/data_sources': '/sources/Gate', 'rel/self': '/details' };
    service.devices = [camera(GATE, 'Gate', { _links: links, ...more })];
    service.on('GET', '/details', reply);
  }

  const UNUSABLE: [what: string, reply: Reply][] = [
    ['429 for an hour', { status: 429, headers: { 'Retry-After': '3600' } }],
    ['503', { status: 503 }],
    ['silence', 'silence'],
    ['a reset', 'reset'],
    ['another origin', { status: 302, headers: { Location: 'http://foreign.example/' } }],
  ];
  for (const [what, reply] of UNUSABLE) {
    it(`its own resource is a hint: with ${what} the video of an event is asked for by the id of the device`, async () => {
      withDetails(reply);
      const client = station.client({ timeoutMs: SHORT_TIMEOUT });
      assert.equal((await rtspForEvent(client, NO_REMOTE_ID)).cameraRemoteId, GATE);
    });

    it(`its own resource is a hint: with ${what} a camera that is listed as offline is DEVICE_OFFLINE`, async () => {
      withDetails(reply, { status: 'offline' });
      const client = station.client({ timeoutMs: SHORT_TIMEOUT });
      await failure(rtspForEvent(client, NO_REMOTE_ID), 'DEVICE_OFFLINE');
    });
  }

  it('its own resource that fails is not asked for with each message', async () => {
    withDetails({ status: 503 });
    const client = station.client();
    for (let turn = 0; turn < 3; turn += 1) await rtspForEvent(client, NO_REMOTE_ID);
    assert.equal(service.count('GET', '/details'), 1);
  });

  it('a 429 for it keeps no other camera from its video', async () => {
    service.on('POST', '/rtsp/Yard', { status: 429, headers: { 'Retry-After': '86400' } });
    const client = station.client();
    await failure(rtspForEvent(client, EVENT_OF_YARD), 'RATE_LIMITED');
    await failure(rtspForEvent(client, EVENT_OF_YARD), 'RATE_LIMITED');
    await rtspForEvent(client);
    assert.equal(service.count('POST', '/rtsp/Yard'), 1);
  });

  it('a date in its Retry-After is measured by the clock of the service', async () => {
    const later = new Date(Date.now() + 30 * 60_000);
    const headers = {
      Date: later.toUTCString(),
      'Retry-After': new Date(Number(later) + 1_000).toUTCString(),
    };
    service.on('GET', '/devices', { status: 429, headers }, service.usual);
    assert.equal((await station.client({}, PATIENT).listDevices()).length, 2);
  });

  it('a multipart answer with a hostile boundary holds nobody up', async () => {
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/picture' } } });
    const type = `multipart/mixed; boundary=${' '.repeat(7_000)}"x"y`;
    service.on('GET', '/picture', { text: '--a', headers: { 'Content-Type': type } });
    const client = await station.connected();
    assert.ok((await cpuSeconds(() => failure(client.snapshot('Gate'), 'BAD_RESPONSE'))) < 5);
  });

  it('a very long name of it gives a file name that a disk can take', async () => {
    service.devices = [camera(GATE, '門'.repeat(200))];
    service.on('GET', `/sources/${encodeURI('門'.repeat(200))}`, {
      json: { _links: { 'rel/snapshot': '/picture' } },
    });
    service.on('GET', '/picture', {
      json: { image: Buffer.from([0xff, 0xd8, 0xff, 0xd9]).toString('base64') },
    });
    const { filename } = await station.client().snapshot(GATE);
    assert.ok(Buffer.byteLength(filename) < 200, filename);
    assert.match(filename, /^camera-\d{8}T\d{6}Z\.jpg$/);
  });

  it('a background refresh that fails is told, and so is the end of it', async () => {
    const client = station.client({ deviceRefreshMs: 20 });
    const heard: (string | undefined)[] = [];
    client.onRefresh((error) => heard.push(error?.code));
    await client.listDevices();
    service.on('GET', '/devices', { status: 500 });
    await eventually(() => heard.includes('HTTP_ERROR'), 'the failure');
    assert.equal((await client.listDevices()).length, 2);
    service.on('GET', '/devices', service.usual);
    await eventually(() => heard.at(-1) === undefined, 'a refresh that works');
  });

  it('the cookie that its answer repeats and replaces is not told', async () => {
    service.on('POST', '/rtsp/Gate', (request) => ({
      status: 400,
      headers: { 'Set-Cookie': 'sid=another; Path=/' },
      json: { message: `bad cookie ${request.headers.cookie}` },
    }));
    const error = await failure(rtspForEvent(station.client()), 'HTTP_ERROR');
    assert.equal(error.cause.serverMessage, '***');
  });

  it('a payload that JSON cannot write is BAD_INPUT, and headers of the transfer stay out of the answer', async () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    const client = station.client();
    for (const body of [circle, 10n, () => 1]) {
      const wanted = { start: 'url', url: '/anything', rels: [], method: 'POST', body } as const;
      await failure(client.request(wanted), 'BAD_INPUT');
    }
    const { headers } = await client.request({ start: 'system', rels: [], method: 'GET' });
    for (const name of ['content-length', 'transfer-encoding', 'connection', 'date']) {
      assert.equal(headers[name], undefined, name);
    }
  });
});
