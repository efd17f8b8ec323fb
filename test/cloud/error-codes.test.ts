import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RvmErrorCode } from '../../lib/error';
import { camera, type Reply, type SeenRequest } from '../support/service/scripted-service';
import { failure, ScriptedStation, SHORT_TIMEOUT } from '../support/service/scripted-station';

const ROOT = path.join(__dirname, '..', '..');
const CHOICE = { quality: '', whenOffline: 'fail' as const };
const LIVE = { mode: 'live' as const, camera: 'Gate', ...CHOICE };

/** How a user comes to see a code, and what its message tells to do. */
interface Case {
  reach: (station: ScriptedStation) => Promise<unknown>;
  says: RegExp;
}

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
function echo(status: number, json: Record<string, unknown> = {}): (request: SeenRequest) => Reply {
  return ({ headers, body }) => ({
    status,
    json: { message: `${JSON.stringify(headers)} ${body} rtsp://u:p@relay.example/stream`, ...json },
  });
}

function goTo(station: ScriptedStation, target: string): Promise<unknown> {
  const { service } = station;
  service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_presets': '/presets' } } });
  service.on('GET', '/presets', { json: [{ id: 0, name: 'Door', _links: { 'rel/trigger': '/go' } }] });
  return station.client().ptz('Gate', { action: 'goto-preset', target });
}

function afterGet(station: ScriptedStation, where: string, reply: Reply | ((request: SeenRequest) => Reply)) {
  station.service.on('GET', where, reply);
  return station.client({ timeoutMs: SHORT_TIMEOUT }).listDevices();
}

function afterPost(
  station: ScriptedStation,
  where: string,
  reply: Reply | ((request: SeenRequest) => Reply),
) {
  station.service.on('POST', where, reply);
  return station.client().openRtsp(LIVE);
}

const CASES: readonly (readonly [RvmErrorCode, Case])[] = [
  [
    'CONFIG_MISSING',
    {
      reach: (station) => station.client({ password: '' }).listDevices(),
      says: /enter it in the settings/,
    },
  ],
  [
    'BAD_INPUT',
    {
      reach: (station) =>
        station.client().openRtsp({ ...CHOICE, mode: 'recorded', camera: 'Gate', time: 'noon', preRoll: 0 }),
      says: /must be ISO 8601/,
    },
  ],
  [
    'API_KEY_REJECTED',
    {
      reach: (station) => afterGet(station, '/system', echo(401)),
      says: /check the key and the base URL/,
    },
  ],
  [
    'LOGIN_FAILED',
    {
      reach: (station) => afterPost(station, '/login', echo(403)),
      says: /check user name and password/,
    },
  ],
  [
    'INCOMPATIBLE_VERSION',
    {
      reach: (station) => afterGet(station, '/system', echo(501)),
      says: /incompatible with the API: .* range set in the cloud/,
    },
  ],
  [
    'VERSION_NOT_REQUESTED',
    {
      reach: (station) => afterGet(station, '/system', echo(406)),
      says: /please report/,
    },
  ],
  [
    'PERMISSION_DENIED',
    {
      reach: (station) => afterPost(station, '/rtsp/Gate', echo(403, { code: 'Unauthorized' })),
      says: /check its rights and what the customer has granted/,
    },
  ],
  [
    'LINK_NOT_OFFERED',
    {
      reach: (station) => station.client().snapshot('Gate', {}),
      says: /rel\/snapshot now: it may lack the function/,
    },
  ],
  [
    'UNTRUSTED_LINK',
    {
      reach: (station) => {
        const { apiKey, password } = station.service;
        const link = `https://${apiKey}:${encodeURIComponent(password)}@${apiKey}.example/list`;
        return afterGet(station, '/system', { json: { _links: { 'rel/devices': link } } });
      },
      says: /add it to the trusted origins/,
    },
  ],
  [
    'DEVICE_NOT_FOUND',
    {
      reach: (station) => station.client().getDevice('nobody'),
      says: /"nobody", letter by letter; check whether the customer's site is accepted/,
    },
  ],
  [
    'DEVICE_OFFLINE',
    {
      reach: (station) => {
        station.service.devices = [camera('1', 'Gate', { status: 'connecting' })];
        return station.client().openRtsp(LIVE);
      },
      says: /status "connecting"\); try again/,
    },
  ],
  [
    'EVENT_WITHOUT_CAMERA',
    {
      reach: (station) => station.client().openRtsp({ ...CHOICE, mode: 'event', event: {}, preRoll: 0 }),
      says: /route such events past this node/,
    },
  ],
  [
    'TARGET_NOT_FOUND',
    {
      reach: (station) => goTo(station, 'Window'),
      says: /has no "Window".*it has 0 \(Door\)/,
    },
  ],
  [
    'CAMERA_BUSY',
    {
      reach: (station) => {
        station.service.on('POST', '/go', echo(403, { code: 'CameraInUse' }));
        return goTo(station, 'Door');
      },
      says: /try again in a while/,
    },
  ],
  [
    'BAD_RESPONSE',
    {
      reach: (station) =>
        afterPost(station, '/rtsp/Gate', ({ headers }) => ({
          json: { rtspRelayURL: `rtsp://r.example/"${String(headers['apikey'])}"` },
        })),
      says: /report it to the service/,
    },
  ],
  [
    'HTTP_ERROR',
    {
      reach: (station) => afterPost(station, '/rtsp/Gate', echo(500)),
      says: /answered 500 to rel\/rtsp; try again in a while/,
    },
  ],
  [
    'RATE_LIMITED',
    {
      reach: (station) => afterPost(station, '/rtsp/Gate', echo(429)),
      says: /try again in a while/,
    },
  ],
  [
    'TIMEOUT',
    {
      reach: (station) => afterGet(station, '/devices', 'silence'),
      says: /try again, or allow more time/,
    },
  ],
  [
    'NETWORK',
    {
      reach: (station) => afterGet(station, '/system', 'reset'),
      says: /check the network and the address of the cloud/,
    },
  ],
  [
    'TLS',
    {
      reach: (station) =>
        station.client({ baseUrl: station.service.url.replace('http:', 'https:') }).listDevices(),
      says: /http:\/\/ instead of https:\/\/\?/,
    },
  ],
  [
    'CANCELLED',
    {
      reach: async (station) => {
        const client = station.client();
        await client.close();
        return client.listDevices();
      },
      says: /deploy its node again/,
    },
  ],
];

/** All codes of the type, in the order in which they stand there. */
function codes(): string[] {
  const text = readFileSync(path.join(ROOT, 'lib', 'error.ts'), 'utf8');
  const [type = ''] = /export type RvmErrorCode =[^;]*;/.exec(text) ?? [];
  return [...type.matchAll(/\| '([A-Z_]+)'/g)].map(([, code = '']) => code);
}

describe('error codes', () => {
  let station: ScriptedStation;

  beforeEach(async () => {
    station = await ScriptedStation.start();
  });
  afterEach(() => station.close());

  for (const [code, { reach, says }] of CASES) {
    it(`${code} is reached, says what to do and repeats no secret`, async () => {
      const { message, cause } = await failure(reach(station), code);
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
    const reached: string[] = [...CASES, ...ELSEWHERE].map(([code]) => code);
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
    assert.deepEqual(
      codes().filter((code) => !told.includes(code)),
      [],
    );
    assert.equal(new Set(told).size, told.length);
  });
});
