import assert from 'node:assert/strict';
import type { StationClient } from '../../../lib/cloud/station-client';
import { assertPause, eventually } from '../../support/time/patience';
import { camera, type Reply, ScriptedService } from '../../support/service/scripted-service';
import {
  failure,
  LIVE,
  PATIENT,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../../support/service/scripted-station';
import { slowIt } from '../../support/suite/lanes';

const QUICK = { retryMs: 1 };
const GRANTED = { json: { rtspRelayURL: 'rtsp://relay.example:8554/token-1' } };
const COMMAND = { action: 'goto-preset' as const, target: '0' };

describe('errors of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(async () => {
    const _links = { 'rel/self': '/self', 'rel/data_sources': '/sources/Gate' };
    service.devices = [camera('gate', 'Gate', { _links })];
    const links = { 'rel/rtsp': '/rtsp/Gate', 'rel/snapshot': '/picture', 'rel/ptz_presets': '/presets' };
    service.on('GET', '/sources/Gate', { json: { _links: links } });
    service.on('GET', '/presets', { json: [{ id: 0, _links: { 'rel/trigger': '/go' } }] });
    service.on('GET', '/picture', { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') });
    service.on('GET', '/self', { json: { id: 'gate' } });
    service.on('POST', '/go', { status: 204 });
  });

  const bodies: [string, Reply, object][] = [
    [
      'a code, a message and a field',
      { status: 400, json: { _type: 'Error', code: 'InvalidValue', field: 't', message: 'no such time' } },
      { status: 400, serverCode: 'InvalidValue', serverMessage: 'no such time' },
    ],
    [
      'a status, a message and a name in meta',
      {
        status: 507,
        json: { status: 'error', statusCode: 507, message: 'full', meta: { code: -9, name: 'FULL' } },
      },
      { status: 507, serverCode: 'FULL', serverMessage: 'full' },
    ],
    [
      'problem details with a title and a detail',
      { status: 409, json: { type: 'about:blank', title: 'Conflict', status: 409, detail: 'already there' } },
      { status: 409, serverMessage: 'already there' },
    ],
    [
      'problem details with errors by field',
      { status: 422, json: { title: '', status: 422, errors: { cameraId: ['is unknown', 'x'], t: ['y'] } } },
      { status: 422, serverMessage: 'is unknown' },
    ],
    ['a JSON text', { status: 500, json: 'all wrong' }, { status: 500, serverMessage: 'all wrong' }],
    [
      'the text of a gateway',
      { status: 413, text: 'Payload\r\n  too   large' },
      { status: 413, serverMessage: 'Payload too large' },
    ],
    [
      'a page of HTML without a title',
      { status: 500, text: '<html><body><h1>Oops</h1><script>x()</script>try later</body></html>' },
      { status: 500, serverMessage: 'Oops try later' },
    ],
    ['nothing', { status: 500 }, { status: 500 }],
    [
      'JSON without a message',
      { status: 500, json: { ok: false } },
      { status: 500, serverMessage: '{"ok":false}' },
    ],
    [
      'binary data',
      { status: 500, bytes: Buffer.from([0, 1, 2, 255]) },
      { status: 500, serverMessage: '\ufffd' },
    ],
  ];
  for (const [kind, reply, cause] of bodies) {
    it(`T-20 keeps status, code and message of an error body that is ${kind}`, async () => {
      service.on('POST', '/rtsp/Gate', reply);
      const error = await failure(station.client().openRtsp(LIVE), 'HTTP_ERROR');
      assert.deepEqual(error.cause, { relation: 'rel/rtsp', attempts: 1, ...cause });
    });
  }

  it('T-20 keeps no more than a line of a page without end', async () => {
    service.on('POST', '/rtsp/Gate', { status: 500, text: 'word\n'.repeat(100_000) });
    const error = await failure(station.client().openRtsp(LIVE), 'HTTP_ERROR');
    assert.equal(error.cause.serverMessage?.length, 200);
  });

  it('T-20 tells what the service says in the message, too', async () => {
    service.on('POST', '/rtsp/Gate', { status: 400, json: { message: 'no such time' } });
    const error = await failure(station.client().openRtsp(LIVE), 'HTTP_ERROR');
    assert.match(error.message, /400.*no such time/);
  });

  type Ask = (client: StationClient) => Promise<unknown>;
  const gets: [string, Ask][] = [
    ['/devices', (client) => client.listDevices()],
    ['/self', (client) => client.getDevice('Gate')],
    ['/sources/Gate', (client) => client.snapshot('Gate', {})],
    ['/picture', (client) => client.snapshot('Gate', {})],
    ['/presets', (client) => client.ptzTargets('Gate', 'presets')],
    ['/system', (client) => client.listDevices()],
  ];

  /** Answers once with what is wrong, then as before. */
  function failOnce(method: string, path: string, reply: Reply): void {
    const before = service.route(method, path);
    service.on(method, path, reply, before);
  }

  for (const [path, ask] of gets) {
    it(`T-21 asks ${path} again after 503`, async () => {
      failOnce('GET', path, { status: 503 });
      await ask(station.client({}, PATIENT));
    });
  }

  for (const reply of [
    { status: 408 },
    { status: 429 },
    { status: 500 },
    { status: 502 },
    { status: 504 },
    'reset',
  ] as const) {
    const kind = typeof reply === 'string' ? 'a connection that breaks' : String(reply.status);
    it(`T-21 asks again after ${kind}`, async () => {
      failOnce('GET', '/picture', reply);
      await station.client({}, QUICK).snapshot('Gate', {});
      assert.equal(service.count('GET', '/picture'), 2);
    });

    it(`T-21 goes on asking where there is ${kind} again and again`, async () => {
      const client = station.client({}, PATIENT);
      const before = service.route('GET', '/picture');
      service.on('GET', '/picture', reply);
      const asking = client.snapshot('Gate', {});
      await eventually(() => service.count('GET', '/picture') >= 6, 'the sixth attempt');
      service.on('GET', '/picture', before);
      await asking;
    });
  }

  slowIt('T-21 ends at its deadline with the last failure', async () => {
    const client = station.client({}, PATIENT);
    await client.snapshot('Gate', {});
    service.on('GET', '/picture', { status: 429 }, { status: 429 }, { status: 503 });
    const error = await failure(client.snapshot('Gate', {}, { deadlineMs: 1_500 }), 'HTTP_ERROR');
    assert.equal(error.cause.status, 503);
    assert.ok((error.cause.attempts ?? 0) > 3);
  });

  for (const status of [400, 409, 501, 505]) {
    it(`T-21 does not ask again after ${status}`, async () => {
      service.on('GET', '/picture', { status });
      await failure(station.client({}, QUICK).snapshot('Gate', {}), 'HTTP_ERROR');
      assert.equal(service.count('GET', '/picture'), 1);
    });
  }

  it('T-21 waits longer from time to time', async () => {
    const before = service.route('GET', '/picture');
    service.on('GET', '/picture', { status: 503 }, { status: 503 }, before);
    await station.client({}, { retryMs: 100, longestRetryMs: 1_000 }).snapshot('Gate', {});
    // Of 100 and 200 ms up to a half each is left out.
    const [first = 0, second = 0] = service.gaps('/picture');
    assertPause(first, 50);
    assertPause(second, 100);
  });

  it('T-21 waits as long as Retry-After says in seconds', async () => {
    failOnce('GET', '/picture', { status: 503, headers: { 'Retry-After': '1' } });
    const start = performance.now();
    await station.client({}, QUICK).snapshot('Gate', {});
    assertPause(performance.now() - start, 1000);
  });

  slowIt('T-21 waits until the date of Retry-After', async () => {
    const date = new Date(Date.now() + 2_000).toUTCString();
    failOnce('GET', '/picture', { status: 429, headers: { 'Retry-After': date } });
    await station.client({}, QUICK).snapshot('Gate', {});
    assert.ok(Date.now() >= Date.parse(date) - 50);
  });

  it('T-21 fails at once where Retry-After is longer than anybody waits, and asks nothing until then', async () => {
    service.on('GET', '/picture', { status: 429, headers: { 'Retry-After': '600' } });
    const client = station.client({}, QUICK);
    await failure(client.snapshot('Gate', {}), 'RATE_LIMITED');
    await failure(client.snapshot('Gate', {}), 'RATE_LIMITED');
    assert.equal(service.count('GET', '/picture'), 1);
  });

  for (const retryAfter of ['soon', '-1', '', '1e9', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
    it(`T-21 asks again where Retry-After is "${retryAfter}"`, async () => {
      failOnce('GET', '/picture', { status: 503, headers: { 'Retry-After': retryAfter } });
      await station.client({}, QUICK).snapshot('Gate', {});
    });
  }

  const posts: [string, string, Ask][] = [
    ['a request for video', '/rtsp/Gate', (client) => client.openRtsp(LIVE)],
    ['a command', '/go', (client) => client.ptz('Gate', COMMAND)],
    [
      'a free POST',
      '/free',
      (client) => client.request({ start: 'url', url: '/free', rels: [], method: 'POST', body: {} }),
    ],
  ];
  const always = [{ status: 429 }, 'refused'] as const;
  const harmless = [
    { status: 408 },
    { status: 502 },
    { status: 503, headers: { 'Retry-After': '0' } },
    { status: 504 },
    { status: 500 },
    { status: 403, json: { code: 'CameraInUse' } },
    'reset',
    'silence',
  ] as const;
  for (const [what, path, ask] of posts) {
    for (const reply of [...always, ...harmless]) {
      const isAgain = path === '/rtsp/Gate' || always.some((other) => other === reply);
      it(`T-21 sends ${what} ${isAgain ? 'again' : 'only once'} after ${JSON.stringify(reply)}`, async () => {
        const first = reply === 'refused' ? { status: 401 } : reply;
        const client = station.client({ timeoutMs: SHORT_TIMEOUT }, QUICK);
        await client.listDevices();
        service.on('POST', path, first, path === '/rtsp/Gate' ? GRANTED : { status: 204 });
        const failed = await ask(client).then(
          () => false,
          () => true,
        );
        assert.equal(failed, !isAgain);
        assert.equal(service.count('POST', path), isAgain ? 2 : 1);
      });
    }
  }

  it('T-21 sends a command again where there was no connection to send it on', async () => {
    const client = station.client({}, PATIENT);
    await client.ptz('Gate', COMMAND);
    const { port } = service;
    await service.close();
    const moving = client.ptz('Gate', COMMAND, { deadlineMs: 60_000 });
    await eventually(() => client.state.kind === 'offline', 'the outage');
    const back = await ScriptedService.start(undefined, port);
    back.behaviour = (request) => service.route(request.method, request.path)(request);
    try {
      await moving;
      assert.equal(back.count('POST', '/go'), 1);
    } finally {
      await client.close();
      await back.close();
    }
  });

  it('T-21 does not send the login again after a failure of the service', async () => {
    service.on('POST', '/login', { status: 503 });
    await failure(station.client({}, QUICK).listDevices(), 'HTTP_ERROR');
    assert.equal(service.count('POST', '/login'), 1);
  });

  const moved: [string, string, Ask, () => void][] = [
    [
      'a snapshot',
      '/picture',
      (client) => client.snapshot('Gate', {}),
      () => {
        service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/picture-2' } } });
        service.on('GET', '/picture-2', { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') });
      },
    ],
    [
      'presets',
      '/presets',
      (client) => client.ptzTargets('Gate', 'presets'),
      () => {
        service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_presets': '/presets-2' } } });
        service.on('GET', '/presets-2', { json: [{ id: 0 }] });
      },
    ],
    [
      'video',
      '/rtsp/Gate',
      (client) => client.openRtsp(LIVE),
      () => {
        service.on('GET', '/sources/Gate', { json: { _links: { 'rel/rtsp': '/rtsp-2' } } });
        service.on('POST', '/rtsp-2', { json: { url: 'rtsp://relay.example/2' } });
      },
    ],
  ];
  for (const [what, path, ask, move] of moved) {
    it(`T-21 finds the link to ${what} anew where the known one is gone`, async () => {
      const client = station.client();
      await ask(client);
      service.on(path.startsWith('/rtsp') ? 'POST' : 'GET', path, { status: 404 });
      move();
      await ask(client);
    });
  }

  it('T-21 finds the data sources anew by the device where their address is gone', async () => {
    const client = station.client();
    await client.listDevices();
    service.on('GET', '/sources/Gate', { status: 404 });
    service.devices = [camera('gate', 'Gate', { _links: { 'rel/data_sources': '/sources-2' } })];
    service.on('GET', '/sources-2', { json: { _links: { 'rel/rtsp': '/rtsp/Gate' } } });
    await client.openRtsp(LIVE);
  });

  it('T-21 looks for a link that is gone once, and no second time', async () => {
    const client = station.client();
    await client.snapshot('Gate', {});
    service.on('GET', '/picture', { status: 404, json: { message: 'no picture' } });
    const error = await failure(client.snapshot('Gate', {}), 'HTTP_ERROR');
    assert.equal(error.cause.serverMessage, 'no picture');
    assert.ok(service.count('GET', '/picture') <= 3);
    assert.ok(service.count('GET', '/sources/Gate') <= 2);
  });

  it('T-21 finds the action of a preset anew where its address is gone, and sends it there once', async () => {
    const client = station.client();
    await client.ptz('Gate', COMMAND);
    service.on('POST', '/go', { status: 404 });
    service.on('GET', '/presets', { json: [{ id: 0, _links: { 'rel/trigger': '/go-2' } }] });
    service.on('POST', '/go-2', { status: 204 });
    await client.ptz('Gate', COMMAND);
    assert.equal(service.count('POST', '/go-2'), 1);
  });
});
