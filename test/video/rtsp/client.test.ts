import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { RvmError } from '../../../lib/error';
import { lenientTimeout } from '../../../lib/concurrency/timers';
import {
  AAC,
  goodReply,
  interleaved,
  PCMA,
  reply,
  ScriptedRelay,
  sdp,
  VIDEO,
  type RelayRequest,
  type Script,
  PictureSource,
} from '../../support/rtsp/scripted-relay';
import { eventually } from '../../support/time/patience';
import { Streams, take, takePictures, takeUntilFailure } from './streams';
import { slowIt } from '../../support/suite/lanes';

describe('the client of a relay', () => {
  const streams = new Streams();
  let relay: ScriptedRelay;
  let source: PictureSource;

  beforeEach(async () => {
    source = await PictureSource.load();
  });
  afterEach(async () => {
    await streams.close();
    await relay.close();
  });

  /** A relay that describes these media. */
  async function describing(
    description: string,
    more: Record<string, string> = {},
    script: Script = {},
  ): Promise<void> {
    relay = await ScriptedRelay.start({
      DESCRIBE: (request) => reply(request, 200, more, description),
      ...script,
    });
  }

  it('asks for a description, for each medium, and for all to be played', async () => {
    await describing(sdp(VIDEO, AAC));
    await streams.open(relay.url, { range: { start: 12.5 } });
    const asked = relay.requests.slice(0, 4).map(({ method, url, headers }) => {
      headers.delete('cseq');
      return [method, url.replace(relay.url, ''), Object.fromEntries(headers)];
    });
    assert.deepEqual(asked, [
      ['DESCRIBE', '', { accept: 'application/sdp' }],
      ['SETUP', '/track1', { transport: 'RTP/AVP/TCP;unicast;interleaved=0-1' }],
      ['SETUP', '/track2', { transport: 'RTP/AVP/TCP;unicast;interleaved=2-3', session: 'session-1' }],
      ['PLAY', '', { range: 'npt=12.500-', session: 'session-1' }],
    ]);
  });

  it('asks for all of it where no part is wanted', async () => {
    await describing(sdp(VIDEO));
    await streams.open(relay.url);
    assert.equal(relay.last('PLAY').headers.get('range'), 'npt=0.000-');
  });

  it('counts its requests', async () => {
    await describing(sdp(VIDEO));
    await streams.open(relay.url);
    assert.deepEqual(
      relay.requests.slice(0, 3).map(({ headers }) => headers.get('cseq')),
      ['1', '2', '3'],
    );
  });

  it('names what it leaves out', async () => {
    const second = ['m=video 0 RTP/AVP 98', 'a=rtpmap:98 H265/90000'];
    const text = ['m=application 0 RTP/AVP 107', 'a=rtpmap:107 VND.ONVIF.METADATA/90000'];
    await describing(sdp(PCMA, VIDEO, second, text, ['m=audio 0 RTP/AVP 111'], ['m=video 0 RTP/SAVP 96']));
    const stream = await streams.open(relay.url);
    assert.deepEqual(stream.leftOut, ['PCMA', 'H265', 'unknown', 'SRTP']);
    assert.equal(stream.audio, undefined);
  });

  it('takes the first video and the first sound that it can read', async () => {
    await describing(sdp(PCMA, ['m=video 0 RTP/AVP 26', 'a=control:jpeg'], VIDEO, AAC));
    const stream = await streams.open(relay.url);
    assert.deepEqual(
      relay.requests.filter(({ method }) => method === 'SETUP').map(({ url }) => url.split('/').at(-1)),
      ['track1', 'track2'],
    );
    assert.deepEqual(stream.leftOut, ['PCMA', 'JPEG']);
    assert.equal(stream.audio?.codecString, 'mp4a.40.2');
  });

  it('takes of the ways of one medium the first that it can read', async () => {
    await describing(sdp(['m=video 0 RTP/AVP 26 96', ...VIDEO.slice(1)]));
    await streams.open(relay.url);
  });

  for (const [what, media, names] of [
    ['MJPEG alone', [['m=video 0 RTP/AVP 26']], /JPEG/],
    ['encrypted video alone', [['m=video 0 RTP/SAVP 96', ...VIDEO.slice(1)]], /SRTP/],
    ['sound alone', [AAC], /describes no video/],
    ['nothing', [], /describes no video/],
  ] as const)
    it(`fails where a relay describes ${what}, and says what it is`, async () => {
      await describing(sdp(...media));
      assert.match((await streams.refusal(relay.url, 'VIDEO_FAILED')).message, names);
      assert.deepEqual(relay.methods, ['DESCRIBE']);
    });

  for (const what of ['an HTML page', 'm=', 'm=video\r\nm=video 0 RTP/AVP\r\na=rtpmap', '\0'.repeat(100)])
    it(`fails where the description is ${JSON.stringify(what.slice(0, 20))}`, async () => {
      await describing(what);
      await streams.refusal(relay.url, 'VIDEO_FAILED');
    });

  const BASES: [
    what: string,
    headers: Record<string, string>,
    control: string,
    setUp: string,
    play: string,
  ][] = [
    ['the URL', {}, 'track1', 'URL/track1', 'URL'],
    [
      'Content-Base',
      { 'Content-Base': 'rtsp://h/base/' },
      'track1',
      'rtsp://h/base/track1',
      'rtsp://h/base/',
    ],
    ['Content-Location', { 'Content-Location': 'rtsp://h/l' }, 'track1', 'rtsp://h/l/track1', 'rtsp://h/l'],
    [
      'Content-Base before Content-Location',
      { 'Content-Location': 'rtsp://h/l', 'Content-Base': 'rtsp://h/b' },
      'a=1',
      'rtsp://h/b/a=1',
      'rtsp://h/b',
    ],
    [
      'a base with a login',
      { 'Content-Base': 'rtsp://u:p@h/b' },
      'track1',
      'rtsp://h/b/track1',
      'rtsp://h/b',
    ],
    ['a base that is no URL', { 'Content-Base': '/live' }, 'track1', 'URL/track1', 'URL'],
    ['an absolute control', {}, 'rtsp://h/t?token=1', 'rtsp://h/t?token=1', 'URL'],
    ['a control of all', {}, '*', 'URL', 'URL'],
    [
      'a token in the query: put behind it',
      { 'Content-Base': 'rtsp://h/live?token=abc' },
      'track1',
      'rtsp://h/live?token=abc/track1',
      'rtsp://h/live?token=abc',
    ],
  ];
  for (const [what, headers, control, setUp, play] of BASES)
    it(`finds the addresses of media by ${what}`, async () => {
      await describing(sdp([...VIDEO.slice(0, 3), `a=control:${control}`]), headers);
      await streams.open(relay.url);
      assert.equal(relay.last('SETUP').url, setUp.replace('URL', relay.url));
      assert.equal(relay.last('PLAY').url, play.replace('URL', relay.url));
    });

  it('takes the address of all from the description, where it has one', async () => {
    await describing(sdp(VIDEO).replace('a=control:*', 'a=control:rtsp://h/all'));
    await streams.open(relay.url);
    assert.equal(relay.last('PLAY').url, 'rtsp://h/all');
  });

  for (const transport of ['RTP/AVP/TCP;unicast;interleaved=4-5;ssrc=1', 'RTP/AVP/TCP;interleaved=4'])
    it(`reads the channels that the relay has chosen: ${transport}`, async () => {
      await describing(
        sdp(VIDEO),
        {},
        {
          SETUP: (request) => reply(request, 200, { Session: 's', Transport: transport }),
        },
      );
      source = await PictureSource.load(4);
      const stream = await streams.open(relay.url);
      relay.send(source.pictures(2));
      assert.equal((await take(stream, 2)).length, 2);
    });

  for (const transport of [
    'RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001',
    'RTP/AVP/UDP;unicast',
    'RTP/AVP/TCP;interleaved=256-257',
    'RTP/AVP/TCP;interleaved=0-0',
  ])
    it(`fails where the relay would send otherwise: ${transport}`, async () => {
      await describing(
        sdp(VIDEO),
        {},
        {
          SETUP: (request) => reply(request, 200, { Session: 's', Transport: transport }),
        },
      );
      assert.match((await streams.refusal(relay.url, 'VIDEO_FAILED')).message, /UDP/);
      assert.equal(relay.methods.at(-1), 'TEARDOWN');
    });

  it('says so where a relay speaks only UDP', async () => {
    await describing(sdp(VIDEO), {}, { SETUP: (request) => reply(request, 461) });
    const { message, cause } = await streams.refusal(relay.url, 'VIDEO_FAILED');
    assert.match(message, /UDP alone/);
    assert.deepEqual(cause, { status: 461 });
  });

  it('goes without a sound that it is refused', async () => {
    await describing(
      sdp(VIDEO, AAC),
      {},
      {
        SETUP: (request) => (request.url.endsWith('track2') ? reply(request, 404) : goodReply(request)),
      },
    );
    const stream = await streams.open(relay.url);
    assert.deepEqual(stream.leftOut, ['MPEG4-GENERIC']);
    assert.equal(stream.audio, undefined);
  });

  for (const [what, answer] of [
    ['is not answered', () => undefined],
    [
      'would come otherwise',
      (request: RelayRequest) => reply(request, 200, { Session: 's', Transport: 'RTP/AVP/UDP;unicast' }),
    ],
  ] as const)
    it(`goes without a sound whose SETUP ${what}`, async () => {
      const SETUP = (request: RelayRequest): string | undefined =>
        request.url.endsWith('track2') ? answer(request) : goodReply(request);
      await describing(sdp(VIDEO, AAC), {}, { SETUP });
      const stream = await streams.open(relay.url, { limits: { soundMs: 100 } });
      assert.deepEqual(stream.leftOut, ['MPEG4-GENERIC']);
      relay.send(source.pictures(2));
      assert.equal((await take(stream, 2)).length, 2);
    });

  it('takes packets that come before and between answers, and between the lines of one', async () => {
    await describing(
      sdp(VIDEO),
      {},
      {
        PLAY: (request, socket) => {
          const [first, second, third] = [source.pictures(1), source.pictures(1), source.pictures(1)];
          const text = goodReply(request);
          const cut = text.indexOf('\r\n') + 2;
          socket.write(
            Buffer.concat([
              first,
              Buffer.from(text.slice(0, cut)),
              second,
              Buffer.from(text.slice(cut)),
              third,
            ]),
          );
          return undefined;
        },
      },
    );
    assert.equal((await take(await streams.open(relay.url), 3)).length, 3);
  });

  it('reads what comes byte by byte', async () => {
    const byByte = (text: string | Buffer, write: (piece: Buffer) => void): undefined => {
      for (const byte of Buffer.from(text)) write(Buffer.from([byte]));
      return undefined;
    };
    const drip = (request: RelayRequest, socket: { write: (piece: Buffer) => boolean }): undefined =>
      byByte(goodReply(request), (piece) => void socket.write(piece));
    relay = await ScriptedRelay.start({ DESCRIBE: drip, SETUP: drip, PLAY: drip });
    const stream = await streams.open(relay.url);
    byByte(source.pictures(2), (piece) => relay.send(piece));
    assert.equal((await take(stream, 2)).length, 2);
  });

  it('reads an answer with line feeds alone, names in capitals, and blanks', async () => {
    const odd = (request: RelayRequest): string =>
      goodReply(request)
        .replaceAll('\r\n', '\n')
        .replace('Session: ', 'SESSION :')
        .replace('Content-Length:', 'CONTENT-LENGTH :  ');
    relay = await ScriptedRelay.start({ SETUP: odd, PLAY: odd });
    await streams.open(relay.url);
    assert.equal(relay.last('PLAY').headers.get('session'), 'session-1');
  });

  it('takes an answer without a number for that to its request, and waits where there is more to come', async () => {
    const without = (request: RelayRequest): string =>
      `RTSP/1.0 100 Continue\r\n\r\n${goodReply(request).replace(/CSeq: \d+\r\n/, '')}`;
    relay = await ScriptedRelay.start({ DESCRIBE: without, SETUP: without, PLAY: without });
    await streams.open(relay.url);
  });

  it('passes over a late answer to a former request', async () => {
    relay = await ScriptedRelay.start({
      SETUP: (request) => `RTSP/1.0 404 x\r\nCSeq: 1\r\n\r\n${goodReply(request)}`,
    });
    await streams.open(relay.url);
  });

  it('answers what the relay asks: that it is there, and that it does nothing else', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    const heard: string[] = [];
    for (const socket of relay.open)
      socket.on('data', (chunk: Buffer) => heard.push(chunk.toString('latin1')));
    const asked = ['OPTIONS', 'GET_PARAMETER', 'ANNOUNCE', 'REDIRECT', 'TEARDOWN'];
    for (const [place, method] of asked.entries()) {
      const body = method === 'ANNOUNCE' ? 'v=0' : '';
      relay.send(
        `${method} rtsp://h/ RTSP/1.0\r\nCSeq: ${70 + place}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    }
    relay.send(source.pictures(1));
    assert.equal((await take(stream, 1)).length, 1);
    await eventually(() => heard.join('').includes('CSeq: 74'), 'the last answer');
    const statuses = [...heard.join('').matchAll(/RTSP\/1\.0 (\d+) [^\r]*\r\nCSeq: (7\d)/g)].map(
      ([, status]) => status,
    );
    assert.deepEqual(statuses, ['200', '200', '501', '501', '501']);
  });

  slowIt('gives up a relay that asks and asks and reads no answer', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    for (const socket of relay.open) socket.pause();
    const flood = setInterval(() => relay.send('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(20_000)), 1);
    try {
      await takeUntilFailure(stream, 'VIDEO_FAILED');
    } finally {
      clearInterval(flood);
    }
  });

  it('takes packets of channels that nobody asked for, and broken ones, for nothing', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    relay.send(interleaved(200, source.pictures(1)));
    for (const channel of [0, 1])
      for (const bytes of ['', '80', '80607f', 'ffffffffffffffffffffffff', '81cb0001', '80c8ffff00'])
        relay.send(interleaved(channel, Buffer.from(bytes, 'hex')));
    source = await PictureSource.load();
    relay.send(source.pictures(2));
    assert.equal((await take(stream, 2)).length, 2);
  });

  it('is TIMEOUT where all packets are of another channel', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url, { limits: { silenceMs: 300 } });
    const packets = setInterval(() => relay.send(interleaved(9, Buffer.alloc(20))), 20);
    try {
      await takeUntilFailure(stream, 'TIMEOUT');
    } finally {
      clearInterval(packets);
    }
  });

  it('is TIMEOUT where packets come, and no picture', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url, { limits: { pictureMs: 300 } });
    const packets = setInterval(() => relay.send(interleaved(0, Buffer.alloc(20))), 20);
    try {
      await takeUntilFailure(stream, 'TIMEOUT');
    } finally {
      clearInterval(packets);
    }
  });

  it('ends behind the last picture with a BYE, though the connection stays open', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    relay.send(Buffer.concat([source.pictures(3), source.bye()]));
    assert.equal((await takePictures(stream, 10)).length, 3);
    await eventually(() => relay.open.size === 0, 'the end of the connection');
    assert.equal(relay.methods.at(-1), 'TEARDOWN');
  });

  for (const [range, ends] of [
    ['npt=0-1', true],
    ['npt=10.5-0:00:11.5', true],
    ['clock=20260301T100000Z-20260301T100001.5Z', true],
    ['smpte=0:00:10-0:00:11', true],
    ['npt=5-', true],
    [undefined, true],
    ['npt=0-60', false],
    ['clock=20260301T100000Z-20260301T100100Z', false],
    ['npt=now-', false],
  ] as const)
    it(`that is closed after a second of ${range} ${ends ? 'has all' : 'was broken off'}`, async () => {
      const headers: Record<string, string> = range === undefined ? {} : { Range: range };
      relay = await ScriptedRelay.start({ PLAY: (request) => reply(request, 200, headers) });
      const stream = await streams.open(relay.url);
      relay.send(source.pictures(5));
      for (const socket of relay.open) socket.end();
      const frames = ends ? await take(stream, 100) : (await takeUntilFailure(stream, 'VIDEO_FAILED')).frames;
      assert.equal(frames.length, 5);
    });

  for (const range of ['npt=0-60', 'clock=20260301T100000Z-20260301T100100Z'])
    for (const played of [undefined, 'npt=59-'])
      it(`knows from ${range} in the description how long it is, where the answer to PLAY has ${played}`, async () => {
        const headers: Record<string, string> = played === undefined ? {} : { Range: played };
        const script: Script = { PLAY: (request) => reply(request, 200, headers) };
        for (const [start, ends] of [
          [59, true],
          [50, false],
        ] as const) {
          await describing(sdp([`a=range:${range}`], VIDEO), {}, script);
          const stream = await streams.open(relay.url, { range: { start } });
          relay.send(source.pictures(5));
          for (const socket of relay.open) socket.end();
          if (ends) assert.equal((await take(stream, 100)).length, 5);
          else await takeUntilFailure(stream, 'VIDEO_FAILED');
          if (ends) await relay.close();
          source = await PictureSource.load();
        }
      });

  for (const [range, ends] of [
    ['npt=0-1', true],
    ['clock=20260301T100000Z-20260301T100001Z', true],
    ['npt=0-60', false],
    ['npt=0-', false],
  ] as const)
    it(`that falls silent after a second of ${range} ${ends ? 'has all' : 'is TIMEOUT'}`, async () => {
      relay = await ScriptedRelay.start({ PLAY: (request) => reply(request, 200, { Range: range }) });
      const stream = await streams.open(relay.url, { limits: { silenceMs: 200 } });
      relay.send(source.pictures(5));
      const frames = ends ? await take(stream, 100) : (await takeUntilFailure(stream, 'TIMEOUT')).frames;
      assert.equal(frames.length, 5);
    });

  it('was broken off where live video is closed, whatever the relay says of its length', async () => {
    relay = await ScriptedRelay.start({ PLAY: (request) => reply(request, 200, { Range: 'npt=0-' }) });
    const stream = await streams.open(relay.url, { isLive: true });
    relay.send(source.pictures(5));
    for (const socket of relay.open) socket.end();
    assert.equal((await takeUntilFailure(stream, 'VIDEO_FAILED')).frames.length, 5);
  });

  it('was broken off where it is closed before a picture came', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    for (const socket of relay.open) socket.end();
    await takeUntilFailure(stream, 'VIDEO_FAILED');
  });

  describe('cancelled', () => {
    const steps = ['DESCRIBE', 'SETUP', 'PLAY'] as const;
    for (const [place, method] of steps.entries())
      it(`while ${method} is under way, leaves nothing open and tells the relay of what it has begun`, async () => {
        const cancel = new AbortController();
        relay = await ScriptedRelay.start({
          [method]: () => {
            setImmediate(() => cancel.abort());
            return undefined;
          },
        });
        await streams.refusal(relay.url, 'CANCELLED', { signal: cancel.signal });
        await eventually(() => relay.open.size === 0, 'the end of the connection');
        const farewell = method === 'PLAY' ? ['TEARDOWN'] : [];
        assert.deepEqual(relay.methods, [...steps.slice(0, place + 1), ...farewell]);
      });

    it('before it begins, opens nothing', async () => {
      relay = await ScriptedRelay.start();
      await streams.refusal(relay.url, 'CANCELLED', { signal: AbortSignal.abort() });
      assert.equal(relay.connections, 0);
    });

    it('while it plays, ends with the reason that was given, at once', async () => {
      relay = await ScriptedRelay.start();
      const cancel = new AbortController();
      const stream = await streams.open(relay.url, { signal: cancel.signal });
      relay.send(source.pictures(5));
      await take(stream, 1);
      cancel.abort(new RvmError('VIDEO_BUSY', 'Another one is more urgent.'));
      assert.equal((await takeUntilFailure(stream, 'VIDEO_BUSY')).frames.length, 0);
      await eventually(() => relay.open.size === 0, 'the end of the connection');
      assert.equal(relay.methods.at(-1), 'TEARDOWN');
    });

    it('listens to a signal once, however many streams that ends', async () => {
      relay = await ScriptedRelay.start();
      const { signal } = new AbortController();
      for (let count = 0; count < 3; count += 1) {
        const stream = await streams.open(relay.url, { signal });
        await stream.close();
      }
      assert.equal(getEventListeners(signal, 'abort').length, 1);
    });
  });

  it('closes the stream where its consumer leaves the loop', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    relay.send(source.pictures(5));
    for await (const frame of stream) {
      assert.ok(frame.kind === 'video' && frame.key);
      break;
    }
    assert.equal(relay.methods.at(-1), 'TEARDOWN');
    await eventually(() => relay.open.size === 0, 'the end of the connection');
  });

  it('closes within its limit where the relay does not read any more', async () => {
    relay = await ScriptedRelay.start({ TEARDOWN: () => undefined });
    const stream = await streams.open(relay.url, { limits: { farewellMs: 100 } });
    let isLate = false;
    const late = lenientTimeout(() => (isLate = true), 20_000);
    await Promise.all([stream.close(), stream.close()]);
    clearTimeout(late);
    assert.equal(isLate, false);
    assert.equal(relay.methods.filter((method) => method === 'TEARDOWN').length, 1);
  });

  slowIt('reads no more than a few frames ahead of its consumer, and all of them in the end', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url, { limits: { queuedFrames: 20 } });
    const sent = 30_000;
    for (let count = 0; count < sent; count += 300) relay.send(source.pictures(300));
    relay.send(source.bye());
    const [socket] = relay.open;
    assert.ok(socket !== undefined);
    let former = -1;
    await eventually(() => {
      const isStill = socket.writableLength === former;
      former = socket.writableLength;
      return isStill && former > 0;
    }, 'the relay to be held back');
    assert.equal((await take(stream, sent + 1)).length, sent);
  });
});
