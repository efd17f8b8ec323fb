import assert from 'node:assert/strict';

import type { RtspFault } from '../../sandbox/rtsp/server';
import { fixtureSecond } from '../support/rtsp/fixture';
import { receivePictures, reportTypes } from '../support/rtsp/rtsp-client';
import { ServerUnderTest, live, recorded } from './server-under-test';
import { assertPause } from '../support/time/patience';

describe('RTSP faults on demand', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  it('silent: DESCRIBE is never answered, and the connection stays open', async () => {
    const server = await under.start();
    server.setFault({ kind: 'silent' });
    const connection = await under.connect(server.url);
    connection.send('DESCRIBE', server.grant(live()));
    await assert.rejects(connection.answer(150), /No answer within/);
    assert.equal((await connection.request('OPTIONS', '*')).status, 200);
  });

  it('slow: the answer comes late', async () => {
    const server = await under.start();
    server.setFault({ kind: 'slow', ms: 200 });
    const begin = performance.now();
    assert.equal((await under.ask(server.grant(live()), 'DESCRIBE')).status, 200);
    assertPause(performance.now() - begin, 200);
  });

  it('slow: a client that leaves meanwhile, or a server that closes, does no harm', async () => {
    const server = await under.start();
    server.setFault({ kind: 'slow', ms: 60_000 });
    const connection = await under.connect(server.url);
    connection.send('DESCRIBE', server.grant(live()));
    const leaver = await under.connect(server.url);
    leaver.send('DESCRIBE', server.grant(live()));
    // Answered at once, as OPTIONS always is: both requests have come in.
    assert.equal((await under.ask(server.url, 'OPTIONS')).status, 200);
    leaver.socket.resetAndDestroy();
    assert.equal((await under.ask(server.url, 'OPTIONS')).status, 200);
    await server.close();
    await connection.closing();
  });

  for (const status of [301, 401, 403, 404, 453, 454, 457, 500, 503])
    it(`status: DESCRIBE is answered ${status}`, async () => {
      const server = await under.start();
      server.setFault({ kind: 'status', status });
      const answer = await under.ask(server.grant(live()), 'DESCRIBE');
      assert.equal(answer.status, status);
      assert.equal(answer.headers.has('www-authenticate'), status === 401);
    });

  for (const method of ['OPTIONS', 'SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'TEARDOWN'] as const)
    it(`a fault may meet ${method} instead of DESCRIBE`, async () => {
      const server = await under.start();
      server.setFault({ kind: 'status', status: 503, method });
      const url = server.grant(live());
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
      assert.equal((await under.ask(url, method)).status, 503);
    });

  it('a fault of one camera leaves the others alone', async () => {
    const server = await under.start();
    server.setFault({ kind: 'status', status: 404, camera: 'cam-1' });
    assert.equal((await under.ask(server.grant(live()), 'DESCRIBE')).status, 404);
    assert.equal((await under.ask(server.grant(live({ cameraId: 'cam-2' })), 'DESCRIBE')).status, 200);
  });

  it('a fault with a count ends by itself, the others when they are cleared', async () => {
    const server = await under.start();
    const url = server.grant(live());
    server.setFault({ kind: 'status', status: 500, count: 2 });
    const counted = [
      await under.ask(url, 'DESCRIBE'),
      await under.ask(url, 'DESCRIBE'),
      await under.ask(url, 'DESCRIBE'),
    ];
    assert.deepEqual(
      counted.map((answer) => answer.status),
      [500, 500, 200],
    );
    server.setFault({ kind: 'status', status: 500 });
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 500);
    server.clearFaults();
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
  });

  it('redirect to a new URL of the same server, which then plays', async () => {
    const server = await under.start();
    server.setFault({ kind: 'redirect', to: 'new' });
    const answer = await under.ask(server.grant(recorded()), 'DESCRIBE');
    assert.equal(answer.status, 302);
    const { pictures } = await receivePictures(answer.headers.get('location') ?? '', { pictures: 1 });
    assert.equal(fixtureSecond(pictures[0]?.nals ?? []), 42);
  });

  it('redirect in a loop', async () => {
    const server = await under.start();
    server.setFault({ kind: 'redirect', to: 'loop' });
    const url = server.grant(live());
    for (let i = 0; i < 3; i++) assert.equal((await under.ask(url, 'DESCRIBE')).headers.get('location'), url);
  });

  for (const to of ['rtsp://192.0.2.1/live', 'http://127.0.0.1/', 'file:///etc/hostname'])
    it(`redirect to another host or scheme (${to}), on PLAY too`, async () => {
      const server = await under.start();
      server.setFault({ kind: 'redirect', to, method: 'PLAY' });
      const player = await under.readyPlayer(server.grant(live()));
      const answer = await player.connection.request('PLAY', player.url, { Session: player.session });
      assert.equal(answer.status, 302);
      assert.equal(answer.headers.get('location'), to);
    });

  it('reset: the connection breaks off instead of an answer', async () => {
    const server = await under.start();
    server.setFault({ kind: 'reset' });
    const connection = await under.connect(server.url);
    await assert.rejects(connection.request('DESCRIBE', server.grant(live())), /connection ended/);
    assert.match(String(connection.error), /ECONNRESET/);
  });

  it('garbage: the status line is none', async () => {
    const server = await under.start();
    server.setFault({ kind: 'garbage' });
    const { statusLine } = await under.ask(server.grant(live()), 'DESCRIBE');
    assert.doesNotMatch(statusLine, /^RTSP/);
  });

  it('wrong-cseq: the answer carries another CSeq', async () => {
    const server = await under.start();
    server.setFault({ kind: 'wrong-cseq' });
    assert.notEqual((await under.ask(server.grant(live()), 'DESCRIBE')).headers.get('cseq'), '1');
  });

  it('no-content-length, and oversize-content-length: the length of the body is missing or absurd', async () => {
    const server = await under.start();
    server.setFault({ kind: 'no-content-length', count: 1 });
    assert.equal((await under.ask(server.grant(live()), 'DESCRIBE')).headers.has('content-length'), false);
    server.setFault({ kind: 'oversize-content-length' });
    await assert.rejects(async () => {
      const connection = await under.connect(server.url);
      connection.send('DESCRIBE', server.grant(live()));
      await connection.answer(150);
    }, /No answer within/);
  });

  it('oversize-sdp: a description of two megabytes', async () => {
    const server = await under.start();
    server.setFault({ kind: 'oversize-sdp' });
    assert.ok((await under.ask(server.grant(live()), 'DESCRIBE')).body.length > 2_000_000);
  });

  it('no-parameter-sets: the description lacks them, the stream has them', async () => {
    const server = await under.start();
    server.setFault({ kind: 'no-parameter-sets' });
    const { sdp, pictures } = await receivePictures(server.grant(recorded()), { pictures: 1 });
    assert.doesNotMatch(sdp, /sprop/);
    assert.deepEqual(
      pictures[0]?.nals.slice(0, 2).map((nal) => (nal[0] ?? 0) & 0x1f),
      [7, 8],
    );
  });

  it('stall: after n pictures nothing more comes, and the connection stays open', async () => {
    const server = await under.start({ pace: 50 });
    server.setFault({ kind: 'stall', frames: 7 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    assert.equal((await player.pictures(7)).length, 7);
    await assert.rejects(player.packet(150), /No packet within/);
    assert.equal((await player.connection.request('OPTIONS', '*')).status, 200);
  });

  it('drop-connection: RST after n pictures', async () => {
    const server = await under.start({ pace: 50 });
    server.setFault({ kind: 'drop-connection', frames: 3 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    assert.ok((await player.pictures(100)).length <= 3);
    await player.connection.closing();
    assert.match(String(player.connection.error), /ECONNRESET/);
  });

  it('cut-frame: FIN inside an interleaved frame after n pictures', async () => {
    const server = await under.start({ pace: 50 });
    server.setFault({ kind: 'cut-frame', frames: 3 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    assert.equal((await player.pictures(100)).length, 3);
    await player.connection.closing();
    assert.equal(player.connection.error, undefined);
  });

  const sequencesWith = async (fault: RtspFault): Promise<number[]> => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 2 });
    server.setFault(fault);
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.pictures(100);
    const [first] = player.packets;
    const start = first?.readUInt16BE(2) ?? 0;
    return player.packets.map((packet) => (packet.readUInt16BE(2) - start) & 0xffff);
  };

  it('lose: every n-th packet is lost', async () => {
    assert.deepEqual((await sequencesWith({ kind: 'lose', every: 3 })).slice(0, 6), [0, 1, 3, 4, 6, 7]);
  });

  it('repeat: every n-th packet comes twice', async () => {
    assert.deepEqual((await sequencesWith({ kind: 'repeat', every: 3 })).slice(0, 6), [0, 1, 2, 2, 3, 4]);
  });

  it('reorder: every n-th packet comes after its follower', async () => {
    assert.deepEqual((await sequencesWith({ kind: 'reorder', every: 3 })).slice(0, 6), [0, 1, 3, 2, 4, 6]);
  });

  it('jump: sequence number and time stamp jump after n pictures', async () => {
    const server = await under.start({ pace: 50 });
    server.setFault({ kind: 'jump', frames: 2 });
    const { pictures } = await receivePictures(server.grant(recorded()), { pictures: 4 });
    const times = pictures.map((picture) => (picture.timestamp - (pictures[0]?.timestamp ?? 0)) >>> 0);
    assert.deepEqual(times, [0, 9_000, 918_000, 927_000]);
  });

  it('no-key-frame: the stream begins without one, and RTP-Info matches what really comes first', async () => {
    const server = await under.start({ pace: 50 });
    server.setFault({ kind: 'no-key-frame' });
    const { pictures, rtpInfo } = await receivePictures(server.grant(recorded()), { pictures: 10 });
    assert.deepEqual(
      pictures.map((picture) => picture.key),
      [...Array<boolean>(9).fill(false), true],
    );
    assert.ok(rtpInfo.includes(`seq=${pictures[0]?.sequence};`));
  });

  it('aggregate-parameter-sets: SPS and PPS come in one STAP-A', async () => {
    const server = await under.start();
    server.setFault({ kind: 'aggregate-parameter-sets' });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    const [picture] = await player.pictures(1);
    assert.equal((player.packets[0]?.[12] ?? 0) & 0x1f, 24);
    assert.deepEqual([...new Set(picture?.nals.map((nal) => (nal[0] ?? 0) & 0x1f))], [7, 8, 5]);
  });

  it('lone-bye: the BYE at the end comes alone', async () => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 1 });
    server.setFault({ kind: 'lone-bye' });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.pictures(100);
    assert.deepEqual(reportTypes(player.reports.at(-1) ?? Buffer.alloc(0)), [203]);
  });
});
