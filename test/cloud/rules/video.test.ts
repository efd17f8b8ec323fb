import assert from 'node:assert/strict';
import { camera, type Reply, type ScriptedService } from '../../support/service/scripted-service';
import { failure, ScriptedStation } from '../../support/service/scripted-station';

const CHOICE = { quality: '', whenOffline: 'fail' as const };
const LIVE = { mode: 'live' as const, camera: 'Gate', ...CHOICE };
const TIME = '2026-11-21T10:00:00.1234567';

describe('video of any service', () => {
  let station: ScriptedStation;
  let service: ScriptedService;

  beforeEach(async () => {
    station = await ScriptedStation.start();
    service = station.service;
  });
  afterEach(() => station.close());

  function sent(): unknown {
    return JSON.parse(service.last('POST', '/rtsp/Gate')?.body ?? 'null');
  }

  function event(eventStartTime: string) {
    return { cameraId: String(service.devices[0]?.['id']), cameraRemoteId: 'r', eventStartTime };
  }

  describe('from a camera that is not online', () => {
    beforeEach(() => {
      service.devices = [camera('gate', 'Gate', { status: 'connecting', remoteId: 'r' })];
    });

    for (const mode of ['live', 'recorded', 'event'] as const) {
      const wanted = (whenOffline: 'fail' | 'try') => {
        const choice = { quality: '', whenOffline };
        if (mode === 'live') return { mode, camera: 'gate', ...choice };
        if (mode === 'recorded') return { mode, camera: 'gate', time: TIME, preRoll: 0, ...choice };
        return { mode, event: { cameraId: 'gate', eventStartTime: TIME }, preRoll: 0, ...choice };
      };

      it(`T-14 fails with DEVICE_OFFLINE in the mode ${mode}, after the camera was asked for once more`, async () => {
        const client = station.client();
        await client.listDevices();
        await failure(client.openRtsp(wanted('fail')), 'DEVICE_OFFLINE');
        assert.equal(service.count('GET', '/devices'), 2);
        assert.equal(service.count('POST', '/rtsp/Gate'), 0);
      });

      it(`T-14 is asked for all the same in the mode ${mode} where that is wanted`, async () => {
        const { device } = await station.client().openRtsp(wanted('try'));
        assert.equal(device.status, 'connecting');
        assert.equal(service.count('POST', '/rtsp/Gate'), 1);
      });
    }

    it('T-14 comes at once where the directory only learns now that it is online', async () => {
      const client = station.client();
      await client.listDevices();
      service.devices = [camera('gate', 'Gate', { remoteId: 'r' })];
      assert.equal((await client.openRtsp({ ...LIVE, camera: 'gate' })).device.status, 'online');
    });
  });

  it('T-14 fails with DEVICE_NOT_FOUND for a camera of no list, after one refresh', async () => {
    const client = station.client();
    await client.listDevices();
    await failure(client.openRtsp({ ...LIVE, camera: 'nobody' }), 'DEVICE_NOT_FOUND');
    await failure(client.getDevice('nobody'), 'DEVICE_NOT_FOUND');
    await failure(client.snapshot('nobody', {}), 'DEVICE_NOT_FOUND');
    assert.equal(service.count('GET', '/devices'), 2);
  });

  it('T-14 looks for a camera even where trying all the same is wanted', async () => {
    await failure(
      station.client().openRtsp({ ...LIVE, camera: 'nobody', whenOffline: 'try' }),
      'DEVICE_NOT_FOUND',
    );
  });

  it('T-15 finds the link on a data sources resource that is wrapped', async () => {
    const json = { status: 'success', result: { _links: { 'rel/rtsp': '/rtsp/inner' } } };
    service.on('GET', '/sources/Gate', { json });
    await station.client().openRtsp(LIVE);
    assert.equal(service.count('POST', '/rtsp/inner'), 1);
  });

  it('T-15 prefers the data sources resource itself to its elements', async () => {
    const data_sources = [{ type: 'video', _links: { 'rel/rtsp': '/rtsp/element' } }];
    const json = { _links: { 'rel/rtsp': '/rtsp/own' }, data_sources };
    service.on('GET', '/sources/Gate', { json });
    await station.client().openRtsp(LIVE);
    assert.equal(service.count('POST', '/rtsp/own'), 1);
  });

  const answers: [string, Reply, string][] = [
    ['RtspUrl', { json: { RtspUrl: 'rtsp://r.example/1' } }, 'rtsp://r.example/1'],
    [
      'url beside an empty name of its own',
      { json: { rtspRelayURL: null, url: 'rtsp://r.example/1' } },
      'rtsp://r.example/1',
    ],
    [
      'Location of a 201 with a body without a URL',
      { status: 201, json: { id: 7 }, headers: { Location: 'rtsp://r.example/1' } },
      'rtsp://r.example/1',
    ],
    [
      'Location of a 201 with a body that is no JSON',
      { status: 201, text: 'Created', headers: { Location: 'rtsp://r.example/1' } },
      'rtsp://r.example/1',
    ],
  ];
  for (const [kind, reply, url] of answers) {
    it(`T-16 takes the URL from ${kind}`, async () => {
      service.on('POST', '/rtsp/Gate', reply);
      assert.equal((await station.client().openRtsp(LIVE)).url, url);
    });
  }

  const useless: [string, Reply][] = [
    ['no body', { status: 200 }],
    ['a body that is no JSON', { status: 200, text: 'rtsp://r.example/secret' }],
    ['an address of the web', { json: { url: 'https://r.example/secret' } }],
    ['Location of a 200', { status: 200, json: {}, headers: { Location: 'rtsp://r.example/secret' } }],
    ['a list', { json: ['rtsp://r.example/secret'] }],
    ['a URL with white space before it', { json: { url: ' rtsp://r.example/secret' } }],
  ];
  for (const [kind, reply] of useless) {
    it(`T-16 refuses an answer with ${kind}, and repeats none of it`, async () => {
      service.on('POST', '/rtsp/Gate', reply);
      const error = await failure(station.client().openRtsp(LIVE), 'BAD_RESPONSE');
      assert.doesNotMatch(JSON.stringify([error.message, error.cause]), /r\.example|secret/);
    });
  }

  it('T-16 asks for each URL anew', async () => {
    const client = station.client();
    await client.openRtsp(LIVE);
    service.on('POST', '/rtsp/Gate', { json: { url: 'rtsp://relay.example/token-2' } });
    assert.equal((await client.openRtsp(LIVE)).url, 'rtsp://relay.example/token-2');
  });

  it('T-17 leaves out t and search for live video', async () => {
    await station.client().openRtsp({ ...LIVE, quality: 'low' });
    assert.deepEqual(sent(), { cameraId: service.devices[0]?.['id'], quality: 'low' });
  });

  it('T-17 spells live video as t live and search false where the cloud is set so', async () => {
    await station.client({ liveStyle: 'live' }).openRtsp(LIVE);
    const cameraId = service.devices[0]?.['id'];
    assert.deepEqual(sent(), { cameraId, quality: 'high', t: 'live', search: 'false' });
  });

  for (const [quality, expected] of [
    ['', 'high'],
    ['low', 'low'],
    ['Any text, 7', 'Any text, 7'],
  ] as const) {
    it(`T-17 sends the quality "${quality}" as ${expected}`, async () => {
      await station.client().openRtsp({ ...LIVE, quality });
      assert.equal(Object(sent()).quality, expected);
    });
  }

  const shifted: [string, number, string][] = [
    ['2026-11-21T10:00:00.1234567', 0, '2026-11-21T10:00:00.1234567'],
    ['2026-11-21T10:00:00', 5, '2026-11-21T09:59:55'],
    ['2026-11-21T10:00:00.1234567', 5, '2026-11-21T09:59:55.1234567'],
    ['2026-11-21T10:00:00Z', 5, '2026-11-21T09:59:55Z'],
    ['2026-03-01T00:00:01.5+02:00', 3, '2026-02-28T23:59:58.5+02:00'],
    ['20261121T100000.057Z', 10, '20261121T095950.057Z'],
    ['20261121T100000', 1, '20261121T095959'],
    ['2026-11-21T10:00:00.000', 1.5, '2026-11-21T09:59:58.500'],
  ];
  for (const [time, preRoll, t] of shifted) {
    it(`T-17 sends ${time} with a pre-roll of ${preRoll} s as ${t}`, async () => {
      await station.client().openRtsp({ mode: 'event', event: event(time), preRoll, ...CHOICE });
      assert.deepEqual(sent(), { cameraId: 'r', quality: 'high', t, search: 'true' });
    });
  }

  it('T-17 adds the Z to a shifted time, too, where that is switched on', async () => {
    const wanted = { mode: 'event' as const, event: event('2026-11-21T10:00:00'), preRoll: 5, ...CHOICE };
    const { t } = await station.client({ appendZ: true }).openRtsp(wanted);
    assert.equal(t, '2026-11-21T09:59:55Z');
  });

  it('T-17 sends the text of a recorded time unchanged', async () => {
    const wanted = { mode: 'recorded' as const, camera: 'Gate', time: '20261121T100000.057Z', preRoll: 0 };
    await station.client().openRtsp({ ...wanted, ...CHOICE });
    assert.equal(Object(sent()).t, '20261121T100000.057Z');
  });
});
