import assert from 'node:assert/strict';
import type { GrantRequest } from '../../sandbox/rtsp/server';
import { serverOfEachTest, live, recorded } from './server-under-test';

const OPTIONS = 'OPTIONS * RTSP/1.0\r\nCSeq: 77\r\n\r\n';

describe('RTSP requests', () => {
  const under = serverOfEachTest();

  it('OPTIONS names the methods, before any token is checked', async () => {
    const server = await under.start();
    const { status, headers } = await under.ask(`${server.url}/no/such/thing`, 'OPTIONS');
    const methods = 'OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, GET_PARAMETER, TEARDOWN';
    assert.deepEqual([status, headers.get('public')], [200, methods]);
  });

  it('a request without CSeq is answered 400 and the connection goes on', async () => {
    const connection = await under.connected();
    connection.socket.write('OPTIONS * RTSP/1.0\r\n\r\n');
    assert.equal((await connection.answer()).status, 400);
    assert.equal((await connection.request('OPTIONS', '*')).status, 200);
  });

  const skipped = Buffer.concat([Buffer.from([0x24, 1, 0, OPTIONS.length]), Buffer.from(OPTIONS)]);
  const pieces: [what: string, pieces: readonly (string | Buffer)[], answers: string[]][] = [
    ['CSeq is echoed, whatever the case of its name', [OPTIONS.replace('CSeq', 'cSEQ')], ['77']],
    ['a request may come byte by byte', OPTIONS.split(''), ['77']],
    [
      'several requests in one segment are answered in their order',
      [[1, 2, 3].map((cseq) => OPTIONS.replace('77', `${cseq}`)).join('')],
      ['1', '2', '3'],
    ],
    [
      'interleaved data of the client between requests is skipped by its length',
      [Buffer.concat([skipped, skipped]), OPTIONS.replace('77', '4711')],
      ['4711'],
    ],
  ];
  for (const [what, sent, expected] of pieces)
    it(what, async () => {
      const connection = await under.connected();
      for (const piece of sent) connection.socket.write(piece);
      for (const cseq of expected) assert.equal((await connection.answer()).headers.get('cseq'), cseq);
    });

  it('another version of RTSP is answered 505', async () => {
    const connection = await under.connected();
    connection.socket.write(OPTIONS.replace('1.0', '2.0'));
    assert.equal((await connection.answer()).status, 505);
  });

  type Refused = [what: string, method: string, status: number, sent: Record<string, string>, told: string];
  const REFUSED: Refused[] = [
    ['an unknown method', 'FETCH', 501, {}, ''],
    ['ANNOUNCE, which is known but not allowed,', 'ANNOUNCE', 405, {}, 'allow: DESCRIBE'],
    ['RECORD, which is known but not allowed,', 'RECORD', 405, {}, 'allow: DESCRIBE'],
    ['a required feature', 'DESCRIBE', 551, { Require: 'com.example.zoom' }, 'unsupported: com.example.zoom'],
    ['DESCRIBE for another format than SDP', 'DESCRIBE', 406, { Accept: 'application/mheg' }, ''],
    ['PLAY before SETUP', 'PLAY', 455, {}, 'allow: SETUP'],
    ['PAUSE before SETUP', 'PAUSE', 455, {}, 'allow: SETUP'],
    ...['SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'TEARDOWN'].map((method): Refused => {
      const headers = { Session: '0123456789abcdef', Transport: 'RTP/AVP/TCP' };
      return [`an unknown session by ${method}`, method, 454, headers, ''];
    }),
  ];
  for (const [what, method, status, sent, told] of REFUSED)
    it(`${what} is answered ${status}${told === '' ? '' : ` with ${told}`}`, async () => {
      const answer = await under.answer(method, live(), sent);
      assert.equal(answer.status, status);
      const [name = '', value = ''] = told.split(': ');
      assert.ok((answer.headers.get(name) ?? '').includes(value));
    });

  for (const path of ['', '/', '/live/cam-1', '/live/cam-1/unknown-token', '/recorded/cam-1/x/y/z'])
    it(`an address that was never given out ("${path}") is answered 404`, async () => {
      const server = await under.start();
      assert.equal((await under.ask(`${server.url}${path}`, 'DESCRIBE')).status, 404);
    });

  it('a token of another camera or of the other kind is answered 404', async () => {
    const url = await under.granted(live());
    assert.equal((await under.ask(url.replace('cam-1', 'cam-2'), 'DESCRIBE')).status, 404);
    assert.equal((await under.ask(url.replace('/live/', '/recorded/'), 'DESCRIBE')).status, 404);
  });

  it('DESCRIBE answers SDP with its byte-exact length and a base with a slash at the end', async () => {
    const url = await under.granted(recorded({ cameraName: 'SANDBOX Türöffner' }));
    const { status, headers, body } = await under.ask(url, 'DESCRIBE', { Accept: 'application/sdp' });
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/sdp');
    assert.equal(headers.get('content-base'), `${url}/`);
    assert.equal(Number(headers.get('content-length')), Buffer.byteLength(body));
    assert.match(body, /^s=SANDBOX Türöffner\r$/m);
    assert.ok(body.endsWith('\r\n'));
  });

  it('DESCRIBE for one format of several that are SDP, or may be, is answered', async () => {
    const accept = { Accept: 'text/x, application/*;q=0.5' };
    assert.equal((await under.answer('DESCRIBE', live(), accept)).status, 200);
  });

  const H264 =
    /^a=fmtp:96 packetization-mode=1;profile-level-id=42C016;sprop-parameter-sets=Z0LAF[^,]+,aM[^,]+\r$/m;
  const DESCRIBED: [what: string, request: GrantRequest, line: RegExp][] = [
    ['the format', recorded(), /^a=rtpmap:96 H264\/90000\r$/m],
    ['the parameter sets', recorded(), H264],
    ['the controls of whole and track', recorded(), /^a=control:\*[^]*^m=video[^]*^a=control:track1\r$/m],
    ['the length of a recording', recorded(), /^a=range:npt=0-90\r$/m],
    ['that live video has no length', live(), /^a=range:npt=now-\r$/m],
    [
      'the name of a camera in one line, so that it cannot forge another',
      live({ cameraName: 'Gate\r\na=control:rtsp://192.0.2.1/' }),
      /^s=Gate a=control:rtsp:\/\/192\.0\.2\.1\/\r$/m,
    ],
  ];
  for (const [what, request, line] of DESCRIBED)
    it(`the description carries ${what}`, async () => {
      assert.match((await under.answer('DESCRIBE', request, {}, { recordingSeconds: 90 })).body, line);
    });

  it('GET_PARAMETER without a body is a sign of life: 200 with Session', async () => {
    const { connection, url, session } = await under.ready(live());
    const { status, headers } = await connection.request('GET_PARAMETER', url, { Session: session });
    assert.deepEqual([status, headers.get('session')], [200, session]);
  });

  for (const method of ['GET_PARAMETER', 'SET_PARAMETER'])
    it(`a parameter is not understood by ${method}: 451`, async () => {
      const { connection, url, session } = await under.ready(live());
      const headers = { Session: session, 'Content-Type': 'text/parameters' };
      assert.equal((await connection.request(method, url, headers, 'jitter\r\n')).status, 451);
    });

  it('the session of another URL is answered 454', async () => {
    const server = await under.start();
    const { session } = await under.readyPlayer(server.grant(live()));
    assert.equal((await under.ask(server.grant(live()), 'PLAY', { Session: session })).status, 454);
  });

  it('TEARDOWN forgets the session', async () => {
    const player = await under.ready(live());
    await player.teardown();
    assert.equal(under.server.sessionCount, 0);
    await assert.rejects(player.play(), { status: 454 });
  });
});
