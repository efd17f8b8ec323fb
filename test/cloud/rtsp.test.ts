import assert from 'node:assert/strict';
import { camera, type Reply } from '../support/service/scripted-service';
import { failure, rtspForEvent, ScriptedStation } from '../support/service/scripted-station';

const GATE = '0e9f0c1a-0000-e911-8000-000000000001';
const QUALITY = { quality: 'high' };
const EVENT = {
  cameraId: GATE,
  cameraRemoteId: '4xIx1-Remote_Id',
  eventStartTime: '2026-11-21T10:00:00.1234567',
};

describe('RTSP session for the recorded video of an event', () => {
  let station: ScriptedStation;

  beforeEach(async () => {
    station = await ScriptedStation.start();
  });
  afterEach(() => station.close());

  function sent(): unknown {
    return JSON.parse(station.service.last('POST', '/rtsp/Gate')?.body ?? 'null');
  }

  function answerWith(reply: Reply): void {
    station.service.on('POST', '/rtsp/Gate', reply);
  }

  it('T-17 sends remote id, quality, the event’s time unchanged, and search as the text true', async () => {
    await rtspForEvent(station.client(), EVENT, QUALITY);
    assert.deepEqual(sent(), {
      cameraId: '4xIx1-Remote_Id',
      quality: 'high',
      t: '2026-11-21T10:00:00.1234567',
      search: 'true',
    });
  });

  it('gives the URL, where it leads, and what it was asked for with', async () => {
    const { ms, ...session } = await rtspForEvent(station.client({ appendZ: true }), EVENT, {
      quality: 'low',
    });
    assert.ok(ms >= 0);
    assert.deepEqual(session, {
      url: 'rtsp://relay.example:8554/token-1',
      mode: 'event',
      cameraId: GATE,
      cameraRemoteId: '4xIx1-Remote_Id',
      quality: 'low',
      t: '2026-11-21T10:00:00.1234567Z',
      relay: { scheme: 'rtsp', host: 'relay.example', port: 8554 },
      device: { id: GATE, name: 'Gate', status: 'online' },
      requests: 6,
    });
  });

  it('costs one request with warm caches', async () => {
    const client = station.client();
    await rtspForEvent(client, EVENT, QUALITY);
    const before = station.service.seen.length;
    assert.equal((await rtspForEvent(client, EVENT, QUALITY)).requests, 1);
    assert.equal(station.service.seen.length, before + 1);
  });

  const urls: [string, Reply, string][] = [
    [
      'rtspRelayUrl',
      { json: { rtspRelayUrl: 'rtsps://r.example/a?b=c%20d' } },
      'rtsps://r.example/a?b=c%20d',
    ],
    ['RtspRelayURL', { json: { RtspRelayURL: 'rtsp://r.example/a' } }, 'rtsp://r.example/a'],
    ['rtspUrl', { json: { rtspUrl: 'RTSP://r.example/a' } }, 'RTSP://r.example/a'],
    [
      'url in result',
      { json: { status: 'success', result: { url: 'rtsp://r.example/a' } } },
      'rtsp://r.example/a',
    ],
    ['url in data', { json: { data: { url: 'rtsp://[::1]:99/a' } } }, 'rtsp://[::1]:99/a'],
    ['Location of a 201', { status: 201, headers: { Location: 'rtsp://r.example/a' } }, 'rtsp://r.example/a'],
  ];
  for (const [name, reply, url] of urls) {
    it(`T-16 takes the URL from ${name}, unchanged`, async () => {
      answerWith(reply);
      assert.equal((await rtspForEvent(station.client(), EVENT, QUALITY)).url, url);
    });
  }

  const legal: [string, string, { scheme: string; host: string; port: number }][] = [
    [
      'a user, an IPv6 host and a query',
      'rtsp://user:p%40ss@[2001:db8::1]:8554/live/1?token=a%2Fb&x=[1]',
      { scheme: 'rtsp', host: '[2001:db8::1]', port: 8554 },
    ],
    [
      'an @ in path and query',
      'rtsps://user@r.example/a@b?c=@d',
      { scheme: 'rtsps', host: 'r.example', port: 322 },
    ],
    [
      'every legal mark',
      'rtsp://r.example/-._~:@!$&()*+,;=%20?/[]#x',
      { scheme: 'rtsp', host: 'r.example', port: 554 },
    ],
  ];
  for (const [name, rtspRelayURL, relay] of legal) {
    it(`T-16 passes on a URL with ${name}, unchanged`, async () => {
      answerWith({ json: { rtspRelayURL } });
      const session = await rtspForEvent(station.client(), EVENT, QUALITY);
      assert.equal(session.url, rtspRelayURL);
      assert.deepEqual(session.relay, relay);
    });
  }

  it('knows the usual port of rtsps', async () => {
    answerWith({ json: { url: 'rtsps://r.example/a' } });
    const { relay } = await rtspForEvent(station.client(), EVENT, QUALITY);
    assert.deepEqual(relay, { scheme: 'rtsps', host: 'r.example', port: 322 });
  });

  const bad = [
    'http://r.example/a',
    'rtsp:///nohost',
    'rtsp://r.example/a b',
    'rtsp://r.example/"a"',
    "rtsp://r.example/'a'",
    'rtsp://r.example/`id`',
    'rtsp://r.example/a\n',
    'rtsp://r.example/a\u0000',
    'rtsp://r.example/a\u00a0b',
    'rtsp://r.example/ä',
    'rtsp://r.example.ü/a',
    'rtsp://r.example/a\u202eb',
    'rtsp://r.example/\ud83d\ude00',
    'rtsp://r.example\\a',
    'rtsp:\\\\r.example\\a',
    'rtsp://r.example/<a',
    'rtsp://r.example/a>',
    'rtsp://r.example/a|b',
    'rtsp://r.example/a^b',
    'rtsp://r.example/{a',
    'rtsp://r.example/a}',
    'rtsp://user@other@r.example/a',
    'rtsp://user:p@ss@r.example',
    'rtsp://a@b@r.example?c',
    'not a url',
    '',
    7,
    null,
  ];
  for (const rtspRelayURL of bad) {
    it(`T-16 refuses the URL ${JSON.stringify(rtspRelayURL)} and does not repeat it`, async () => {
      answerWith({ json: { rtspRelayURL } });
      const error = await failure(rtspForEvent(station.client(), EVENT, QUALITY), 'BAD_RESPONSE');
      assert.ok(!JSON.stringify([error.message, error.cause]).includes('r.example'));
    });
  }

  it('T-15 finds the link on an element, pictures before sound', async () => {
    const { service } = station;
    service.on('GET', '/sources/Gate', {
      json: {
        data_sources: [
          { type: 'audio', _links: { 'rel/rtsp': '/rtsp/sound' } },
          { type: 'video', _links: { 'rel/rtsp': '/rtsp/pictures' } },
        ],
      },
    });
    await rtspForEvent(station.client(), EVENT, QUALITY);
    assert.equal(service.count('POST', '/rtsp/pictures'), 1);
  });

  it('T-15 finds the link on the device', async () => {
    station.service.devices = [camera(GATE, 'Gate', { _links: { 'rel/rtsp': '/rtsp/own' } })];
    await rtspForEvent(station.client(), EVENT, QUALITY);
    assert.equal(station.service.count('POST', '/rtsp/own'), 1);
  });

  it('T-04 fails with LINK_NOT_OFFERED where a camera offers no video', async () => {
    station.service.on('GET', '/sources/Gate', { json: { _links: {} } });
    const error = await failure(rtspForEvent(station.client(), EVENT, QUALITY), 'LINK_NOT_OFFERED');
    assert.equal(error.cause.relation, 'rel/rtsp');
  });

  it('T-21 asks for the link anew where the cached one is gone', async () => {
    const { service } = station;
    const client = station.client();
    await rtspForEvent(client, EVENT, QUALITY);
    service.on('POST', '/rtsp/Gate', { status: 404 });
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/rtsp': '/rtsp/moved' } } });
    assert.equal((await rtspForEvent(client, EVENT, QUALITY)).requests, 3);
  });

  it('T-21 does not repeat the request where the link is still the same', async () => {
    answerWith({ status: 404, json: { message: 'unknown camera' } });
    const error = await failure(rtspForEvent(station.client(), EVENT, QUALITY), 'HTTP_ERROR');
    assert.equal(error.cause.serverMessage, 'unknown camera');
    assert.equal(station.service.count('POST', '/rtsp/Gate'), 1);
  });

  it('T-21 does not repeat the request after a failure of the service', async () => {
    answerWith({ status: 503 });
    await failure(rtspForEvent(station.client(), EVENT, QUALITY), 'HTTP_ERROR');
    assert.equal(station.service.count('POST', '/rtsp/Gate'), 1);
  });

  it('calls a camera offline that the service cannot reach although it lists it as online', async () => {
    answerWith({ status: 409, json: { code: 'CameraUnavailable', message: 'not online' } });
    const error = await failure(rtspForEvent(station.client(), EVENT, QUALITY), 'DEVICE_OFFLINE');
    assert.equal(error.cause.status, 409);
  });

  describe('remote id', () => {
    const noRemote = { cameraId: GATE, cameraRemoteId: null, eventStartTime: '2026-11-21T10:00:00' };
    const links = { 'rel/self': '/cameras/1', 'rel/data_sources': '/sources/Gate' };

    async function usedFor(event: typeof EVENT | typeof noRemote): Promise<string> {
      return (await rtspForEvent(station.client(), event, QUALITY)).cameraRemoteId;
    }

    for (const field of ['remoteId', 'cameraRemoteId', 'remoteCameraId', 'remote_id']) {
      it(`comes from ${field} of the record where the event has none`, async () => {
        station.service.devices = [camera(GATE, 'Gate', { [field]: 'from-record' })];
        assert.equal(await usedFor(noRemote), 'from-record');
        assert.equal(await usedFor(EVENT), '4xIx1-Remote_Id');
      });
    }

    it('comes from the data sources next', async () => {
      station.service.on('GET', '/sources/Gate', {
        json: {
          _links: {},
          data_sources: [{ remoteId: 'from-source', _links: { 'rel/rtsp': '/rtsp/Gate' } }],
        },
      });
      assert.equal(await usedFor(noRemote), 'from-source');
    });

    it('comes from the details next, asked for once', async () => {
      const { service } = station;
      service.devices = [camera(GATE, 'Gate', { _links: links })];
      service.on('GET', '/cameras/1', { json: { id: GATE, status: 'online', remoteId: 'from-details' } });
      const client = station.client();
      assert.equal((await rtspForEvent(client, noRemote, QUALITY)).cameraRemoteId, 'from-details');
      const again = await rtspForEvent(client, noRemote, QUALITY);
      assert.deepEqual([again.cameraRemoteId, again.requests], ['from-details', 1]);
    });

    it('is the one learned from an earlier event next', async () => {
      const client = station.client();
      assert.equal((await rtspForEvent(client, noRemote, QUALITY)).cameraRemoteId, GATE);
      await rtspForEvent(client, EVENT, QUALITY);
      assert.equal((await rtspForEvent(client, noRemote, QUALITY)).cameraRemoteId, '4xIx1-Remote_Id');
    });

    it('is the device’s own id at last, even where the details fail', async () => {
      station.service.devices = [camera(GATE, 'Gate', { _links: links })];
      station.service.on('GET', '/cameras/1', { status: 500 });
      assert.equal(await usedFor(noRemote), GATE);
    });
  });

  describe('event with only a remote id', () => {
    const only = { cameraRemoteId: 'Remote-1', eventStartTime: '2026-11-21T10:00:00' };

    it('finds the device by its record', async () => {
      station.service.devices.push(camera('x', 'Found', { remoteId: 'Remote-1' }));
      assert.equal((await rtspForEvent(station.client(), only, QUALITY)).device.name, 'Found');
    });

    it('finds the device by an earlier event', async () => {
      const client = station.client();
      await rtspForEvent(client, { ...EVENT, cameraRemoteId: 'Remote-1' }, QUALITY);
      assert.equal((await rtspForEvent(client, only, QUALITY)).requests, 1);
    });

    it('finds the device by its details', async () => {
      const { service } = station;
      service.devices.push(
        camera('x', 'Found', { _links: { self: '/c/x', 'rel/data_sources': '/sources/Found' } }),
      );
      service.on('GET', '/c/x', { json: { id: 'x', remoteId: 'Remote-1' } });
      assert.equal((await rtspForEvent(station.client(), only, QUALITY)).device.name, 'Found');
    });

    it('T-13 compares it case-sensitively', async () => {
      station.service.devices.push(camera('x', 'Found', { remoteId: 'remote-1' }));
      await failure(rtspForEvent(station.client(), only, QUALITY), 'DEVICE_NOT_FOUND');
    });
  });

  it('fails with EVENT_WITHOUT_CAMERA without a request where the event has neither id', async () => {
    const event = { cameraId: null, cameraRemoteId: '', eventStartTime: '2026-11-21T10:00:00' };
    await failure(rtspForEvent(station.client(), event, QUALITY), 'EVENT_WITHOUT_CAMERA');
    assert.equal(station.service.seen.length, 0);
  });

  for (const eventStartTime of [undefined, null, '', 'yesterday at noon', '0001-01-01T00:00:00', 17e11]) {
    it(`fails with BAD_INPUT without a request where the event starts at ${JSON.stringify(eventStartTime)}`, async () => {
      const event: Record<string, unknown> = { cameraId: GATE, eventStartTime };
      await failure(rtspForEvent(station.client(), event, QUALITY), 'BAD_INPUT');
      assert.equal(station.service.seen.length, 0);
    });
  }
});
