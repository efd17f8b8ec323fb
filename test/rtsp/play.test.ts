import assert from 'node:assert/strict';
import { assertPause, soon } from '../support/time/patience';
import { expectedSecond, fixtureSecond } from '../support/rtsp/fixture';
import {
  receivePictures,
  reportTypes,
  type ReceivedPicture,
  type RtspPlayer,
  type RtspAnswer,
} from '../support/rtsp/rtsp-client';
import { SECOND_42, serverOfEachTest, live, recorded } from './server-under-test';

const secondOf = (picture: ReceivedPicture | undefined): number => fixtureSecond(picture?.nals ?? []);

const lastReports = ({ reports }: RtspPlayer): number[] => reportTypes(reports.at(-1) ?? Buffer.alloc(0));

const steps = (pictures: readonly ReceivedPicture[]): Set<number> =>
  new Set(pictures.slice(1).map(({ timestamp }, i) => (timestamp - (pictures[i]?.timestamp ?? 0)) >>> 0));

/** The one that PLAY has announced: those that came before the answer may still wait to be taken. */
async function announced(player: RtspPlayer, { headers }: RtspAnswer): Promise<ReceivedPicture | undefined> {
  const { seq } = /seq=(?<seq>\d+)/.exec(headers.get('rtp-info') ?? '')?.groups ?? {};
  for (;;) {
    const [picture] = await player.pictures(1);
    if (picture === undefined || picture.sequence === Number(seq)) return picture;
  }
}

describe('RTSP PLAY', () => {
  const under = serverOfEachTest();

  for (const second of [0, 1, 17, 42, 59])
    it(`recorded video starts exactly at the key frame of the second that was asked for (${second})`, async () => {
      const start = 1_760_000_000_000 + second * 1000 + 700;
      const { pictures } = await under.receive(1, recorded({ start }));
      assert.equal(secondOf(pictures[0]), second);
    });

  it('a start before or long after the clock of the recording has its second too', async () => {
    const server = await under.start();
    for (const start of [0, Date.UTC(1999, 11, 31, 23, 59, 59), Date.UTC(2038, 0, 19, 3, 14, 8)]) {
      const { pictures } = await receivePictures(server.grant(recorded({ start })), { pictures: 1 });
      assert.equal(secondOf(pictures[0]), expectedSecond(start));
    }
  });

  it('every second begins with SPS, PPS and a key frame, and all bytes are those of the recording', async () => {
    const { pictures } = await under.receive(30, recorded(), { pace: 100 });
    pictures.forEach((picture, i) => {
      const types = [...new Set(picture.nals.map((nal) => (nal[0] ?? 0) & 0x1f))];
      assert.deepEqual(types, i % 10 === 0 ? [7, 8, 5] : [1]);
      if (i % 10 === 0) assert.equal(secondOf(picture), (42 + i / 10) % 60);
    });
  });

  it('a recording plays on over the end of the fixture, its time stamps growing by 9000 a picture', async () => {
    const { pictures } = await under.receive(1301, recorded(), { pace: Infinity, recordingSeconds: 130 });
    assert.equal(pictures.length, 1300);
    assert.deepEqual(steps(pictures), new Set([9_000]));
    assert.deepEqual([pictures[18 * 10], pictures[78 * 10]].map(secondOf), [0, 0]);
  });

  it('RTP-Info matches the first packet, and its url is the track', async () => {
    const url = (await under.start()).grant(recorded());
    const { pictures, rtpInfo, range } = await receivePictures(url, { pictures: 1 });
    assert.equal(rtpInfo, `url=${url}/track1;seq=${pictures[0]?.sequence};rtptime=${pictures[0]?.timestamp}`);
    assert.equal(range, 'npt=0.000-60.000');
  });

  it('a range begins at the key frame at or before its start and ends at its end', async () => {
    const setting = { pace: 100, range: 'npt=20.7-22' };
    const { pictures, range } = await under.receive(100, recorded(), setting);
    assert.deepEqual([range, pictures.length, secondOf(pictures[0])], ['npt=20.000-22.000', 20, 2]);
  });

  it('a range may be written in hours, minutes and seconds', async () => {
    const { pictures } = await under.receive(1, recorded(), { range: 'npt=0:00:17.5-' });
    assert.equal(secondOf(pictures[0]), 59);
  });

  const OUTSIDE = ['npt=60-', 'npt=1000-', 'npt=now-', 'npt=10-10', 'npt=abc-', 'npt=5'];
  for (const [what, status, request, ranges] of [
    ['outside the recording', 457, recorded(), OUTSIDE],
    ['of live video with another start than 0', 457, live(), ['npt=5-']],
    ['in another unit', 501, recorded(), ['smpte=0:10:00-', 'clock=20251009T085320Z-']],
  ] as const)
    for (const range of ranges)
      it(`a range ${what} (${range}) is answered ${status}`, async () => {
        const player = await under.ready(request);
        await assert.rejects(player.play(range), { status });
      });

  it('PAUSE stops the packets and keeps the position', async () => {
    const player = await under.playing(recorded(), { pace: 20 });
    const before = await player.pictures(4);
    await player.pause();
    const resumed = await player.play();
    const after = await player.pictures(8);
    assert.deepEqual(steps([...before, ...after]), new Set([9_000]), 'no picture is lost or repeated');
    assert.match(resumed.headers.get('range') ?? '', /^npt=\d+\.\d00-60\.000$/);
  });

  it('nothing is sent while a session is paused', async () => {
    const player = await under.playing(recorded(), { pace: 20 });
    await player.pictures(1);
    await player.pause();
    await player.connection.request('OPTIONS', '*');
    const waiting = player.connection.waitingFrames;
    await assert.rejects(async () => {
      for (let i = 0; i <= waiting; i++) await player.connection.frame(100);
    }, /No packet within/);
  });

  it('a player seeks as ffmpeg does: PLAY npt=0, PAUSE, PLAY npt=20', async () => {
    const player = await under.ready(recorded());
    await player.play('npt=0.000-');
    await player.pause();
    const answer = await player.play('npt=20.000-');
    assert.equal(secondOf(await announced(player, answer)), 2);
  });

  it('PLAY with a range while playing seeks at once, without one it goes on', async () => {
    const player = await under.playing(recorded());
    await player.pictures(1);
    assert.equal((await player.play()).headers.get('rtp-info'), undefined);
    const answer = await player.play('npt=10-');
    assert.equal(answer.headers.get('range'), 'npt=10.000-60.000');
    assert.equal(secondOf(await announced(player, answer)), 52);
  });

  it('PLAY, PAUSE and TEARDOWN may name the session with or without a slash at the end', async () => {
    const { connection, url, session } = await under.ready(recorded());
    for (const named of [url, `${url}/`])
      for (const method of ['PLAY', 'PAUSE'])
        assert.equal((await connection.request(method, named, { Session: session })).status, 200, method);
  });

  it('a session id may come back with its parameters', async () => {
    const { connection, url, session } = await under.ready(recorded());
    const headers = { Session: `${session};timeout=60` };
    assert.equal((await connection.request('PLAY', url, headers)).status, 200);
  });

  it('a sender report comes first and maps the time of the first packet to the wall clock', async () => {
    const player = await under.playing(live());
    const [picture] = await player.pictures(1);
    const report = player.reports[0] ?? Buffer.alloc(28);
    assert.deepEqual(reportTypes(report), [200, 202]);
    assert.equal(report.readUInt32BE(8) - 2_208_988_800, SECOND_42 / 1000);
    assert.equal(report.readUInt32BE(16), picture?.timestamp);
  });

  it('the recording ends with a compound BYE: report, description, BYE', async () => {
    const player = await under.playing(recorded(), { pace: Infinity, recordingSeconds: 3 });
    assert.equal((await player.pictures(100)).length, 30);
    assert.deepEqual(lastReports(player), [200, 202, 203]);
  });

  it('after its end a recording can be played again', async () => {
    const player = await under.playing(recorded(), { pace: Infinity, recordingSeconds: 1 });
    await player.pictures(20);
    await player.play();
    assert.equal((await player.pictures(20)).length, 10);
  });

  it('plays in real time: ten pictures a second', async () => {
    const player = await under.ready(recorded());
    const begin = performance.now();
    await player.play();
    await soon(player.pictures(11));
    assertPause(performance.now() - begin, 1000);
  });

  describe('of live video', () => {
    beforeEach(() => {
      under.now = 1_760_000_059_400;
    });

    it('shows the present second and passes into the next', async () => {
      const { pictures } = await under.receive(11, live(), { pace: 20, range: 'npt=0.000-' });
      assert.deepEqual([pictures[0], pictures[10]].map(secondOf), [59, 0]);
    });

    for (const range of ['npt=0.000-4.000', 'npt=-4', 'npt=0:00:00-0:00:04'])
      it(`with an end plays that long, and ends with BYE (${range})`, async () => {
        const player = await under.ready(live(), { pace: 20 });
        const answer = await player.play(range);
        assert.equal(answer.headers.get('range'), 'npt=0.000-4.000');
        const pictures = await player.pictures(100);
        assert.equal(pictures.length, 40);
        assert.deepEqual([pictures[0], pictures[30]].map(secondOf), [59, 2]);
        assert.deepEqual(lastReports(player), [200, 202, 203]);
      });

    it('goes on at the present time after a pause', async () => {
      const player = await under.playing(live());
      await player.pictures(1);
      await player.pause();
      under.now += 10_000;
      const answer = await player.play();
      assert.equal(secondOf(await announced(player, answer)), 9);
    });
  });
});
