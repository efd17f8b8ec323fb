import assert from 'node:assert/strict';
import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import type { StationClient } from '../../lib/cloud/station-client';
import { JPEG } from '../support/service/pictures';
import type { Reply } from '../support/service/scripted-service';
import { failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';
import { slowIt } from '../support/suite/lanes';

const MIB = 1024 * 1024;
/** Bytes of a bomb that is unpacked: what nobody should hold. */
const BOMB = 256 * MIB;

/** Those that are asked for: how a body is packed, and many at once. */
const CODINGS: [coding: string, pack: (body: Buffer) => Buffer, packer: () => Transform][] = [
  ['gzip', gzipSync, () => createGzip({ level: 1 })],
  ['deflate', deflateSync, () => createDeflate({ level: 1 })],
  ['br', brotliCompressSync, () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
];
/** What is read beside them, and what the header calls it. */
const TOLERATED: [what: string, coding: string, pack: (body: Buffer) => Buffer][] = [
  ['x-gzip', 'X-GZIP', gzipSync],
  ['deflate without the head of zlib', 'deflate', deflateRawSync],
  ['no coding, in so many words', 'identity', (body) => body],
];

const coded = (coding: string, bytes: Buffer): Reply & object => ({
  headers: { 'Content-Encoding': coding },
  bytes,
});

describe('answers of a service that compresses', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** On a busy machine a bomb takes its time. */
  const client = (): StationClient => station.client({ timeoutMs: 30_000 });

  /** The error of a list of cameras that comes like this. */
  async function refused(reply: Reply) {
    service.on('GET', '/devices', reply);
    return failure(client().listDevices(), 'BAD_RESPONSE');
  }

  /** Packs each answer, asked or not: that of the login, those to errors, and those without a body by the header alone. */
  function compress(coding: string, pack: (body: Buffer) => Buffer): void {
    const links = { 'rel/rtsp': '/rtsp/Gate', 'rel/snapshot': '/picture' };
    service.behaviour = (request) => {
      const picture = request.path === '/picture' && { bytes: JPEG };
      const sources = request.path === '/sources/Gate' && { json: { _links: links } };
      const { json, bytes, ...rest } = Object(picture || sources || service.standard(request));
      const body: Buffer = bytes ?? Buffer.from(json === undefined ? '' : JSON.stringify(json));
      const headers = { 'Content-Type': 'application/json', ...rest.headers, 'Content-Encoding': coding };
      return { ...rest, headers, bytes: body.length === 0 ? body : pack(body) };
    };
  }

  /** Answers with a few bytes that become very many. */
  async function bomb(path: string, coding: string, packer: () => Transform): Promise<void> {
    const zeros = Buffer.alloc(MIB);
    const bytes = await buffer(Readable.from(Array(BOMB / MIB).fill(zeros)).pipe(packer()));
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/picture' } } });
    service.on('GET', path, coded(coding, bytes));
  }

  it('T-29 asks for those it can read, with each request', async () => {
    await rtspForEvent(client());
    const asked = service.seen.map(({ headers }) => headers['accept-encoding']);
    assert.deepEqual(new Set(asked), new Set(['gzip, deflate, br']));
  });

  const readable = [...CODINGS.map(([coding, pack]) => [coding, coding, pack] as const), ...TOLERATED];
  for (const [what, coding, pack] of readable) {
    it(`T-29 reads JSON, the address of a video and a picture in ${what}`, async () => {
      compress(coding, pack);
      const reader = client();
      assert.equal((await rtspForEvent(reader)).url, 'rtsp://relay.example:8554/token-1');
      assert.deepEqual((await reader.snapshot('Gate')).jpeg, JPEG);
    });

    it(`T-29 reads why a key is refused, in ${what}`, async () => {
      compress(coding, pack);
      const error = await failure(station.client({ apiKey: 'wrong' }).listDevices(), 'API_KEY_REJECTED');
      assert.equal(error.cause.serverMessage, 'key missing');
    });
  }

  it('T-29 gives api request the body as it was before, and no word of its coding', async () => {
    compress('br', brotliCompressSync);
    const wanted = { start: 'system', rels: ['rel/devices'], method: 'GET' } as const;
    const { payload, headers } = await client().request(wanted);
    assert.deepEqual(payload, { devices: service.devices });
    assert.deepEqual([headers['content-encoding'], headers['content-length']], [undefined, undefined]);
  });

  for (const coding of ['zstd', 'gzip, br', 'compress', 'gzip, gzip']) {
    it(`T-29 fails with BAD_RESPONSE that names "${coding}" where nothing else is sent`, async () => {
      const error = await refused(coded(coding, Buffer.from('{"devices":[]}')));
      assert.ok(error.message.includes(`"${coding}"`), error.message);
      assert.equal(error.cause.relation, 'rel/devices');
    });
  }

  it('T-29 repeats no key and no address of a video that stands in the name of a coding', async () => {
    const coding = `x-${service.apiKey}-rtsp://user:word@relay.example/way`;
    const { message } = await refused(coded(coding, Buffer.from('{"devices":[]}')));
    assert.ok(!message.includes(service.apiKey) && !message.includes('relay'), message);
  });

  it('T-29 takes a command as accepted whatever the body of the answer comes in', async () => {
    service.on('GET', '/sources/Gate', { json: { _links: { 'rel/home': '/home' } } });
    service.on('POST', '/home', coded('zstd', Buffer.from('done')));
    assert.equal((await client().ptz('Gate', { action: 'goto-home' })).accepted, true);
  });

  for (const [coding, pack, packer] of CODINGS) {
    const whole = pack(Buffer.from(JSON.stringify({ devices: [{ id: 'a', name: 'Gate' }] })));
    for (const [fault, bytes] of [
      ['cut', whole.subarray(0, whole.length / 2)],
      ['never packed', Buffer.from('{"devices":[]}')],
    ] as const) {
      it(`T-29 fails with BAD_RESPONSE where ${coding} is ${fault}`, async () => {
        assert.match((await refused(coded(coding, bytes))).message, /broken/);
      });
    }

    const test = coding === 'gzip' ? it : slowIt;
    test(`T-29 cuts a bomb in ${coding} at the limit, and holds no more than that`, async () => {
      await bomb('/devices', coding, packer);
      const { error, most } = await watchingMemory(() => failure(client().listDevices(), 'BAD_RESPONSE'));
      assert.match(error.message, /too large/);
      assert.ok(most < BOMB / 2, `${Math.round(most / MIB)} MiB at most`);
    });
  }

  slowIt('T-29 unpacks few at a time, however many bombs come', async () => {
    await bomb('/picture', 'br', createBrotliCompress);
    const reader = client();
    const { most } = await watchingMemory(() =>
      Promise.all(Array.from({ length: 12 }, () => failure(reader.snapshot('Gate'), 'BAD_RESPONSE'))),
    );
    assert.ok(most < BOMB, `${Math.round(most / MIB)} MiB at most`);
  });

  slowIt('T-29 holds JSON to its own limit once it is unpacked', async () => {
    const text = JSON.stringify({ devices: [], note: ' '.repeat(20 * MIB) });
    assert.match((await refused(coded('gzip', gzipSync(text)))).message, /more JSON than can be read/);
  });
});

/** The error that work gives, and the most bytes outside of the heap, where bodies are, that it took meanwhile. */
async function watchingMemory<Result>(work: () => Promise<Result>): Promise<{ error: Result; most: number }> {
  // What was packed before it is garbage by now.
  globalThis.gc?.();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 5);
  try {
    return { error: await work(), most };
  } finally {
    clearInterval(watch);
  }
}
