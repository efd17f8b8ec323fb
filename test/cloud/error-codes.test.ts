import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RvmErrorCode } from '../../lib/error';
import { camera, type Reply, type Route } from '../support/service/scripted-service';
import { failure, LIVE, SHORT_TIMEOUT, stationOfEachTest } from '../support/service/scripted-station';

const ROOT = path.join(__dirname, '..', '..');
/** Codes that no cloud raises, and the folder of the tests that reach them. */
const ELSEWHERE: readonly (readonly [RvmErrorCode, string])[] = [
  ['VIDEO_NOT_YET', 'video'],
  ['VIDEO_FAILED', 'video'],
  ['VIDEO_BUSY', 'video'],
  ['DECODER_MISSING', 'video'],
  ['STORE_FAILED', 'inbox'],
  ['UNKNOWN_DELIVERY', 'nodes'],
];

/** An answer that repeats all that was sent, and an address of a stream. */
function echo(status: number, json: Record<string, unknown> = {}): Route {
  return ({ headers, body }) => ({
    status,
    json: { message: `${JSON.stringify(headers)} ${body} rtsp://u:p@relay.example/stream`, ...json },
  });
}

function codes(): string[] {
  const text = readFileSync(path.join(ROOT, 'lib', 'error.ts'), 'utf8');
  const [type = ''] = /export type RvmErrorCode =[^;]*;/.exec(text) ?? [];
  return [...type.matchAll(/\| '([A-Z_]+)'/g)].map(([, code = '']) => code);
}

describe('error codes', () => {
  const station = stationOfEachTest();
  const { service } = station;
  const eventMode = { ...LIVE, mode: 'event', event: {}, preRoll: 0 } as const;
  const NO_RIGHT = { code: 'Unauthorized' };
  const noon = { ...LIVE, mode: 'recorded', time: 'noon', preRoll: 0 } as const;

  function list(at: string, reply: Reply | Route): Promise<unknown> {
    service.on('GET', at, reply);
    return station.client({ timeoutMs: SHORT_TIMEOUT }).listDevices();
  }

  function video(reply: Reply | Route, at = '/rtsp/Gate'): Promise<unknown> {
    service.on('POST', at, reply);
    return station.client().openRtsp(LIVE);
  }

  function goTo(target: string): Promise<unknown> {
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_presets': '/presets' } } });
    service.on('GET', '/presets', { json: [{ id: 0, name: 'Door', _links: { 'rel/trigger': '/go' } }] });
    return station.client().ptz('Gate', { action: 'goto-preset', target });
  }

  /** How a user comes to see a code, and what its message tells to do. */
  const cases: readonly [code: RvmErrorCode, says: RegExp, reach: () => Promise<unknown>][] = [
    ['CONFIG_MISSING', /enter it in the settings/, () => station.client({ password: '' }).listDevices()],
    ['BAD_INPUT', /must be ISO 8601/, () => station.client().openRtsp(noon)],
    ['API_KEY_REJECTED', /check the key and the base URL/, () => list('/system', echo(401))],
    ['LOGIN_FAILED', /check user name and password/, () => video(echo(403), '/login')],
    ['INCOMPATIBLE_VERSION', /with the API: .* range set in the cloud/, () => list('/system', echo(501))],
    ['VERSION_NOT_REQUESTED', /please report/, () => list('/system', echo(406))],
    ['PERMISSION_DENIED', /its rights and what the customer has granted/, () => video(echo(403, NO_RIGHT))],
    ['LINK_NOT_OFFERED', /rel\/snapshot now: it may lack/, () => station.client().snapshot('Gate')],
    [
      'UNTRUSTED_LINK',
      /add it to the trusted origins/,
      () => {
        const { apiKey, password } = service;
        const link = `https://${apiKey}:${encodeURIComponent(password)}@${apiKey}.example/list`;
        return list('/system', { json: { _links: { 'rel/devices': link } } });
      },
    ],
    [
      'DEVICE_NOT_FOUND',
      /"nobody", letter by letter; check whether the customer's site is accepted/,
      () => station.client().getDevice('nobody'),
    ],
    [
      'DEVICE_OFFLINE',
      /"Gate".*status "connecting"\); try again/,
      () => {
        service.devices = [camera('1', 'Gate', { status: 'connecting' })];
        return station.client().openRtsp(LIVE);
      },
    ],
    ['EVENT_WITHOUT_CAMERA', /route such events past this node/, () => station.client().openRtsp(eventMode)],
    ['TARGET_NOT_FOUND', /has no "Window".*it has 0 \(Door\)/, () => goTo('Window')],
    [
      'CAMERA_BUSY',
      /try again in a while/,
      () => {
        service.on('POST', '/go', echo(403, { code: 'CameraInUse' }));
        return goTo('Door');
      },
    ],
    [
      'BAD_RESPONSE',
      /report it to the service/,
      () =>
        video(({ headers }) => ({
          json: { rtspRelayURL: `rtsp://r.example/"${String(headers['apikey'])}"` },
        })),
    ],
    ['HTTP_ERROR', /answered 500 to rel\/rtsp; try again in a while/, () => video(echo(500))],
    ['RATE_LIMITED', /try again in a while/, () => video(echo(429))],
    ['TIMEOUT', /try again, or allow more time/, () => list('/devices', 'silence')],
    ['NETWORK', /check the network and the address of the cloud/, () => list('/system', 'reset')],
    [
      'TLS',
      /http:\/\/ instead of https:\/\/\?/,
      () => station.client({ baseUrl: service.url.replace('http:', 'https:') }).listDevices(),
    ],
    [
      'CANCELLED',
      /deploy its node again/,
      async () => {
        const client = station.client();
        await client.close();
        return client.listDevices();
      },
    ],
  ];

  for (const [code, says, reach] of cases) {
    it(`${code} is reached, says what to do and repeats no secret`, async () => {
      const { message, cause } = await failure(reach(), code);
      assert.match(message, says);
      assert.doesNotMatch(message, /[\r\n]/);
      const told = JSON.stringify([message, cause]);
      const { apiKey, password, sessions } = station.service;
      for (const secret of [apiKey, password, ...sessions, 'rtsp://']) {
        assert.ok(!told.includes(secret), `${secret} in ${told}`);
      }
      assert.ok((cause.serverMessage?.length ?? 0) <= 200);
    });
  }

  it('each have a test that reaches them', () => {
    const listed = codes();
    assert.ok(listed.length > 20);
    const reached: string[] = [...cases, ...ELSEWHERE].map(([code]) => code);
    assert.deepEqual(reached.sort(), listed.sort());
  });

  for (const [code, folder] of ELSEWHERE) {
    it(`${code} is reached by a test of ${folder}`, () => {
      const place = path.join(ROOT, 'test', folder);
      const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.test.ts'),
      );
      assert.ok(files.some((name) => readFileSync(path.join(place, name), 'utf8').includes(`'${code}'`)));
    });
  }

  it('each have a place in the documentation', () => {
    const page = readFileSync(path.join(ROOT, 'docs', 'errors.md'), 'utf8');
    const told = [...page.matchAll(/^### ([A-Z_]+)$/gm)].map(([, code]) => code);
    const untold = codes().filter((code) => !told.includes(code));
    assert.deepEqual(untold, []);
    assert.equal(new Set(told).size, told.length);
  });
});
