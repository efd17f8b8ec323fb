import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { RvmError } from '../../../lib/error';
import type { MediaStream } from '../../../lib/video/media';
import { lenientTimeout } from '../../../lib/concurrency/timers';
import {
  AAC,
  goodReply,
  interleaved,
  PCMA,
  reply,
  sdp,
  VIDEO,
  type RelayRequest,
  type Script,
} from '../../support/rtsp/scripted-relay';
import { eventually } from '../../support/time/patience';
import { PlayedRelay, take, takePictures, takeUntilFailure } from './streams';
import { slowIt } from '../../support/suite/lanes';

describe('the client of a relay', () => {
  const at = new PlayedRelay();

  /** The answers of a relay that describes these media. */
  const describing = (description: string, more: Record<string, string> = {}): Script => ({
    DESCRIBE: (request) => reply(request, 200, more, description),
  });
  const withPlay = (range: string | undefined): Script => ({
    PLAY: (request) => reply(request, 200, range === undefined ? {} : { Range: range }),
  });
  /** That all is there, or that it was broken off, where the relay closes behind five pictures. */
  async function assertEnds(stream: MediaStream, ends: boolean): Promise<void> {
    at.send(at.source.pictures(5));
    at.hangUp();
    const frames = ends ? await take(stream, 100) : (await takeUntilFailure(stream, 'VIDEO_FAILED')).frames;
    assert.equal(frames.length, 5);
  }
  const transported = (transport: string) => (request: RelayRequest) =>
    reply(request, 200, { Session: 's', Transport: transport });

  it('asks for a description, for each medium, and for all to be played, and counts its requests', async () => {
    await at.play(describing(sdp(VIDEO, AAC)));
    const asked = at.relay.requests
      .slice(0, 4)
      .map(({ method, url, headers }) => [
        method,
        url.replace(at.relay.url, ''),
        [...headers].map((header) => header.join(': ')).join(', '),
      ]);
    assert.deepEqual(asked, [
      ['DESCRIBE', '', 'cseq: 1, accept: application/sdp'],
      ['SETUP', '/track1', 'cseq: 2, transport: RTP/AVP/TCP;unicast;interleaved=0-1'],
      ['SETUP', '/track2', 'cseq: 3, transport: RTP/AVP/TCP;unicast;interleaved=2-3, session: session-1'],
      ['PLAY', '', 'cseq: 4, range: npt=0.000-, session: session-1'],
    ]);
  });

  it('asks for all of it where no part is wanted', async () => {
    await at.play(describing(sdp(VIDEO)));
    assert.equal(at.relay.last('PLAY').headers.get('range'), 'npt=0.000-');
  });

  it('names what it leaves out', async () => {
    const second = ['m=video 0 RTP/AVP 98', 'a=rtpmap:98 H265/90000'];
    const text = ['m=application 0 RTP/AVP 107', 'a=rtpmap:107 VND.ONVIF.METADATA/90000'];
    const others = [second, text, ['m=audio 0 RTP/AVP 111'], ['m=video 0 RTP/SAVP 96']];
    const stream = await at.play(describing(sdp(PCMA, VIDEO, ...others)));
    assert.deepEqual(stream.leftOut, ['PCMA', 'H265', 'unknown', 'SRTP']);
    assert.equal(stream.audio, undefined);
  });

  it('takes the first video and the first sound that it can read', async () => {
    const jpeg = ['m=video 0 RTP/AVP 26', 'a=control:jpeg'];
    const stream = await at.play(describing(sdp(PCMA, jpeg, VIDEO, AAC)));
    const setUp = at.relay.requests.filter(({ method }) => method === 'SETUP');
    assert.equal(setUp.map(({ url }) => url.split('/').at(-1)).join(), 'track1,track2');
    assert.deepEqual(stream.leftOut, ['PCMA', 'JPEG']);
    assert.equal(stream.audio?.codecString, 'mp4a.40.2');
  });

  it('takes of the ways of one medium the first that it can read', async () => {
    await at.play(describing(sdp(['m=video 0 RTP/AVP 26 96', ...VIDEO.slice(1)])));
  });

  for (const [what, media, names] of [
    ['MJPEG alone', [['m=video 0 RTP/AVP 26']], /JPEG/],
    ['encrypted video alone', [['m=video 0 RTP/SAVP 96', ...VIDEO.slice(1)]], /SRTP/],
    ['sound alone', [AAC], /describes no video/],
    ['nothing', [], /describes no video/],
  ] as const)
    it(`fails where a relay describes ${what}, and says what it is`, async () => {
      await at.start(describing(sdp(...media)));
      assert.match((await at.refusal(at.relay.url, 'VIDEO_FAILED')).message, names);
      assert.deepEqual(at.relay.methods, ['DESCRIBE']);
    });

  for (const what of ['an HTML page', 'm=', 'm=video\r\nm=video 0 RTP/AVP\r\na=rtpmap', '\0'.repeat(100)])
    it(`fails where the description is ${JSON.stringify(what.slice(0, 20))}`, async () => {
      await at.start(describing(what));
      await at.refusal(at.relay.url, 'VIDEO_FAILED');
    });

  const CONTENT = (base: string): Record<string, string> => ({ 'Content-Base': base });
  const LOCATION = { 'Content-Location': 'rtsp://h/l' };
  type Base = [what: string, Record<string, string>, control: string, setUp: string, play: string];
  const BASES: Base[] = [
    ['the URL', {}, 'track1', 'URL/track1', 'URL'],
    ['Content-Base', CONTENT('rtsp://h/b/'), 'track1', 'rtsp://h/b/track1', 'rtsp://h/b/'],
    ['Content-Location', LOCATION, 'track1', 'rtsp://h/l/track1', 'rtsp://h/l'],
    ['both', { ...LOCATION, ...CONTENT('rtsp://h/b') }, 'a=1', 'rtsp://h/b/a=1', 'rtsp://h/b'],
    ['a base with a login', CONTENT('rtsp://u:p@h/b'), 'track1', 'rtsp://h/b/track1', 'rtsp://h/b'],
    ['a base that is no URL', CONTENT('/live'), 'track1', 'URL/track1', 'URL'],
    ['an absolute control', {}, 'rtsp://h/t?token=1', 'rtsp://h/t?token=1', 'URL'],
    ['a control of all', {}, '*', 'URL', 'URL'],
    ['a token: put behind it', CONTENT('rtsp://h/l?t'), 'track1', 'rtsp://h/l?t/track1', 'rtsp://h/l?t'],
  ];
  for (const [what, headers, control, setUp, play] of BASES)
    it(`finds the addresses of media by ${what}`, async () => {
      await at.play(describing(sdp([...VIDEO.slice(0, 3), `a=control:${control}`]), headers));
      assert.equal(at.relay.last('SETUP').url, setUp.replace('URL', at.relay.url));
      assert.equal(at.relay.last('PLAY').url, play.replace('URL', at.relay.url));
    });

  it('takes the address of all from the description, where it has one', async () => {
    await at.play(describing(sdp(VIDEO).replace('a=control:*', 'a=control:rtsp://h/all')));
    assert.equal(at.relay.last('PLAY').url, 'rtsp://h/all');
  });

  for (const transport of ['RTP/AVP/TCP;unicast;interleaved=4-5;ssrc=1', 'RTP/AVP/TCP;interleaved=4'])
    it(`reads the channels that the relay has chosen: ${transport}`, async () => {
      await at.reload(4);
      const stream = await at.play({ SETUP: transported(transport) });
      at.send(at.source.pictures(2));
      assert.equal((await take(stream, 2)).length, 2);
    });

  for (const transport of [
    'RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001',
    'RTP/AVP/UDP;unicast',
    'RTP/AVP/TCP;interleaved=256-257',
    'RTP/AVP/TCP;interleaved=0-0',
  ])
    it(`fails where the relay would send otherwise: ${transport}`, async () => {
      const relay = await at.start({ SETUP: transported(transport) });
      assert.match((await at.refusal(relay.url, 'VIDEO_FAILED')).message, /UDP/);
      assert.equal(relay.methods.at(-1), 'TEARDOWN');
    });

  it('says so where a relay speaks only UDP', async () => {
    const { url } = await at.start({ SETUP: (request) => reply(request, 461) });
    const { message, cause } = await at.refusal(url, 'VIDEO_FAILED');
    assert.match(message, /UDP alone/);
    assert.deepEqual(cause, { status: 461 });
  });

  for (const [what, answer] of [
    ['is refused', (request: RelayRequest) => reply(request, 404)],
    ['is not answered', () => undefined],
    ['would come otherwise', transported('RTP/AVP/UDP;unicast')],
  ] as const)
    it(`goes without a sound whose SETUP ${what}`, async () => {
      const SETUP = (request: RelayRequest): string | undefined =>
        request.url.endsWith('track2') ? answer(request) : goodReply(request);
      const script = { ...describing(sdp(VIDEO, AAC)), SETUP };
      const stream = await at.play(script, { limits: { soundMs: 100 } });
      assert.deepEqual([stream.leftOut, stream.audio], [['MPEG4-GENERIC'], undefined]);
      at.send(at.source.pictures(2));
      assert.equal((await take(stream, 2)).length, 2);
    });

  it('takes packets that come before and between answers, and between the lines of one', async () => {
    const PLAY: Script['PLAY'] = (request) => {
      const [first = '', ...more] = goodReply(request).split(/(?<=\r\n)/);
      const picture = (): Buffer => at.source.pictures(1);
      return Buffer.concat([picture(), Buffer.from(first), picture(), Buffer.from(more.join('')), picture()]);
    };
    const stream = await at.play({ PLAY });
    assert.equal((await take(stream, 3)).length, 3);
  });

  it('reads what comes byte by byte', async () => {
    const byByte = (text: string | Buffer, write: (piece: Buffer) => void): undefined => {
      for (const byte of Buffer.from(text)) write(Buffer.from([byte]));
      return undefined;
    };
    const drip = (request: RelayRequest, socket: { write: (piece: Buffer) => boolean }): undefined =>
      byByte(goodReply(request), (piece) => void socket.write(piece));
    const stream = await at.play({ DESCRIBE: drip, SETUP: drip, PLAY: drip });
    byByte(at.source.pictures(2), (piece) => at.send(piece));
    assert.equal((await take(stream, 2)).length, 2);
  });

  it('reads an answer with line feeds alone, names in capitals, and blanks', async () => {
    const odd = (request: RelayRequest): string =>
      goodReply(request)
        .replaceAll('\r\n', '\n')
        .replace('Session: ', 'SESSION :')
        .replace('Content-Length:', 'CONTENT-LENGTH :  ');
    await at.play({ SETUP: odd, PLAY: odd });
    assert.equal(at.relay.last('PLAY').headers.get('session'), 'session-1');
  });

  it('takes an answer without a number for that to its request, and waits where there is more to come', async () => {
    const without = (request: RelayRequest): string =>
      `RTSP/1.0 100 Continue\r\n\r\n${goodReply(request).replace(/CSeq: \d+\r\n/, '')}`;
    await at.play({ DESCRIBE: without, SETUP: without, PLAY: without });
  });

  it('passes over a late answer to a former request', async () => {
    await at.play({ SETUP: (request) => `RTSP/1.0 404 x\r\nCSeq: 1\r\n\r\n${goodReply(request)}` });
  });

  it('answers what the relay asks: that it is there, and that it does nothing else', async () => {
    const stream = await at.play();
    const heard: string[] = [];
    for (const socket of at.relay.open)
      socket.on('data', (chunk: Buffer) => heard.push(chunk.toString('latin1')));
    const asked = ['OPTIONS', 'GET_PARAMETER', 'ANNOUNCE', 'REDIRECT', 'TEARDOWN'];
    for (const [place, method] of asked.entries()) {
      const body = method === 'ANNOUNCE' ? 'v=0' : '';
      const headers = `CSeq: ${70 + place}\r\nContent-Length: ${body.length}`;
      at.send(`${method} rtsp://h/ RTSP/1.0\r\n${headers}\r\n\r\n${body}`);
    }
    at.send(at.source.pictures(1));
    assert.equal((await take(stream, 1)).length, 1);
    await eventually(() => heard.join('').includes('CSeq: 74'), 'the last answer');
    const answers = heard.join('').matchAll(/RTSP\/1\.0 (\d+) [^\r]*\r\nCSeq: 7\d/g);
    assert.equal([...answers].map(([, status]) => status).join(), '200,200,501,501,501');
  });

  slowIt('gives up a relay that asks and asks and reads no answer', async () => {
    // A busy machine takes its time for that many.
    const stream = await at.play({}, { limits: { silenceMs: 60_000 } });
    for (const socket of at.relay.open) socket.pause();
    const flood = setInterval(() => at.send('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(20_000)), 1);
    try {
      await takeUntilFailure(stream, 'VIDEO_FAILED');
    } finally {
      clearInterval(flood);
    }
  });

  it('takes packets of channels that nobody asked for, and broken ones, for nothing', async () => {
    const stream = await at.play();
    at.send(interleaved(200, at.source.pictures(1)));
    for (const channel of [0, 1])
      for (const bytes of ['', '80', '80607f', 'ffffffffffffffffffffffff', '81cb0001', '80c8ffff00'])
        at.send(interleaved(channel, Buffer.from(bytes, 'hex')));
    await at.reload();
    at.send(at.source.pictures(2));
    assert.equal((await take(stream, 2)).length, 2);
  });

  for (const [what, limits, channel] of [
    ['all packets are of another channel', { silenceMs: 300 }, 9],
    ['packets come, and no picture', { pictureMs: 300 }, 0],
  ] as const)
    it(`is TIMEOUT where ${what}`, async () => {
      const stream = await at.play({}, { limits });
      const packets = setInterval(() => at.send(interleaved(channel, Buffer.alloc(20))), 20);
      await takeUntilFailure(stream, 'TIMEOUT').finally(() => clearInterval(packets));
    });

  it('ends behind the last picture with a BYE, though the connection stays open', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(3), at.source.bye());
    assert.equal((await takePictures(stream, 10)).length, 3);
    await eventually(() => at.relay.open.size === 0, 'the end of the connection');
    assert.equal(at.relay.methods.at(-1), 'TEARDOWN');
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
      await assertEnds(await at.play(withPlay(range)), ends);
    });

  for (const [range, ends] of [
    ['npt=0-1', true],
    ['npt=0-60', false],
  ] as const)
    it(`knows from ${range} in the description how long it is, where the answer to PLAY does not say`, async () => {
      const script = { ...describing(sdp([`a=range:${range}`], VIDEO)), ...withPlay(undefined) };
      await assertEnds(await at.play(script), ends);
    });

  for (const [range, ends] of [
    ['npt=0-1', true],
    ['clock=20260301T100000Z-20260301T100001Z', true],
    ['npt=0-60', false],
    ['npt=0-', false],
  ] as const)
    it(`that falls silent after a second of ${range} ${ends ? 'has all' : 'is TIMEOUT'}`, async () => {
      const stream = await at.play(withPlay(range), { limits: { silenceMs: 200 } });
      at.send(at.source.pictures(5));
      const frames = ends ? await take(stream, 100) : (await takeUntilFailure(stream, 'TIMEOUT')).frames;
      assert.equal(frames.length, 5);
    });

  it('was broken off where live video is closed, whatever the relay says of its length', async () => {
    await assertEnds(await at.play(withPlay('npt=0-'), { isLive: true }), false);
  });

  it('was broken off where it is closed before a picture came', async () => {
    const stream = await at.play();
    at.hangUp();
    await takeUntilFailure(stream, 'VIDEO_FAILED');
  });

  describe('cancelled', () => {
    const steps = ['DESCRIBE', 'SETUP', 'PLAY'] as const;
    for (const [place, method] of steps.entries())
      it(`while ${method} is under way, leaves nothing open and tells the relay of what it has begun`, async () => {
        const cancel = new AbortController();
        await at.start({ [method]: () => void setImmediate(() => cancel.abort()) });
        await at.refusal(at.relay.url, 'CANCELLED', { signal: cancel.signal });
        await eventually(() => at.relay.open.size === 0, 'the end of the connection');
        const farewell = method === 'PLAY' ? ['TEARDOWN'] : [];
        assert.deepEqual(at.relay.methods, [...steps.slice(0, place + 1), ...farewell]);
      });

    it('before it begins, opens nothing', async () => {
      await at.start();
      await at.refusal(at.relay.url, 'CANCELLED', { signal: AbortSignal.abort() });
      assert.equal(at.relay.connections, 0);
    });

    it('while it plays, ends with the reason that was given, at once', async () => {
      const cancel = new AbortController();
      const stream = await at.play({}, { signal: cancel.signal });
      at.send(at.source.pictures(5));
      await take(stream, 1);
      cancel.abort(new RvmError('VIDEO_BUSY', 'Another one is more urgent.'));
      assert.equal((await takeUntilFailure(stream, 'VIDEO_BUSY')).frames.length, 0);
      await eventually(() => at.relay.open.size === 0, 'the end of the connection');
      assert.equal(at.relay.methods.at(-1), 'TEARDOWN');
    });

    it('listens to a signal once, however many streams that ends', async () => {
      await at.start();
      const { signal } = new AbortController();
      for (let count = 0; count < 3; count += 1) await (await at.open(at.relay.url, { signal })).close();
      assert.equal(getEventListeners(signal, 'abort').length, 1);
    });
  });

  it('closes the stream where its consumer leaves the loop', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(5));
    for await (const frame of stream) {
      assert.ok(frame.kind === 'video' && frame.key);
      break;
    }
    assert.equal(at.relay.methods.at(-1), 'TEARDOWN');
    await eventually(() => at.relay.open.size === 0, 'the end of the connection');
  });

  it('closes within its limit where the relay does not read any more', async () => {
    const stream = await at.play({ TEARDOWN: () => undefined }, { limits: { farewellMs: 100 } });
    let isLate = false;
    const late = lenientTimeout(() => (isLate = true), 20_000);
    await Promise.all([stream.close(), stream.close()]);
    clearTimeout(late);
    assert.equal(isLate, false);
    assert.equal(at.relay.methods.filter((method) => method === 'TEARDOWN').length, 1);
  });

  slowIt('reads no more than a few frames ahead of its consumer, and all of them in the end', async () => {
    const stream = await at.play({}, { limits: { queuedFrames: 20 } });
    const sent = 30_000;
    for (let count = 0; count < sent; count += 300) at.send(at.source.pictures(300));
    at.send(at.source.bye());
    const [socket] = at.relay.open;
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
