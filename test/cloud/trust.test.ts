import assert from 'node:assert/strict';
import { camera, GATE, type ScriptedService } from '../support/service/scripted-service';
import { failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

describe('links to other origins', () => {
  const station = stationOfEachTest();
  const { service } = station;
  let foreign: ScriptedService;

  beforeEach(async () => {
    foreign = await station.otherService();
  });
  afterEach(async () => {
    assert.equal(foreign.opened, 0, 'nothing may be sent to a foreign origin');
  });

  it('T-02 refuses a foreign login link before the password is sent', async () => {
    service.on('GET', '/system', { json: { _links: { 'rel/login': `${foreign.url}/login` } } });
    const error = await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
    assert.equal(error.cause.relation, 'rel/login');
  });

  it('T-02 refuses a foreign next page', async () => {
    service.on('GET', '/devices', {
      json: { devices: service.devices, next: `${foreign.url}/devices?page=2` },
    });
    await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
  });

  it('T-02 refuses a foreign data sources link', async () => {
    service.devices = [camera(GATE, 'Gate', { _links: { 'rel/data_sources': `${foreign.url}/sources` } })];
    await failure(rtspForEvent(station.client()), 'UNTRUSTED_LINK');
  });

  it('T-02 refuses a foreign rtsp link', async () => {
    service.on('GET', '/sources/Gate', {
      json: { _links: { 'rel/rtsp': { href: `${foreign.url}/x` } } },
    });
    await failure(rtspForEvent(station.client()), 'UNTRUSTED_LINK');
  });

  it('T-02 refuses a redirect to a foreign origin', async () => {
    service.on('GET', '/devices', { status: 302, headers: { Location: `${foreign.url}/devices` } });
    await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
  });

  it('T-02 takes another scheme or port of the same host as foreign', async () => {
    service.on('GET', '/system', {
      json: { _links: { 'rel/devices': service.url.replace('http:', 'https:') } },
    });
    await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
  });

  it('T-02 refuses an address of another scheme around one of its own', async () => {
    const within = `blob:${service.url}\\@${new URL(foreign.url).host}/devices`;
    service.on('GET', '/system', { json: { _links: { 'rel/devices': within } } });
    await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
  });

  it('a trusted origin that is none is BAD_INPUT, and shows as a refusal, not as a service out of reach', async () => {
    const client = station.client({ trustedOrigins: ['video.example.com'] });
    await failure(client.listDevices(), 'BAD_INPUT');
    assert.equal(client.state.kind, 'refused');
  });

  it('quotes of a foreign host 100 characters at most', async () => {
    const link = `https://${'x'.repeat(500)}.example/devices`;
    service.on('GET', '/system', { json: { _links: { 'rel/devices': link } } });
    const error = await failure(station.client().listDevices(), 'UNTRUSTED_LINK');
    assert.match(error.message, /link points to https:\/\/x{92};/);
  });

  const echoes: [string, (secret: string) => string][] = [
    ['host', (secret) => `https://${secret}.example/devices`],
    ['percent-encoded host', (secret) => `https://${secret.replaceAll('e', '%65')}.example/devices`],
    ['host of an unknown scheme', (secret) => `other://${secret}/devices`],
    ['scheme', (secret) => `${secret}:devices`],
    ['user', (secret) => `https://${secret}@foreign.example/devices`],
    ['host that is cut', (secret) => `https://${'x'.repeat(85)}${secret}.example/devices`],
  ];
  for (const [place, link] of echoes) {
    it(`masks a secret that a foreign link echoes as its ${place}`, async () => {
      service.on('GET', '/system', { json: { _links: { 'rel/devices': link('Planted-Secret') } } });
      const client = station.client({ password: 'Planted-Secret' });
      const error = await failure(client.listDevices(), 'UNTRUSTED_LINK');
      assert.doesNotMatch(error.message, /plant/i);
    });
  }

  it('follows redirects on its own origin, relative links included', async () => {
    service.on('GET', '/devices', { status: 307, headers: { Location: '/v3/list/all?x=%2F' } });
    service.on('GET', '/v3/list/all?x=%2F', {
      json: { devices: [camera(GATE, 'Gate', { _links: { 'rel/data_sources': '../sources' } })] },
    });
    service.on('GET', '/v3/sources', { json: { _links: { 'rel/rtsp': 'rtsp-of-it' } } });
    service.on('POST', '/v3/rtsp-of-it', { json: { rtspRelayURL: 'rtsp://relay.example/a' } });
    await rtspForEvent(station.client());
    assert.equal(service.count('POST', '/v3/rtsp-of-it'), 1);
  });

  it('ends a redirect in a circle', async () => {
    service.on('GET', '/devices', { status: 302, headers: { Location: '/devices' } });
    await failure(station.client().listDevices(), 'BAD_RESPONSE');
    assert.equal(service.count('GET', '/devices'), 6);
  });
});

describe('links to an origin that the user trusts', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('T-02 are followed', async () => {
    const other = await station.otherService();
    other.on('GET', '/list', { json: [camera('1', 'Far')] });
    service.on('GET', '/system', { json: { _links: { 'rel/devices': `${other.url}/list` } } });
    const devices = await station.client({ trustedOrigins: [' ', `${other.url}/any/path`] }).listDevices();
    assert.equal(devices[0]?.name, 'Far');
  });
});
