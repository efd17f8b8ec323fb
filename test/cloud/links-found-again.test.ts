import assert from 'node:assert/strict';
import { camera, GATE } from '../support/service/scripted-service';
import { failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

const SOURCES = { start: 'data-sources', camera: GATE, rels: ['rel/picture'], method: 'GET' } as const;

describe('links that are gone', () => {
  const station = stationOfEachTest();
  const { service } = station;

  function move(): void {
    service.devices = [camera(GATE, 'Gate, moved', { _links: { 'rel/data_sources': '/moved/Gate' } })];
    service.on('GET', '/sources/Gate', { status: 410 });
    service.on('POST', '/rtsp/Gate', { status: 410 });
    service.on('GET', '/moved/Gate', {
      json: { _links: { 'rel/rtsp': '/rtsp/moved', 'rel/picture': '/picture/moved' } },
    });
    service.on('GET', '/picture/moved', { json: { moved: true } });
  }

  it('T-21 with 410 are found again as those with 404 are', async () => {
    const client = await station.warm();
    move();
    const { device } = await rtspForEvent(client);
    assert.deepEqual(device, { id: GATE, name: 'Gate, moved', status: 'online' });
    assert.equal(service.count('POST', '/rtsp/Gate'), 2);
    assert.equal(service.count('POST', '/rtsp/moved'), 1);
  });

  it('T-21 are found again although an unknown camera has just caused a refresh', async () => {
    const client = await station.warm();
    await failure(client.getDevice('nobody at all'), 'DEVICE_NOT_FOUND');
    move();
    await rtspForEvent(client);
    assert.equal(service.count('GET', '/devices'), 3);
  });

  it('T-21 cause one refresh in a while where they stay gone', async () => {
    const client = await station.warm();
    service.on('POST', '/rtsp/Gate', { status: 404 });
    for (let turn = 0; turn < 4; turn += 1) await failure(rtspForEvent(client), 'HTTP_ERROR');
    assert.equal(service.count('GET', '/devices'), 2);
  });

  it('T-21 are found again by a free request at the data sources, too', async () => {
    const client = station.client();
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/picture': '/picture/old' } } });
    service.on('GET', '/picture/old', { json: {} });
    await client.request(SOURCES);
    service.on('GET', '/picture/old', { status: 404 });
    move();
    assert.deepEqual((await client.request(SOURCES)).payload, { moved: true });
  });

  it('T-21 are looked for at once where the list is older than the session', async () => {
    const client = await station.warm();
    service.on('POST', '/rtsp/Gate', { status: 404 }, service.usual);
    await failure(rtspForEvent(client), 'HTTP_ERROR');
    service.sessions.clear();
    await rtspForEvent(client);
    move();
    await rtspForEvent(client);
    assert.equal(service.count('POST', '/rtsp/moved'), 1);
  });
});
