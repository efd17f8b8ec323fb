import assert from 'node:assert/strict';
import type { RtspFault } from '../../sandbox/rtsp/server';
import { receivePictures, reportTypes } from '../support/rtsp/rtsp-client';
import { serverOfEachTest, live, recorded } from './server-under-test';
import { assertPause } from '../support/time/patience';

const NOT_FOUND = { kind: 'status', status: 404 } as const;

describe('RTSP faults on demand', () => {
  const under = serverOfEachTest();

  /** The answer to DESCRIBE of a server with this fault. */
  const described = (fault: RtspFault) => under.answer('DESCRIBE', live(), {}, { fault });

  it('slow: the answer comes late', async () => {
    const begin = performance.now();
    assert.equal((await described({ kind: 'slow', ms: 200 })).status, 200);
    assertPause(performance.now() - begin, 200);
  });

  it('slow: a client that leaves meanwhile, or a server that closes, does no harm', async () => {
    const server = await under.start({ fault: { kind: 'slow', ms: 60_000 } });
    const [connection, leaver] = [await under.connect(server.url), await under.connect(server.url)];
    for (const each of [connection, leaver]) each.send('DESCRIBE', server.grant(live()));
    // Answered at once, as OPTIONS always is: both requests have come in.
    assert.equal((await under.ask(server.url, 'OPTIONS')).status, 200);
    leaver.socket.resetAndDestroy();
    assert.equal((await under.ask(server.url, 'OPTIONS')).status, 200);
    await server.close();
    await connection.closing();
  });

  for (const status of [301, 401])
    it(`status: DESCRIBE is answered ${status}`, async () => {
      const answer = await described({ kind: 'status', status });
      assert.equal(answer.status, status);
      assert.equal(answer.headers.has('www-authenticate'), status === 401);
    });

  for (const method of ['OPTIONS', 'SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'TEARDOWN'] as const)
    it(`a fault may meet ${method} instead of DESCRIBE`, async () => {
      const url = await under.granted(live(), { fault: { kind: 'status', status: 503, method } });
      assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
      assert.equal((await under.ask(url, method)).status, 503);
    });

  it('a fault of one camera leaves the others alone', async () => {
    const server = await under.start({ fault: { ...NOT_FOUND, camera: 'cam-1' } });
    assert.equal((await under.ask(server.grant(live()), 'DESCRIBE')).status, 404);
    assert.equal((await under.ask(server.grant(live({ cameraId: 'cam-2' })), 'DESCRIBE')).status, 200);
  });

  it('a fault with a count ends by itself, the others when they are cleared', async () => {
    const url = await under.granted(live(), { fault: { ...NOT_FOUND, count: 2 } });
    for (const status of [404, 404, 200]) assert.equal((await under.ask(url, 'DESCRIBE')).status, status);
    under.server.setFault(NOT_FOUND);
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 404);
    under.server.clearFaults();
    assert.equal((await under.ask(url, 'DESCRIBE')).status, 200);
  });

  it('redirect to a new URL of the same server, which then plays', async () => {
    const { status, headers } = await described({ kind: 'redirect', to: 'new' });
    assert.equal(status, 302);
    const { pictures } = await receivePictures(headers.get('location') ?? '', { pictures: 1 });
    assert.equal(pictures.length, 1);
  });

  it('no-parameter-sets: the description lacks them, the stream has them', async () => {
    const { sdp, pictures } = await under.receive(1, recorded(), { fault: { kind: 'no-parameter-sets' } });
    assert.doesNotMatch(sdp, /sprop/);
    const types = pictures[0]?.nals.map((nal) => (nal[0] ?? 0) & 0x1f);
    assert.deepEqual(types?.slice(0, 2), [7, 8]);
  });

  for (const [kind, how, sequences] of [
    ['lose', 'is lost', [0, 1, 3, 4, 6, 7]],
    ['repeat', 'comes twice', [0, 1, 2, 2, 3, 4]],
    ['reorder', 'comes after its follower', [0, 1, 3, 2, 4, 6]],
  ] as const)
    it(`${kind}: every n-th packet ${how}`, async () => {
      const setting = { pace: Infinity, recordingSeconds: 2, fault: { kind, every: 3 } };
      const player = await under.playing(recorded(), setting);
      await player.pictures(100);
      const all = player.packets.slice(0, 6).map((packet) => packet.readUInt16BE(2));
      const numbers = all.map((sequence) => (sequence - (all[0] ?? 0)) & 0xffff);
      assert.deepEqual(numbers, sequences);
    });

  it('jump: sequence number and time stamp jump after n pictures', async () => {
    const setting = { pace: 50, fault: { kind: 'jump', frames: 2 } } as const;
    const { pictures } = await under.receive(4, recorded(), setting);
    const times = pictures.map((picture) => (picture.timestamp - (pictures[0]?.timestamp ?? 0)) >>> 0);
    assert.deepEqual(times, [0, 9_000, 918_000, 927_000]);
  });

  it('no-key-frame: the stream begins without one, and RTP-Info matches what really comes first', async () => {
    const setting = { pace: 50, fault: { kind: 'no-key-frame' } } as const;
    const { pictures, rtpInfo } = await under.receive(10, recorded(), setting);
    assert.equal(
      pictures.findIndex(({ key }) => key),
      9,
    );
    assert.ok(rtpInfo.includes(`seq=${pictures[0]?.sequence};`));
  });

  it('aggregate-parameter-sets: SPS and PPS come in one STAP-A', async () => {
    const player = await under.playing(recorded(), { fault: { kind: 'aggregate-parameter-sets' } });
    const [picture] = await player.pictures(1);
    assert.equal((player.packets[0]?.[12] ?? 0) & 0x1f, 24);
    assert.deepEqual([...new Set(picture?.nals.map((nal) => (nal[0] ?? 0) & 0x1f))], [7, 8, 5]);
  });

  it('lone-bye: the BYE at the end comes alone', async () => {
    const setting = { pace: Infinity, recordingSeconds: 1, fault: { kind: 'lone-bye' } } as const;
    const player = await under.playing(recorded(), setting);
    await player.pictures(100);
    assert.deepEqual(reportTypes(player.reports.at(-1) ?? Buffer.alloc(0)), [203]);
  });
});
