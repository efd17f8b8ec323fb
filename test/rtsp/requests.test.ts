import assert from 'node:assert/strict';

import { ServerUnderTest, live, recorded } from './server-under-test';

describe('RTSP requests', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  it('OPTIONS names the methods, before any token is checked', async () => {
    const server = await under.start();
    const answer = await under.ask(`${server.url}/no/such/thing`, 'OPTIONS');
    assert.equal(answer.status, 200);
    assert.equal(
      answer.headers.get('public'),
      'OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, GET_PARAMETER, TEARDOWN',
    );
  });

  it('OPTIONS may ask for the server as a whole with *', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    assert.equal((await connection.request('OPTIONS', '*')).status, 200);
  });

  it('CSeq is echoed, whatever the case of its name', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    connection.socket.write(`OPTIONS ${server.url} RTSP/1.0\r\ncSEQ: 4711\r\n\r\n`);
    assert.equal((await connection.answer()).headers.get('cseq'), '4711');
  });

  it('a request without CSeq is answered 400 and the connection goes on', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    connection.socket.write(`OPTIONS ${server.url} RTSP/1.0\r\n\r\n`);
    assert.equal((await connection.answer()).status, 400);
    assert.equal((await connection.request('OPTIONS', server.url)).status, 200);
  });

  it('a request may come byte by byte', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    for (const byte of `OPTIONS ${server.url} RTSP/1.0\r\nCSeq: 9\r\n\r\n`) connection.socket.write(byte);
    assert.equal((await connection.answer()).headers.get('cseq'), '9');
  });

  it('several requests in one segment are answered in their order', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    const one = (cseq: number): string => `OPTIONS * RTSP/1.0\r\nCSeq: ${cseq}\r\n\r\n`;
    connection.socket.write(one(1) + one(2) + one(3));
    const order = [await connection.answer(), await connection.answer(), await connection.answer()];
    assert.deepEqual(
      order.map((answer) => answer.headers.get('cseq')),
      ['1', '2', '3'],
    );
  });

  it('interleaved data of the client between requests is skipped by its length', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    const text = Buffer.from('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n');
    const report = Buffer.concat([Buffer.from([0x24, 1, 0, text.length]), text]);
    connection.socket.write(Buffer.concat([report, report]));
    connection.socket.write('OPTIONS * RTSP/1.0\r\nCSeq: 77\r\n\r\n');
    assert.equal((await connection.answer()).headers.get('cseq'), '77');
  });

  it('an unknown method is answered 501', async () => {
    const server = await under.start();
    assert.equal((await under.ask(server.grant(live()), 'FETCH')).status, 501);
  });

  for (const method of ['ANNOUNCE', 'RECORD'])
    it(`${method} is known but not allowed: 405 with Allow`, async () => {
      const server = await under.start();
      const answer = await under.ask(server.grant(live()), method);
      assert.equal(answer.status, 405);
      assert.match(answer.headers.get('allow') ?? '', /DESCRIBE/);
    });

  it('a required feature is answered 551 and named in Unsupported', async () => {
    const server = await under.start();
    const answer = await under.ask(server.grant(live()), 'DESCRIBE', { Require: 'com.example.zoom' });
    assert.equal(answer.status, 551);
    assert.equal(answer.headers.get('unsupported'), 'com.example.zoom');
  });

  it('another version of RTSP is answered 505', async () => {
    const server = await under.start();
    const connection = await under.connect(server.url);
    connection.socket.write('OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n');
    assert.equal((await connection.answer()).status, 505);
  });

  for (const path of ['', '/', '/live/cam-1', '/live/cam-1/unknown-token', '/recorded/cam-1/x/y/z'])
    it(`an address that was never given out ("${path}") is answered 404`, async () => {
      const server = await under.start();
      assert.equal((await under.ask(`${server.url}${path}`, 'DESCRIBE')).status, 404);
    });

  it('a token of another camera or of the other kind is answered 404', async () => {
    const server = await under.start();
    const url = server.grant(live());
    assert.equal((await under.ask(url.replace('cam-1', 'cam-2'), 'DESCRIBE')).status, 404);
    assert.equal((await under.ask(url.replace('/live/', '/recorded/'), 'DESCRIBE')).status, 404);
  });

  it('DESCRIBE answers SDP with its byte-exact length and a base with a slash at the end', async () => {
    const server = await under.start();
    const url = server.grant(recorded({ cameraName: 'SANDBOX Türöffner' }));
    const answer = await under.ask(url, 'DESCRIBE', { Accept: 'application/sdp' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/sdp');
    assert.equal(answer.headers.get('content-base'), `${url}/`);
    assert.equal(Number(answer.headers.get('content-length')), Buffer.byteLength(answer.body));
    assert.match(answer.body, /^s=SANDBOX Türöffner\r$/m);
    assert.ok(answer.body.endsWith('\r\n'));
  });

  it('the description carries the format, the parameter sets and the controls', async () => {
    const server = await under.start();
    const { body } = await under.ask(server.grant(recorded()), 'DESCRIBE');
    assert.match(body, /^a=rtpmap:96 H264\/90000\r$/m);
    assert.match(
      body,
      /^a=fmtp:96 packetization-mode=1;profile-level-id=42C016;sprop-parameter-sets=Z0LAF[^,]+,aM[^,]+\r$/m,
    );
    assert.ok(body.indexOf('a=control:*') < body.indexOf('m=video'));
    assert.match(body, /^m=video[\s\S]*^a=control:track1\r$/m);
  });

  it('a recording tells its length, live video has none', async () => {
    const server = await under.start({ recordingSeconds: 90 });
    assert.match((await under.ask(server.grant(recorded()), 'DESCRIBE')).body, /^a=range:npt=0-90\r$/m);
    assert.match((await under.ask(server.grant(live()), 'DESCRIBE')).body, /^a=range:npt=now-\r$/m);
  });

  it('a line break in the name of a camera cannot forge a line of the description', async () => {
    const server = await under.start();
    const url = server.grant(live({ cameraName: 'Gate\r\na=control:rtsp://192.0.2.1/' }));
    const { body } = await under.ask(url, 'DESCRIBE');
    assert.match(body, /^s=Gate a=control:rtsp:\/\/192\.0\.2\.1\/\r$/m);
  });

  it('DESCRIBE for another format than SDP is answered 406', async () => {
    const server = await under.start();
    const url = server.grant(live());
    assert.equal((await under.ask(url, 'DESCRIBE', { Accept: 'application/mheg' })).status, 406);
    assert.equal((await under.ask(url, 'DESCRIBE', { Accept: 'text/x, application/*;q=0.5' })).status, 200);
  });

  it('GET_PARAMETER without a body is a sign of life: 200 with Session', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    const answer = await player.connection.request('GET_PARAMETER', player.url, { Session: player.session });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('session'), player.session);
  });

  it('a parameter that is asked for or set is not understood: 451', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    for (const method of ['GET_PARAMETER', 'SET_PARAMETER']) {
      const headers = { Session: player.session, 'Content-Type': 'text/parameters' };
      assert.equal((await player.connection.request(method, player.url, headers, 'jitter\r\n')).status, 451);
    }
  });

  it('PLAY and PAUSE before SETUP are answered 455 with Allow', async () => {
    const server = await under.start();
    for (const method of ['PLAY', 'PAUSE']) {
      const answer = await under.ask(server.grant(live()), method);
      assert.equal(answer.status, 455);
      assert.match(answer.headers.get('allow') ?? '', /SETUP/);
    }
  });

  it('an unknown session is answered 454, by every method', async () => {
    const server = await under.start();
    const url = server.grant(live());
    for (const method of ['SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'TEARDOWN']) {
      const headers = { Session: '0123456789abcdef', Transport: 'RTP/AVP/TCP' };
      assert.equal((await under.ask(url, method, headers)).status, 454, method);
    }
  });

  it('the session of another URL is answered 454', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    const answer = await under.ask(server.grant(live()), 'PLAY', { Session: player.session });
    assert.equal(answer.status, 454);
  });

  it('TEARDOWN forgets the session', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    await player.teardown();
    assert.equal(server.sessionCount, 0);
    const answer = await player.connection.request('PLAY', player.url, { Session: player.session });
    assert.equal(answer.status, 454);
  });
});
