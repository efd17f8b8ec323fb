import assert from 'node:assert/strict';
import { readErrorBody } from '../../../lib/cloud/http/answer';
import type { StationClient } from '../../../lib/cloud/station-client';
import { RvmError } from '../../../lib/error';
import { cpuSeconds } from '../../support/time/event-loop';
import { FastTime } from '../../support/time/fast-time';
import { assertPause, eventually, soon } from '../../support/time/patience';
import { camera, GATE, type Reply, ScriptedService } from '../../support/service/scripted-service';
import {
  failsSoon,
  failure,
  LIVE,
  PATIENT,
  rtspForEvent,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../../support/service/scripted-station';

/** Pauses that a test can wait for. */
const QUICK = { retryMs: 40, longestRetryMs: 200 };
const JPEG = { bytes: Buffer.from('ffd8ffe00000ffd9', 'hex') };
const GRANTED = { json: { rtspRelayURL: 'rtsp://relay.example:8554/token-1' } };
const COMMAND = { action: 'goto-preset' as const, target: '0' };
const FRESH = { fresh: true };

type Ask = (client: StationClient) => Promise<unknown>;

describe('errors of any service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => {
    const _links = { 'rel/self': '/self', 'rel/data_sources': '/sources/Gate' };
    service.devices = [camera(GATE, 'Gate', { _links })];
    const links = { 'rel/rtsp': '/rtsp/Gate', 'rel/snapshot': '/picture', 'rel/ptz_presets': '/presets' };
    service.on('GET', '/sources/Gate', { json: { _links: links } });
    service.on('GET', '/presets', { json: [{ id: 0, _links: { 'rel/trigger': '/go' } }] });
    service.on('GET', '/picture', JPEG);
    service.on('GET', '/self', { json: { id: 'gate' } });
    service.on('POST', '/go', { status: 204 });
  });

  const takePicture: Ask = (client) => client.snapshot('Gate');
  const listPresets: Ask = (client) => client.ptzTargets('Gate', 'presets');

  describe('with a body', () => {
    /** What is told of an answer to the request for video. */
    async function told(reply: Reply): Promise<object> {
      service.on('POST', '/rtsp/Gate', reply);
      return (await failure(station.client().openRtsp(LIVE), 'HTTP_ERROR')).cause;
    }

    const bodies: [kind: string, text: string, message: string | undefined, code?: string][] = [
      ['code and message', '{"_type":"Error","code":"Invalid","message":"gone"}', 'gone', 'Invalid'],
      ['fields with capitals', '{"Code":12,"Message":"gone"}', 'gone', '12'],
      ['a name in meta', '{"status":"error","message":"no","meta":{"code":-25,"name":"FULL"}}', 'no', 'FULL'],
      ['a title and a detail', '{"type":"","title":"Bad","status":400,"detail":"t is wrong"}', 't is wrong'],
      ['errors by field', '{"title":"","errors":{"id":["is unknown","x"],"t":["y"]}}', 'is unknown'],
      ['an inner error', '{"error":{"code":"X","message":"inner"}}', 'inner', 'X'],
      ['a JSON text', '"all wrong"', 'all wrong'],
      ['JSON without a message', '{"ok":false}', '{"ok":false}'],
      ['a page with a title', '<!doctype html><title> Bad\n gateway </title><body>x', 'Bad gateway'],
      ['a page without a title', '<html><style>p{}</style><p>Not <b>here</b></p>', 'Not here'],
      ['a page with a script', '<h1>Oops</h1><script>x()</script>try later</body>', 'Oops try later'],
      ['a script that compares', '<script>if (a < b && c > d) f("<p>")</script><p>Gone', 'Gone'],
      ['a tag that never ends', '<p>Gone <b', 'Gone'],
      ['a page that ends in its style', '<p>Gone<style>p{', 'Gone'],
      ['an empty title', '<title> </title><h1>Gone</h1>', 'Gone'],
      ['attributes and capitals', '<HTML lang="en"><TITLE id=t>Gone</TITLE>', 'Gone'],
      ['XML', '<?xml version="1.0"?>\n<Error><Code>Gone</Code></Error>', 'Gone'],
      ['tags alone', '<html><body></body></html>', undefined],
      ['plain text', 'upstream\u0007 failed\r\n  too   large', 'upstream failed too large'],
      ['nothing', '', undefined],
      ['a page without end', 'word\n'.repeat(100_000), 'word '.repeat(40)],
      ['a code without end', JSON.stringify({ code: 'C'.repeat(5000), message: 'm' }), 'm', 'C'.repeat(60)],
      ['text within 4096 characters of a page', `<p>${' '.repeat(4000)}Gone`, 'Gone'],
      ['text behind 4096 characters of a page', `<p>${' '.repeat(5000)}Gone`, undefined],
    ];
    for (const [kind, text, serverMessage, serverCode] of bodies) {
      it(`T-20 keeps status, code and message where it is ${kind}`, async () => {
        assert.deepEqual(await told({ status: 507, text }), {
          status: 507,
          relation: 'rel/rtsp',
          attempts: 1,
          ...(serverCode !== undefined && { serverCode }),
          ...(serverMessage !== undefined && { serverMessage }),
        });
      });
    }

    it('T-20 keeps what can be read of binary data', async () => {
      const cause = await told({ status: 500, bytes: Buffer.from([0, 1, 2, 255]) });
      assert.partialDeepStrictEqual(cause, { status: 500, serverMessage: '\ufffd' });
    });

    it('T-20 tells what the service says in the message, too', async () => {
      service.on('POST', '/rtsp/Gate', { status: 400, json: { message: 'no such time' } });
      const error = await failure(station.client().openRtsp(LIVE), 'HTTP_ERROR');
      assert.match(error.message, /400.*no such time/);
    });

    it('T-20 reads a record of at most 16 KiB: a longer one is made to cost time rather than to be read', async () => {
      const record = (fields: number) => `{"code":"X","more":{${'"k":[],'.repeat(fields)}"k":1}}`;
      assert.partialDeepStrictEqual(await told({ status: 500, text: record(2300) }), { serverCode: 'X' });
      assert.ok(!('serverCode' in (await told({ status: 500, text: record(2400) }))));
    });

    for (const piece of [
      '<',
      '<title',
      '<script',
      '<script><',
      '<script></',
      '<!--',
      '<p ',
      '<p>',
      ' ',
      '&#',
      'rtsp:',
    ]) {
      it(`reads 4 MB of ${JSON.stringify(piece)} in no time`, async () => {
        const body = `<${piece.repeat(4_000_000 / piece.length)}`;
        assert.ok((await cpuSeconds(() => readErrorBody(body, ['a secret', 'p&ss "w+rd"']))) < 10);
      });
    }

    it('masks before it cuts: no half of a secret stands at the end of a message', () => {
      const secret = 'p&ss "w+rd"';
      for (const before of [190, 195, 199]) {
        for (const body of [`${'y'.repeat(before)}${secret}`, `<p>${'y'.repeat(before)}${secret}</p>`]) {
          for (const echo of [body, JSON.stringify({ message: body, code: body })]) {
            assert.doesNotMatch(JSON.stringify(readErrorBody(echo, [secret])), /p&s|p&"/);
          }
        }
      }
    });

    it('masks before it strips tags, which a secret may look like', () => {
      assert.equal(readErrorBody('<p>it is pa<ss>word', ['pa<ss>word']).serverMessage, '***');
    });
  });

  /** Answers once with what is wrong, then as before. */
  function failOnce(method: string, path: string, reply: Reply): void {
    service.on(method, path, reply, service.route(method, path));
  }

  describe('that pass', () => {
    const time = new FastTime();

    beforeEach(() => time.start());
    afterEach(async () => {
      await station.closeClients();
      time.stop();
    });

    const gets: [string, Ask][] = [
      ['/devices', (client) => client.listDevices()],
      ['/self', (client) => client.getDevice('Gate')],
      ['/sources/Gate', takePicture],
      ['/picture', takePicture],
      ['/presets', listPresets],
      ['/system', (client) => client.listDevices()],
    ];
    for (const [path, ask] of gets) {
      it(`T-21 are asked about again at ${path}`, async () => {
        failOnce('GET', path, { status: 503 });
        await ask(station.client({}, PATIENT));
      });
    }

    const passing: [string, Reply][] = [
      ...[408, 429, 500, 502, 503, 504].map((status): [string, Reply] => [`a ${status}`, { status }]),
      ['a reset', 'reset'],
      ['an answer that is cut off', 'cut'],
    ];
    for (const [what, reply] of passing) {
      it(`T-21 make a GET go out again after ${what}, with pauses that grow`, async () => {
        const client = station.client({}, { retryMs: 60, longestRetryMs: 1_000 });
        service.on('GET', '/devices', reply, reply, service.usual);
        await soon(client.listDevices());
        const [first = 0, second = 0] = service.gaps('/devices');
        // A random half of each pause is left out.
        assertPause(first, 30);
        assertPause(second, 60);
      });

      it(`T-21 end a call at its deadline where there is ${what} each time, with the last failure`, async () => {
        const client = await station.connected({}, PATIENT);
        service.on('GET', '/devices', reply);
        const calling = client.listDevices({ ...FRESH, deadlineMs: 1_000 });
        const error = await calling.catch((reason: unknown) => reason);
        assert.ok(error instanceof RvmError);
        assert.ok((error.cause.attempts ?? 0) > 2, `${error.code} after ${error.cause.attempts}`);
        assert.ok(service.count('GET', '/devices') > 3);
      });
    }

    it('T-21 count the requests for video each: the data sources, and each attempt', async () => {
      const client = await station.connected({}, QUICK);
      failOnce('POST', '/rtsp/Gate', { status: 503 });
      assert.equal((await rtspForEvent(client)).requests, 3);
    });

    it('T-21 send no POST on a connection that the service has closed while it was idle', async () => {
      const client = await station.warm();
      for (let turn = 0; turn < 20; turn += 1) {
        service.dropConnections();
        await eventually(() => service.connections === 0, 'the end of the connections');
        await rtspForEvent(client);
      }
      assert.equal(service.count('POST', '/rtsp/Gate'), 21);
    });

    it('T-21 do not hold a caller who gives up in a pause', async () => {
      service.on('GET', '/devices', { status: 503 });
      const client = station.client({}, { retryMs: 20_000, longestRetryMs: 20_000 });
      const caller = new AbortController();
      setTimeout(() => caller.abort(new DOMException('No longer.', 'TimeoutError')), 1_000);
      const calling = client.listDevices({ signal: caller.signal, deadlineMs: 600_000 });
      // What several may wait for goes on; this caller does not.
      await failsSoon(calling, 'TIMEOUT');
    });

    describe('after a time that is told', () => {
      const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();
      const limit = (retryAfter: string, status = 429) => ({
        status,
        headers: { 'Retry-After': retryAfter },
      });

      for (const status of [429, 503]) {
        it(`T-21 ${status} with seconds: a GET is not sent again before they are over`, async () => {
          failOnce('GET', '/devices', limit('1', status));
          await soon(station.client({}, QUICK).listDevices(), 80);
          const [pause = 0] = service.gaps('/devices');
          assertPause(pause, 1000);
        });

        it(`T-21 ${status} with a date: a GET is not sent again before it`, async () => {
          const date = inSeconds(2);
          service.on('GET', '/devices', limit(date, status), (request) => {
            assert.ok(Date.now() >= Date.parse(date), 'too early');
            return service.usual(request);
          });
          await station.client({}, QUICK).listDevices();
          assert.equal(service.count('GET', '/devices'), 2);
        });
      }

      it('T-21 a long one fails at once with RATE_LIMITED, and nothing of that relation is sent before it is over', async () => {
        const client = await station.warm({}, QUICK);
        failOnce('GET', '/devices', limit('60'));
        for (let turn = 0; turn < 11; turn += 1) await failsSoon(client.listDevices(FRESH), 'RATE_LIMITED');
        assert.equal(service.count('GET', '/devices'), 2);
        await rtspForEvent(client);
        time.advance(60);
        await client.listDevices(FRESH);
      });

      it('T-21 one that ends before the deadline is waited for, by a POST that opens a session, too', async () => {
        const client = await station.connected({}, QUICK);
        failOnce('POST', '/rtsp/Gate', limit('1'));
        await Promise.all([1, 2, 3].map(() => rtspForEvent(client)));
        const [pause = 0] = service.gaps('/rtsp/Gate').filter((gap) => gap > 500);
        assert.ok(pause >= 900, `${pause} ms`);
      });

      it('T-21 one that ends after the deadline of one caller, but not of another, is waited for by that one alone', async () => {
        const client = await station.connected({}, QUICK);
        failOnce('GET', '/devices', limit('3'));
        const patient = client.listDevices(FRESH);
        const took = await failsSoon(client.listDevices({ ...FRESH, deadlineMs: 2_500 }), 'RATE_LIMITED');
        assert.ok(took < 2_000, `${took} ms`);
        await patient;
        assert.equal(service.count('GET', '/devices'), 3);
      });

      it('T-21 an hour is not waited for, whatever the station does meanwhile', async () => {
        const client = await station.warm({}, QUICK);
        service.on('GET', '/devices', limit(inSeconds(3600)));
        const calls = Array.from({ length: 100 }, () => client.listDevices(FRESH));
        await Promise.all(calls.map((call) => failure(call, 'RATE_LIMITED')));
        time.advance(300);
        await failure(client.listDevices(FRESH), 'RATE_LIMITED');
        assert.equal(service.count('GET', '/devices'), 2);
        assert.equal(client.state.kind, 'connected');
      });

      it('T-21 that of a POST holds back the next POSTs of that relation', async () => {
        const client = await station.warm({}, QUICK);
        failOnce('POST', '/rtsp/Gate', limit('60'));
        for (let turn = 0; turn < 2; turn += 1) await failsSoon(rtspForEvent(client), 'RATE_LIMITED');
        assert.equal(service.count('POST', '/rtsp/Gate'), 2);
        time.advance(60);
        await rtspForEvent(client);
      });

      it('T-21 that of a login holds back the next login', async () => {
        failOnce('POST', '/login', limit('1'));
        await station.client({}, PATIENT).listDevices();
        const [pause = 0] = service.gaps('/login');
        assertPause(pause, 1000);
      });
    });
  });

  for (const none of ['', 'soon', '-5', '1e9', '12345678901', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
    it(`T-21 a Retry-After of "${none}" is as good as none`, async () => {
      failOnce('GET', '/devices', { status: 503, headers: { 'Retry-After': none } });
      // In seconds at least, it would be waited for.
      await soon(station.client({}, QUICK).listDevices(), 10);
    });
  }

  for (const status of [400, 409, 501, 505]) {
    it(`T-21 does not ask again after ${status}, which would be the same again`, async () => {
      service.on('GET', '/picture', { status });
      await failure(takePicture(station.client({}, QUICK)), 'HTTP_ERROR');
      assert.equal(service.count('GET', '/picture'), 1);
    });
  }

  const free = { start: 'url', url: '/free', rels: [], method: 'POST', body: {} } as const;
  const posts: [string, string, Ask][] = [
    ['a request for video', '/rtsp/Gate', (client) => client.openRtsp(LIVE)],
    ['a command', '/go', (client) => client.ptz('Gate', COMMAND)],
    ['a free POST', '/free', (client) => client.request(free)],
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
    'cut',
    'silence',
  ] as const;
  for (const [what, path, ask] of posts) {
    for (const reply of [...always, ...harmless]) {
      const isAgain = path === '/rtsp/Gate' || always.some((other) => other === reply);
      it(`T-21 sends ${what} ${isAgain ? 'again' : 'only once'} after ${JSON.stringify(reply)}`, async () => {
        const first = reply === 'refused' ? { status: 401 } : reply;
        const client = await station.connected({ timeoutMs: SHORT_TIMEOUT }, { retryMs: 1 });
        service.on('POST', path, first, path === '/rtsp/Gate' ? GRANTED : { status: 204 });
        const [{ status }] = await Promise.allSettled([ask(client)]);
        assert.equal(status, isAgain ? 'fulfilled' : 'rejected');
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

  const moved: [what: string, path: string, relation: string, found: Reply, ask: Ask][] = [
    ['a snapshot', '/picture', 'rel/snapshot', JPEG, takePicture],
    ['presets', '/presets', 'rel/ptz_presets', { json: [{ id: 0 }] }, listPresets],
    ['video', '/rtsp/Gate', 'rel/rtsp', GRANTED, (client) => client.openRtsp(LIVE)],
  ];
  for (const [what, path, relation, found, ask] of moved) {
    it(`T-21 finds the link to ${what} anew where the known one is gone`, async () => {
      const method = what === 'video' ? 'POST' : 'GET';
      const client = station.client();
      await ask(client);
      service.on(method, path, { status: 404 });
      service.on('GET', '/sources/Gate', { json: { _links: { [relation]: '/moved' } } });
      service.on(method, '/moved', found);
      await ask(client);
    });
  }

  it('T-21 finds the data sources anew by the device where their address is gone', async () => {
    const client = await station.connected();
    service.on('GET', '/sources/Gate', { status: 404 });
    service.devices = [camera(GATE, 'Gate', { _links: { 'rel/data_sources': '/sources-2' } })];
    service.on('GET', '/sources-2', { json: { _links: { 'rel/rtsp': '/rtsp/Gate' } } });
    await client.openRtsp(LIVE);
  });

  it('T-21 looks for a link that is gone once, and no second time', async () => {
    const client = station.client();
    await takePicture(client);
    service.on('GET', '/picture', { status: 404, json: { message: 'no picture' } });
    const error = await failure(takePicture(client), 'HTTP_ERROR');
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
