import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { assert as check, boolean, constantFrom, date, integer, property, record } from 'fast-check';
import type { RtspWanted } from '../../lib/cloud/calls';
import { shiftedBack } from '../../lib/cloud/functions/rtsp';
import { readTime } from '../../lib/time';
import { camera, GATE, type Reply } from '../support/service/scripted-service';
import {
  EVENT_OF_GATE,
  failure,
  LIVE,
  rtspForEvent,
  stationOfEachTest,
} from '../support/service/scripted-station';

const START = '2026-11-21T10:00:00.1234567';
const EVENT = { ...EVENT_OF_GATE, cameraRemoteId: '4xIx1-Remote_Id', eventStartTime: START };
const RECORDED = { ...LIVE, mode: 'recorded', preRoll: 0 } as const;

describe('RTSP session', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** The body that was sent. */
  const sent = (): unknown => JSON.parse(service.last('POST', '/rtsp/Gate')?.body ?? 'null');

  const answerWith = (reply: Reply): void => service.on('POST', '/rtsp/Gate', reply);

  const eventAt = (eventStartTime: unknown): Record<string, unknown> => ({ ...EVENT, eventStartTime });

  it('gives the URL, where it leads, and what it was asked for with', async () => {
    const client = station.client({ appendZ: true });
    const { ms, ...session } = await rtspForEvent(client, EVENT, { quality: 'low' });
    assert.ok(ms >= 0);
    assert.deepEqual(session, {
      url: 'rtsp://relay.example:8554/token-1',
      mode: 'event',
      cameraId: GATE,
      cameraRemoteId: '4xIx1-Remote_Id',
      quality: 'low',
      t: `${START}Z`,
      relay: { scheme: 'rtsp', host: 'relay.example', port: 8554 },
      device: { id: GATE, name: 'Gate', status: 'online' },
      requests: 6,
    });
  });

  it('T-16 costs one request with warm caches, by which each URL is asked for anew', async () => {
    const client = station.client();
    await rtspForEvent(client, EVENT);
    answerWith({ json: { url: 'rtsp://relay.example/token-2' } });
    const before = service.seen.length;
    const { url, requests } = await rtspForEvent(client, EVENT);
    assert.deepEqual([url, requests], ['rtsp://relay.example/token-2', 1]);
    assert.equal(service.seen.length, before + 1);
  });

  const URL_OF_RELAY = 'rtsp://r.example/a';
  const inHeader = { status: 201, headers: { Location: URL_OF_RELAY } };
  const urls: [string, Reply][] = [
    ['RtspRelayURL', { json: { RtspRelayURL: URL_OF_RELAY } }],
    ['rtspRelayUrl', { json: { rtspRelayUrl: URL_OF_RELAY } }],
    ['rtspUrl', { json: { rtspUrl: URL_OF_RELAY } }],
    ['RtspUrl', { json: { RtspUrl: URL_OF_RELAY } }],
    ['url in result', { json: { status: 'success', result: { url: URL_OF_RELAY } } }],
    ['url in data', { json: { data: { url: URL_OF_RELAY } } }],
    ['url beside an empty name of its own', { json: { rtspRelayURL: null, url: URL_OF_RELAY } }],
    ['Location of a 201', inHeader],
    ['Location of a 201 with a body without a URL', { ...inHeader, json: { id: 7 } }],
    ['Location of a 201 with a body that is no JSON', { ...inHeader, text: 'Created' }],
  ];
  for (const [place, reply] of urls) {
    it(`T-16 takes the URL from ${place}`, async () => {
      answerWith(reply);
      assert.equal((await station.client().openRtsp(LIVE)).url, URL_OF_RELAY);
    });
  }

  const legal: [what: string, url: string, scheme: string, host: string, port: number][] = [
    [
      'a user, an IPv6 host and a query',
      'rtsp://user:p%40ss@[2001:db8::1]:8554/live/1?token=a%2Fb&x=[1]',
      'rtsp',
      '[2001:db8::1]',
      8554,
    ],
    ['an @ in path and query', 'rtsps://user@r.example/a@b?c=@d', 'rtsps', 'r.example', 322],
    ['every legal mark', 'rtsp://r.example/-._~:@!$&()*+,;=%20?/[]#x', 'rtsp', 'r.example', 554],
    ['a scheme in capitals', 'RTSP://r.example/a?b=c%20d', 'rtsp', 'r.example', 554],
  ];
  for (const [what, rtspRelayURL, scheme, host, port] of legal) {
    it(`T-16 passes on a URL with ${what}, unchanged, and tells where it leads`, async () => {
      answerWith({ json: { rtspRelayURL } });
      const { url, relay } = await station.client().openRtsp(LIVE);
      assert.deepEqual({ url, relay }, { url: rtspRelayURL, relay: { scheme, host, port } });
    });
  }

  const bad = [
    'http://r.example/a',
    'https://r.example/a',
    'rtsp:///nohost',
    ' rtsp://r.example/a',
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
  ].map((rtspRelayURL): [string, Reply] => [
    `the URL ${JSON.stringify(rtspRelayURL)}`,
    { json: { rtspRelayURL } },
  ]);
  const useless: [string, Reply][] = [
    ['no body', { status: 200 }],
    ['a body that is no JSON', { text: URL_OF_RELAY }],
    ['Location of a 200', { ...inHeader, status: 200, json: {} }],
    ['a list', { json: [URL_OF_RELAY] }],
  ];
  for (const [what, reply] of [...bad, ...useless]) {
    it(`T-16 refuses ${what} and does not repeat it`, async () => {
      answerWith(reply);
      const error = await failure(station.client().openRtsp(LIVE), 'BAD_RESPONSE');
      assert.ok(!JSON.stringify([error.message, error.cause]).includes('r.example'));
    });
  }

  const link = { _links: { 'rel/rtsp': '/rtsp/found' } };
  const sound = { type: 'audio', _links: { 'rel/rtsp': '/rtsp/other' } };
  const places: [string, object][] = [
    ['an element of the data sources, pictures before sound', [sound, { type: 'video', ...link }]],
    ['a data sources resource that is wrapped', { status: 'success', result: link }],
    ['the data sources resource itself before its elements', { ...link, data_sources: [sound] }],
  ];
  for (const [place, json] of places) {
    it(`T-15 finds the link on ${place}`, async () => {
      service.on('GET', '/sources/Gate', { json });
      await station.client().openRtsp(LIVE);
      assert.equal(service.count('POST', '/rtsp/found'), 1);
    });
  }

  it('T-15 finds the link on the device', async () => {
    service.devices = [camera(GATE, 'Gate', link)];
    await rtspForEvent(station.client());
    assert.equal(service.count('POST', '/rtsp/found'), 1);
  });

  it('T-15 finds links that are spread over the data sources and the device, and asks once for all', async () => {
    const _links = { 'rel/data_sources': '/sources/Gate', 'rel/snapshot': '/picture' };
    service.devices = [camera(GATE, 'Gate', { _links })];
    service.on('GET', '/sources/Gate', {
      json: [
        { type: 'video', remoteId: 'remote', ...link },
        { type: 'ptz', _links: { 'rel/ptz_presets': '/presets' } },
      ],
    });
    service.on('POST', '/rtsp/found', { json: { url: URL_OF_RELAY } });
    service.on('GET', '/presets', { json: [{ id: 1 }] });
    service.on('GET', '/picture', { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') });
    const client = station.client();
    assert.equal((await client.openRtsp(LIVE)).cameraRemoteId, 'remote');
    assert.equal((await client.ptzTargets('Gate', 'presets')).length, 1);
    await client.snapshot('Gate');
    assert.equal(service.count('GET', '/sources/Gate'), 1);
  });

  it('T-21 does not repeat the request where the link is still the same', async () => {
    answerWith({ status: 404, json: { message: 'unknown camera' } });
    const error = await failure(rtspForEvent(station.client()), 'HTTP_ERROR');
    assert.equal(error.cause.serverMessage, 'unknown camera');
    assert.equal(service.count('POST', '/rtsp/Gate'), 1);
  });

  it('calls a camera offline that the service cannot reach although it lists it as online', async () => {
    answerWith({ status: 409, json: { code: 'CameraUnavailable', message: 'not online' } });
    const error = await failure(rtspForEvent(station.client()), 'DEVICE_OFFLINE');
    assert.equal(error.cause.status, 409);
  });

  describe('from a camera that is not online', () => {
    beforeEach(() => {
      service.devices = [camera(GATE, 'Gate', { status: 'connecting', remoteId: 'r' })];
    });

    const modes: RtspWanted[] = [
      LIVE,
      { ...RECORDED, time: START },
      { ...LIVE, mode: 'event', event: EVENT, preRoll: 0 },
    ];
    for (const wanted of modes) {
      it(`T-14 fails with DEVICE_OFFLINE in the mode ${wanted.mode}, after the camera was asked for once more`, async () => {
        const client = await station.connected();
        await failure(client.openRtsp(wanted), 'DEVICE_OFFLINE');
        assert.equal(service.count('GET', '/devices'), 2);
        assert.equal(service.count('POST', '/rtsp/Gate'), 0);
      });

      it(`T-14 is asked for all the same in the mode ${wanted.mode} where that is wanted`, async () => {
        const { device } = await station.client().openRtsp({ ...wanted, whenOffline: 'try' });
        assert.equal(device.status, 'connecting');
        assert.equal(service.count('POST', '/rtsp/Gate'), 1);
      });
    }
  });

  it('T-14 fails with DEVICE_NOT_FOUND for a camera of no list, after one refresh, even where trying all the same is wanted', async () => {
    const client = await station.connected();
    await failure(client.openRtsp({ ...LIVE, camera: 'nobody', whenOffline: 'try' }), 'DEVICE_NOT_FOUND');
    await failure(client.openRtsp({ ...LIVE, camera: 'nobody' }), 'DEVICE_NOT_FOUND');
    await failure(client.getDevice('nobody'), 'DEVICE_NOT_FOUND');
    await failure(client.snapshot('nobody', {}), 'DEVICE_NOT_FOUND');
    assert.equal(service.count('GET', '/devices'), 2);
  });

  describe('remote id', () => {
    const noRemote = { ...EVENT, cameraRemoteId: null };
    const links = { 'rel/self': '/cameras/1', 'rel/data_sources': '/sources/Gate' };

    async function usedFor(event: object, client = station.client()): Promise<string> {
      return (await rtspForEvent(client, { ...event })).cameraRemoteId;
    }

    for (const field of ['remoteId', 'cameraRemoteId', 'remoteCameraId', 'remote_id']) {
      it(`comes from ${field} of the record where the event has none`, async () => {
        service.devices = [camera(GATE, 'Gate', { [field]: 'from-record' })];
        assert.equal(await usedFor(noRemote), 'from-record');
        assert.equal(await usedFor(EVENT), '4xIx1-Remote_Id');
      });
    }

    it('comes from the data sources next', async () => {
      const source = { remoteId: 'from-source', _links: { 'rel/rtsp': '/rtsp/Gate' } };
      service.on('GET', '/sources/Gate', { json: { _links: {}, data_sources: [source] } });
      assert.equal(await usedFor(noRemote), 'from-source');
    });

    it('comes from the details next, asked for once', async () => {
      service.devices = [camera(GATE, 'Gate', { _links: links })];
      service.on('GET', '/cameras/1', { json: { id: GATE, status: 'online', remoteId: 'from-details' } });
      const client = station.client();
      for (let turn = 0; turn < 2; turn += 1) assert.equal(await usedFor(noRemote, client), 'from-details');
      assert.equal(service.count('GET', '/cameras/1'), 1);
    });

    it('is the one learned from an earlier event next', async () => {
      const client = station.client();
      assert.equal(await usedFor(noRemote, client), GATE);
      await rtspForEvent(client, EVENT);
      assert.equal(await usedFor(noRemote, client), '4xIx1-Remote_Id');
    });

    it('is the device’s own id at last, even where the details fail', async () => {
      service.devices = [camera(GATE, 'Gate', { _links: links })];
      service.on('GET', '/cameras/1', { status: 500 });
      assert.equal(await usedFor(noRemote), GATE);
    });
  });

  describe('for an event with only a remote id', () => {
    const only = { cameraRemoteId: 'Remote-1', eventStartTime: START };

    it('finds the device by its record', async () => {
      service.devices.push(camera('x', 'Found', { remoteId: 'Remote-1' }));
      assert.equal((await rtspForEvent(station.client(), only)).device.name, 'Found');
    });

    it('finds the device by an earlier event', async () => {
      const client = station.client();
      await rtspForEvent(client, { ...EVENT, cameraRemoteId: 'Remote-1' });
      assert.equal((await rtspForEvent(client, only)).requests, 1);
    });

    it('finds the device by its details', async () => {
      const _links = { self: '/c/x', 'rel/data_sources': '/sources/Found' };
      service.devices.push(camera('x', 'Found', { _links }));
      service.on('GET', '/c/x', { json: { id: 'x', remoteId: 'Remote-1' } });
      assert.equal((await rtspForEvent(station.client(), only)).device.name, 'Found');
    });

    it('T-13 compares it case-sensitively', async () => {
      service.devices.push(camera('x', 'Found', { remoteId: 'remote-1' }));
      await failure(rtspForEvent(station.client(), only), 'DEVICE_NOT_FOUND');
    });
  });

  it('fails with EVENT_WITHOUT_CAMERA without a request where the event has neither id', async () => {
    const event = { ...EVENT, cameraId: null, cameraRemoteId: '' };
    await failure(rtspForEvent(station.client(), event), 'EVENT_WITHOUT_CAMERA');
    assert.equal(service.seen.length, 0);
  });

  it('T-17 leaves out t and search for live video', async () => {
    await station.client().openRtsp({ ...LIVE, quality: 'low' });
    assert.deepEqual(sent(), { cameraId: GATE, quality: 'low' });
  });

  it('T-17 spells live video as t live and search false where the cloud is set so', async () => {
    await station.client({ liveStyle: 'live' }).openRtsp(LIVE);
    assert.deepEqual(sent(), { cameraId: GATE, quality: 'high', t: 'live', search: 'false' });
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

  describe('at a time', () => {
    const shifts: [text: string, seconds: number, shifted: string][] = [
      [START, 0, START],
      [' 2026-03-04T05:06:07.1234567 ', 0, ' 2026-03-04T05:06:07.1234567 '],
      ['2026-03-04T05:06:07', 7, '2026-03-04T05:06:00'],
      ['2026-03-04T05:06:07Z', 8, '2026-03-04T05:05:59Z'],
      ['2026-03-04T05:06:07.1234567', 10, '2026-03-04T05:05:57.1234567'],
      ['2026-03-04T05:06:07,5z', 1, '2026-03-04T05:06:06,5z'],
      ['2026-03-04T05:06:07.000000009Z', 1, '2026-03-04T05:06:06.000000009Z'],
      ['2026-03-04T05:06:07+02:00', 60, '2026-03-04T05:05:07+02:00'],
      ['2026-03-04T05:06:07-0530', 60, '2026-03-04T05:05:07-0530'],
      ['2026-03-01T00:00:01.5+02:00', 3, '2026-02-28T23:59:58.5+02:00'],
      ['2026-03-01T00:00:05', 10, '2026-02-28T23:59:55'],
      ['20260304T050607Z', 10, '20260304T050557Z'],
      ['20260304T050607.25', 10, '20260304T050557.25'],
      ['20261121T100000.057Z', 10, '20261121T095950.057Z'],
      ['2026-03-04 05:06:07', 1, '2026-03-04 05:06:06'],
      ['2026-03-04T05:06', 60, '2026-03-04T05:05'],
      ['2026-03-04T05:06', 10, '2026-03-04T05:05:50'],
      ['2026-03-04T05:06:07', 0.5, '2026-03-04T05:06:06.500'],
      ['2026-03-04T05:06:07.000', 1.5, '2026-03-04T05:06:05.500'],
      ['2026-03-04T05:06:07.1Z', 0.25, '2026-03-04T05:06:06.850Z'],
      ['2026-03-04', 10, '2026-03-03T23:59:50.000Z'],
      ['2026-03-04T24:00:00Z', 1, '2026-03-04T23:59:59Z'],
    ];
    for (const [text, preRoll, t] of shifts) {
      it(`T-17 asks for ${t} for an event of ${text} with a pre-roll of ${preRoll} s, and for search as a text`, async () => {
        await rtspForEvent(station.client(), eventAt(text), { preRoll });
        assert.deepEqual(sent(), { cameraId: '4xIx1-Remote_Id', quality: 'high', t, search: 'true' });
      });
    }

    it('T-17 is earlier by just the pre-roll, whatever its form', () => {
      const forms = record({
        at: date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
        basic: boolean(),
        digits: integer({ min: 0, max: 9 }),
        zone: constantFrom('', 'Z', '+01:00', '-0330', '+02'),
        seconds: integer({ min: 1, max: 86_400 }),
      });
      check(
        property(forms, ({ at, basic, digits, zone, seconds }) => {
          const whole = at.toISOString().slice(0, 19);
          const fraction = digits === 0 ? '' : `.${'123456789'.slice(0, digits)}`;
          const text = `${basic ? whole.replaceAll(/[-:]/g, '') : whole}${fraction}${zone}`;
          const shifted = shiftedBack(text, seconds);
          assert.equal(shifted.length, text.length);
          assert.equal(Number(readTime(shifted)), Number(readTime(text)) - seconds * 1000);
        }),
      );
    });

    const zones: [time: string, withZ: string][] = [
      [START, `${START}Z`],
      ['20261121T100000', '20261121T100000Z'],
      ['2026-11-21T10:00:00Z', '2026-11-21T10:00:00Z'],
      ['2026-11-21T10:00:00+02:00', '2026-11-21T10:00:00+02:00'],
      ['2026-11-21T10:00:00-0800', '2026-11-21T10:00:00-0800'],
    ];
    for (const [time, withZ] of zones) {
      it(`T-17 sends ${time} unchanged, and as ${withZ} with appendZ, where it is shifted, too`, async () => {
        const t = async (appendZ: boolean, preRoll = 0) =>
          (await rtspForEvent(station.client({ appendZ }), eventAt(time), { preRoll })).t;
        assert.deepEqual([await t(false), await t(true)], [time, withZ]);
        assert.equal((await t(true, 60))?.slice(-3), withZ.slice(-3));
      });
    }

    const WHEN = Date.UTC(2026, 2, 4, 5, 6, 7);
    const odd = Object.assign(new Date(WHEN), { getTime: () => Symbol('no time') });
    const given: [value: unknown, text: string][] = [
      ['2026-03-04T05:06:07', '2026-03-04T05:06:07'],
      [' 2026-03-04T05:06:07Z ', '2026-03-04T05:06:07Z'],
      ['20260304T050607.1Z', '20260304T050607.1Z'],
      ['20260304', '2026-03-04T00:00:00.000Z'],
      ['2026-03-04 05:06:07', '2026-03-04T05:06:07.000Z'],
      ['2026-03-04T05:06+01:00', '2026-03-04T04:06:00.000Z'],
      [WHEN, '2026-03-04T05:06:07.000Z'],
      ['1772600767000', '2026-03-04T05:06:07.000Z'],
      [new Date(WHEN), '2026-03-04T05:06:07.000Z'],
      [odd, '2026-03-04T05:06:07.000Z'],
    ];
    for (const [time, text] of given) {
      it(`T-17 of a recording is sent as ${text} where the user gives ${inspect(time)}`, async () => {
        await station.client().openRtsp({ ...RECORDED, time });
        assert.equal(Object(sent()).t, text);
      });
    }

    const none = ['', 'yesterday', '2026-13-01', undefined, null, true, {}, NaN, new Date(NaN), 9e15];
    const looksLikeOne: unknown = Object.create(Date.prototype);
    for (const time of [...none, '20261121101112', 1772600767, '1772600767', looksLikeOne]) {
      it(`of a recording is BAD_INPUT without a request where the user gives ${inspect(time)}`, async () => {
        const error = await failure(station.client().openRtsp({ ...RECORDED, time }), 'BAD_INPUT');
        assert.match(error.message, /ISO 8601/);
        assert.equal(service.seen.length, 0);
      });
    }

    for (const time of [undefined, null, '', 'yesterday at noon', '0001-01-01T00:00:00', 17e11]) {
      it(`of an event is BAD_INPUT without a request where that starts at ${JSON.stringify(time)}`, async () => {
        await failure(rtspForEvent(station.client(), eventAt(time)), 'BAD_INPUT');
        assert.equal(service.seen.length, 0);
      });
    }
  });
});
