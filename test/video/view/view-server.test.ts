import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { signAddress } from '../../../lib/video/view/signed-address';
import type { MediaStream } from '../../../lib/video/media';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import { Gate, eventually, soon } from '../../support/time/patience';
import { MovableTimers } from '../../support/time/virtual-time';
import { CountingSource, type SourceScript } from '../../support/video/made-stream';
import {
  liveRight,
  PassedFragments,
  passedFrame,
  PREFIX,
  rightFor,
  ServedView,
} from '../../support/video/served-view';
import { byLane } from '../../support/suite/lanes';

const INIT = Buffer.from('the init segment ');

describe('the server of views', () => {
  let view: ServedView;
  let source: CountingSource;

  async function serve(script: SourceScript = {}, options: ConstructorParameters<typeof ServedView>[1] = {}) {
    source = new CountingSource(script);
    view = await new ServedView(source, options).listen();
  }

  afterEach(() => view.close());

  /** Starts a stream, with its first fragment. */
  async function streaming(part: 'recorded' | 'live' = 'recorded', url = view.page()) {
    const count = source.streams.length;
    const abort = new AbortController();
    const answer = fetch(`${url}/stream?part=${part}`, { signal: abort.signal });
    await eventually(() => source.streams.length > count, 'the stream to be opened');
    const stream = source.streams[count];
    assert.ok(stream !== undefined);
    stream.send(passedFrame(INIT, true));
    const response = await answer;
    return { response, stream, abort };
  }

  /** So many of those that were opened are still open. */
  const openIs = (count: number, what: string): Promise<void> =>
    eventually(() => source.openNow === count, what);

  /** Code and status of a fault. */
  async function fault(response: Response): Promise<[number, unknown]> {
    assert.equal(response.headers.get('content-type'), 'application/json');
    return [response.status, await response.json()];
  }

  describe('for the page', () => {
    beforeEach(() => serve());

    it('gives HTML that says what the event was', async () => {
      const response = await fetch(view.page());
      const text = await response.text();
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      for (const fact of ['Harbour Depot', 'Gate 1', 'Intrusion', '2026-03-04T05:06:07.000Z'])
        assert.ok(text.includes(fact), fact);
      assert.doesNotMatch(text, /SANDBOX/);
    });

    it('says SANDBOX where the event is one of the sandbox', async () => {
      const { facts } = rightFor();
      const text = await (await fetch(view.page(rightFor({ facts: { ...facts, sandbox: true } })))).text();
      assert.match(text, /<title>SANDBOX/);
      assert.match(text, /<strong>SANDBOX<\/strong>/);
    });

    it('opens nothing, to GET or HEAD, nor do the files that it loads', async () => {
      const text = await (await fetch(view.page())).text();
      await fetch(view.page(), { method: 'HEAD' });
      const assets = [...text.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, name]) => name);
      assert.equal(assets.length, 3);
      for (const name of assets) {
        const response = await fetch(`${view.origin}${PREFIX}${name}`);
        assert.equal(response.status, 200);
        assert.match(response.headers.get('cache-control') ?? '', /immutable/);
        await response.arrayBuffer();
      }
      assert.deepEqual([source.opened, source.pictures, source.clips], [[], 0, 0]);
    });

    it('lets the page load nothing from elsewhere, run no script in it, and be told of by nobody', async () => {
      const { headers } = await fetch(view.page());
      const policy = headers.get('content-security-policy') ?? '';
      const nothing = ['default-src', 'base-uri', 'form-action'].map((what) => `${what} 'none'`);
      for (const rule of [...nothing, "script-src 'self'", "style-src 'self'", 'frame-ancestors *'])
        assert.ok(policy.split('; ').includes(rule), rule);
      assert.partialDeepStrictEqual(Object.fromEntries(headers), {
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-robots-tag': 'noindex, nofollow',
        'cross-origin-resource-policy': 'same-origin',
      });
    });

    it('has no script or style in it, whatever the names of the event are', async () => {
      const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&`;
      const facts = { site: evil, camera: evil, rule: evil, sandbox: false };
      const text = await (await fetch(view.page(rightFor({ facts })))).text();
      assert.doesNotMatch(text, /<script>|<img|style=|onerror=(?!alert\(1\)&gt;)/);
      assert.equal(text.match(/<script/g)?.length, 1);
      assert.ok(text.includes('&lt;script&gt;alert(1)&lt;/script&gt;'));
    });

    it('speaks the language of the reader, or that of the address', async () => {
      const german = await fetch(view.page(), { headers: { 'Accept-Language': 'de-CH,en;q=0.5' } });
      assert.match(await german.text(), /<html lang="de">[^]*Link gültig bis/);
      const japanese = await fetch(`${view.page()}?lang=ja`, { headers: { 'Accept-Language': 'de' } });
      assert.match(await japanese.text(), /<html lang="ja">[^]*リンクの有効期限/);
    });

    it('says of an address that has expired that it has', async () => {
      const response = await fetch(view.page(rightFor({ expires: Date.now() - 1 })));
      assert.equal(response.status, 410);
      assert.match(await response.text(), /This link has expired/);
    });

    it('opens addresses of a former key beside those of the one that signs now', async () => {
      const former = view.page();
      view.views.useKey(randomBytes(32));
      assert.equal((await fetch(former)).status, 200);
      const now = `${view.origin}${PREFIX}${signAddress(view.views.key, rightFor())}`;
      assert.notEqual(now, former);
      assert.equal((await fetch(now)).status, 200);
      const expired = view.page(rightFor({ expires: Date.now() - 1 }));
      assert.equal((await fetch(expired)).status, 410);
    });

    it('says that an address does not work which is wrong, cut, or of a node that is gone', async () => {
      const gone = view.page(rightFor({ node: 'view-2' }));
      for (const address of [`${view.page()}x`, view.page().slice(0, -1), gone, view.origin + PREFIX]) {
        const response = await fetch(address);
        assert.equal(response.status, 404);
        assert.match(await response.text(), /This link does not work/);
      }
    });
  });

  describe('for what is none of its business', () => {
    beforeEach(() => serve());

    it('leaves requests to others that are not below its place', async () => {
      for (const target of ['/', '/red/remote-monitoring/view', '/remote-monitoring/view/x', '/red/x'])
        assert.equal(await (await fetch(view.origin + target)).text(), 'not a view', target);
    });

    it('takes GET and HEAD alone', async () => {
      const targets = [view.page(), `${view.page()}/stream?part=live`, `${view.origin}${PREFIX}assets/x`];
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        for (const target of targets) {
          const { status, headers } = await fetch(target, { method });
          assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD']);
        }
      assert.deepEqual(source.opened, []);
    });

    it('has nothing where a page has nothing', async () => {
      const streams = ['/stream', '/stream?part=both', '/stream?part=live&x=1'];
      const targets = ['/', ...streams, '/picture/', '/constructor', '/%2e%2e/x'].map(
        (at) => view.page() + at,
      );
      const assets = ['player.js', '../../settings'].map((name) => `${view.origin}${PREFIX}assets/${name}`);
      for (const target of [...targets, ...assets]) {
        const { pathname, search } = new URL(target);
        const response = await fetch(view.origin + pathname + search);
        assert.ok(response.status === 404, `${response.status} ${target}`);
      }
      assert.deepEqual(source.opened, []);
    });

    for (const guesses of byLane([100], [], [10_000]))
      it(`goes on after ${guesses} guesses as before`, async () => {
        const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
        const statuses = new Map<number, number>();
        const guess = (count: number): Promise<void> =>
          new Promise((resolve, reject) => {
            const address = signAddress(Buffer.alloc(32, count), rightFor());
            http
              .get(`${view.origin}${PREFIX}${address}/stream?part=live`, { agent }, (res) => {
                statuses.set(res.statusCode ?? 0, (statuses.get(res.statusCode ?? 0) ?? 0) + 1);
                res.resume().on('end', resolve);
              })
              .on('error', reject);
          });
        for (let begin = 0; begin < guesses; begin += 100)
          await Promise.all(Array.from({ length: 100 }, (_, index) => guess(begin + index)));
        agent.destroy();
        assert.deepEqual([...statuses], [[404, guesses]]);
        assert.deepEqual(source.opened, []);
        assert.equal((await fetch(view.page())).status, 200);
      });
  });

  describe('for a stream', () => {
    beforeEach(() => serve());

    for (const part of ['recorded', 'live'] as const) {
      it(`sends ${part} video as it comes, with its media type`, async () => {
        const { response, stream } = await streaming(part);
        assert.equal(response.headers.get('content-type'), 'video/mp4; codecs="avc1.42C015"');
        assert.equal(response.headers.get('cache-control'), 'no-store');
        stream.send(passedFrame(Buffer.from('second'), false));
        stream.end();
        assert.equal(await response.text(), 'the init segment second end');
        assert.deepEqual(source.opened, [part]);
        await openIs(0, 'the stream to be closed');
      });
    }

    it('tells how long it is at most, without which browsers take few pictures and stutter', async () => {
      await view.close();
      const told: number[] = [];
      const fragments = (_stream: MediaStream, seconds: number): PassedFragments => {
        told.push(seconds);
        return new PassedFragments();
      };
      await serve({}, { fragments });
      await streaming('recorded');
      await streaming('live');
      assert.deepEqual(told, [20, 1800]);
    });

    const EXPIRED = rightFor({ expires: Date.now() - 1 });
    const [RECORDED, LIVE, CLIP] = ['stream?part=recorded', 'stream?part=live', 'clip.mp4'];
    const [NOT_ALLOWED, GONE] = [
      [403, { code: 'NOT_ALLOWED' }] as const,
      [410, { code: 'EXPIRED' }] as const,
    ];
    for (const [title, right, targets, refusal] of [
      ['live video only where the address allows it', rightFor({ live: false }), [LIVE], NOT_ALLOWED],
      ['a recording only where the address names one', liveRight(), [RECORDED, CLIP], NOT_ALLOWED],
      ['nothing once the address has expired', EXPIRED, [RECORDED, LIVE, CLIP, 'picture'], GONE],
    ] as const)
      it(`opens ${title}`, async () => {
        for (const what of targets)
          assert.deepEqual(await fault(await fetch(`${view.page(right)}/${what}`)), refusal);
        assert.deepEqual([source.opened, source.clips, source.pictures], [[], 0, 0]);
      });

    it('is closed at once when the viewer goes, which makes room for the next', async () => {
      const { abort } = await streaming();
      abort.abort();
      await openIs(0, 'the stream to be closed');
      assert.deepEqual(view.failures, []);
    });

    it('that is opened too late for its viewer is closed again', async () => {
      await view.close();
      const gate = new Gate();
      await serve({ after: gate.opened });
      const abort = new AbortController();
      const gone = assert.rejects(fetch(`${view.page()}/stream?part=live`, { signal: abort.signal }));
      await eventually(() => source.opened.length > 0, 'the stream to be asked for');
      abort.abort();
      await gone;
      gate.open();
      await eventually(() => source.streams.length === 1 && source.openNow === 0, 'the stream to be closed');
    });

    it('is cut when the relay breaks off, and the node told why', async () => {
      const { response, stream } = await streaming();
      stream.end(new RvmError('VIDEO_FAILED', 'The relay broke off.'));
      await assert.rejects(response.text());
      const [failure, ...more] = view.failures;
      assert.deepEqual([failure?.message, more], ['The relay broke off.', []]);
    });

    it('without a single picture is a failure', async () => {
      const answer = fetch(`${view.page()}/stream?part=recorded`);
      await eventually(() => source.streams.length > 0, 'the stream to be opened');
      source.streams[0]?.end();
      assert.deepEqual(await fault(await answer), [502, { code: 'VIDEO_FAILED' }]);
    });
  });

  describe('at the end of its time', () => {
    const timers = new MovableTimers();
    afterEach(() => timers.stop());

    for (const [what, lasts, seconds] of [
      ['what is still watched', 600_000, 601],
      ['what is watched for half an hour, however long the address is good for', 100_000_000, 1801],
    ] as const)
      it(`cuts ${what}`, async () => {
        await serve();
        timers.start();
        const page = view.page(rightFor({ expires: Date.now() + lasts }));
        const { response } = await streaming('live', page);
        timers.advance(seconds);
        await assert.rejects(response.text());
        await openIs(0, 'the stream to be closed');
      });
  });

  describe('for more viewers than it has places for', () => {
    beforeEach(() => serve({}, { viewers: 2 }));

    it('says so, until one of them goes', async () => {
      const first = await streaming('recorded');
      await streaming('live');
      const third = await fetch(`${view.page()}/stream?part=live`);
      assert.deepEqual(await fault(third), [503, { code: 'VIEWERS' }]);
      assert.equal(third.headers.get('retry-after'), '5');
      assert.equal(source.opened.length, 2);
      first.abort.abort();
      await openIs(1, 'the first one to be gone');
      assert.equal((await streaming('live')).response.status, 200);
    });

    it('shows them the page all the same', async () => {
      await streaming();
      await streaming();
      assert.equal((await fetch(view.page())).status, 200);
    });
  });

  describe('for a slow viewer', () => {
    const FRAME = 256 * 1024;

    /** A viewer that reads nothing. */
    async function stuck(part: 'recorded' | 'live', monotonic = () => performance.now()) {
      await serve({}, { monotonic });
      const { pathname } = new URL(view.page());
      const { port } = new URL(view.origin);
      const socket = net.connect(Number(port), '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.pause();
      socket.write(`GET ${pathname}/stream?part=${part} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await eventually(() => source.streams.length > 0, 'the stream to be opened');
      const [stream] = source.streams;
      assert.ok(stream !== undefined);
      return { socket, stream };
    }

    it('waits with a recording, and goes on where it was', async () => {
      const { socket, stream } = await stuck('recorded');
      for (let index = 0; index < 60; index++)
        stream.send(passedFrame(Buffer.alloc(FRAME, index), index % 10 === 0));
      let taken = -1;
      await eventually(() => {
        const isStill = stream.taken === taken;
        taken = stream.taken;
        return isStill && taken > 0;
      }, 'the server to wait');
      assert.ok(stream.taken < 60, String(stream.taken));
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
      socket.resume();
      stream.end();
      await eventually(() => bytes > 60 * FRAME, 'all of the recording');
    });

    it('leaves out live pictures, from which it goes on at a key frame', async () => {
      const { socket, stream } = await stuck('live');
      for (let index = 0; index < 200; index++)
        stream.send(passedFrame(Buffer.alloc(FRAME, index === 0 ? 1 : 2), index === 0));
      await eventually(() => stream.taken === 200, 'all frames to be taken');
      const seen = new Set<number>();
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        for (const byte of chunk) seen.add(byte);
      });
      socket.resume();
      stream.send(passedFrame(Buffer.alloc(8, 3), false));
      await eventually(() => {
        stream.send(passedFrame(Buffer.alloc(8, 4), false), passedFrame(Buffer.alloc(8, 5), true));
        return seen.has(5);
      }, 'the key frame');
      // In the order in which they came first; the head of the answer and of chunks is text.
      const order = [...seen].filter((byte) => byte > 0 && byte < 9);
      assert.deepEqual(order.slice(0, 3), [1, 2, 5]);
      assert.ok(!seen.has(3));
      assert.ok(bytes < 60 * FRAME, `${bytes} bytes were kept`);
      socket.destroy();
    });

    describe('that takes nothing for 20 s', () => {
      const timers = new MovableTimers();
      beforeEach(() => timers.start());
      afterEach(() => timers.stop());

      for (const part of ['recorded', 'live'] as const)
        it(`ends ${part} video`, async () => {
          let now = 0;
          const { socket, stream } = await stuck(part, () => now);
          await eventually(() => {
            stream.send(passedFrame(Buffer.alloc(FRAME), true));
            now += 5000;
            timers.advance(5);
            return source.openNow === 0;
          }, 'the stream to be closed');
          assert.deepEqual(view.failures, []);
          socket.destroy();
        });
    });
  });

  describe('for a clip or a picture', () => {
    it('lets go of a viewer that asks for a clip and does not take it', async () => {
      await serve({ clip: Buffer.alloc(64 * 1024 * 1024) });
      const connected = new Promise<net.Socket>((resolve) => view.server.once('connection', resolve));
      const viewer = net.connect(Number(new URL(view.origin).port), '127.0.0.1');
      viewer.on('error', () => undefined).pause();
      const socket = await connected;
      viewer.write(`GET ${new URL(view.page()).pathname}/clip.mp4 HTTP/1.1\r\nHost: h\r\n\r\n`);
      await eventually(() => socket.writableLength > 0, 'the clip on its way');
      assert.equal(socket.timeout, 20_000);
      // As Node.js says it where nothing was taken in that time.
      socket.emit('timeout');
      await eventually(() => socket.destroyed, 'the end of the connection');
      viewer.destroy();
    });

    it('gives the clip whole, and in the parts that a player asks for', async () => {
      await serve({ clip: Buffer.from('0123456789') });
      const clip = `${view.page()}/clip.mp4`;
      const whole = await fetch(clip);
      assert.equal(whole.headers.get('content-type'), 'video/mp4');
      assert.equal(whole.headers.get('accept-ranges'), 'bytes');
      assert.equal(await whole.text(), '0123456789');
      const part = await fetch(clip, { headers: { Range: 'bytes=3-5' } });
      const told = [part.status, part.headers.get('content-range'), await part.text()];
      assert.deepEqual(told, [206, 'bytes 3-5/10', '345']);
      const outside = await fetch(clip, { headers: { Range: 'bytes=10-' } });
      assert.deepEqual([outside.status, outside.headers.get('content-range')], [416, 'bytes */10']);
      assert.equal(source.clips, 1);
    });

    it('gives the picture, made once for all who ask', async () => {
      await serve({ picture: Buffer.from('jpeg') });
      const page = view.page();
      const answers = await Promise.all([1, 2, 3].map(() => fetch(`${page}/picture`)));
      for (const response of answers) {
        assert.equal(response.headers.get('content-type'), 'image/jpeg');
        assert.equal(await response.text(), 'jpeg');
      }
      assert.equal(source.pictures, 1);
    });

    it('takes a picture of now anew after a while', async () => {
      let now = Date.now();
      await serve({}, { now: () => now });
      const picture = `${view.page(liveRight())}/picture`;
      await fetch(picture);
      now += 2000;
      await fetch(picture);
      assert.equal(source.pictures, 2);
    });

    it('makes no more of them at a time than there may be viewers, and none for who has gone', async () => {
      const made = new Gate();
      await serve({ after: made.opened }, { viewers: 1 });
      const abort = new AbortController();
      const first = assert.rejects(fetch(`${view.page()}/clip.mp4`, { signal: abort.signal }));
      await eventually(() => source.clips === 1, 'the clip to be made');
      const second = await fetch(`${view.page()}/picture`);
      assert.deepEqual(await fault(second), [503, { code: 'VIEWERS' }]);
      abort.abort();
      await first;
      await eventually(() => source.aborted === 1, 'the making to end');
      made.open();
      assert.equal((await fetch(`${view.page()}/picture`)).status, 200);
    });

    it('opens nothing for their heads alone', async () => {
      await serve();
      for (const what of ['picture', 'clip.mp4'])
        assert.equal((await fetch(`${view.page()}/${what}`, { method: 'HEAD' })).status, 200);
      assert.deepEqual([source.pictures, source.clips], [0, 0]);
    });
  });

  describe('for what cannot be had', () => {
    const cases: [code: RvmErrorCode, status: number][] = [
      ['VIDEO_NOT_YET', 503],
      ['VIDEO_BUSY', 503],
      ['VIDEO_FAILED', 502],
      ['DECODER_MISSING', 501],
      ['TIMEOUT', 504],
      ['DEVICE_OFFLINE', 502],
    ];
    for (const [code, status] of cases) {
      it(`answers ${status} with the code ${code}, and nothing of the error's text`, async () => {
        await serve({ failure: code });
        for (const what of ['stream?part=recorded', 'clip.mp4', 'picture'])
          assert.deepEqual(await fault(await fetch(`${view.page()}/${what}`)), [status, { code }]);
        assert.equal(view.failures.length, 3);
        // It is tried anew for the next who asks.
        await fetch(`${view.page()}/clip.mp4`);
        assert.equal(source.clips, 2);
      });
    }

    it('ends all at its end', async () => {
      await serve();
      const { response } = await streaming();
      view.views.close();
      await soon(assert.rejects(response.text()));
      await openIs(0, 'the stream to be closed');
    });
  });
});
