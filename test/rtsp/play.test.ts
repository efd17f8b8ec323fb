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
import { SECOND_42, ServerUnderTest, live, recorded } from './server-under-test';

const secondOf = (picture: ReceivedPicture | undefined): number => fixtureSecond(picture?.nals ?? []);
const typesOf = (picture: ReceivedPicture | undefined): number[] =>
  (picture?.nals ?? []).map((nal) => (nal[0] ?? 0) & 0x1f);

/** The one that PLAY has announced: those that came before the answer may still wait to be taken. */
async function announced(player: RtspPlayer, { headers }: RtspAnswer): Promise<ReceivedPicture | undefined> {
  const { seq } = /seq=(?<seq>\d+)/.exec(headers.get('rtp-info') ?? '')?.groups ?? {};
  for (;;) {
    const [picture] = await player.pictures(1);
    if (picture === undefined || picture.sequence === Number(seq)) return picture;
  }
}

describe('RTSP PLAY', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  for (const second of [0, 1, 17, 42, 59])
    it(`recorded video starts exactly at the key frame of the second that was asked for (${second})`, async () => {
      const server = await under.start();
      const url = server.grant(recorded({ start: 1_760_000_000_000 + second * 1000 + 700 }));
      const { pictures } = await receivePictures(url, { pictures: 1 });
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
    const server = await under.start({ pace: 100 });
    const { pictures } = await receivePictures(server.grant(recorded()), { pictures: 30 });
    pictures.forEach((picture, i) => {
      assert.deepEqual([...new Set(typesOf(picture))], i % 10 === 0 ? [7, 8, 5] : [1]);
      if (i % 10 === 0) assert.equal(secondOf(picture), (42 + i / 10) % 60);
    });
  });

  it('a recording plays on over the end of the fixture, its time stamps growing by 9000 a picture', async () => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 130 });
    const { pictures } = await receivePictures(server.grant(recorded()), { pictures: 1301 });
    assert.equal(pictures.length, 1300);
    const steps = pictures
      .slice(1)
      .map((picture, i) => (picture.timestamp - (pictures[i]?.timestamp ?? 0)) >>> 0);
    assert.ok(steps.every((step) => step === 9_000));
    assert.equal(secondOf(pictures[18 * 10]), 0);
    assert.equal(secondOf(pictures[78 * 10]), 0);
  });

  it('RTP-Info matches the first packet, and its url is the track', async () => {
    const server = await under.start();
    const url = server.grant(recorded());
    const { pictures, rtpInfo, range } = await receivePictures(url, { pictures: 1 });
    assert.equal(rtpInfo, `url=${url}/track1;seq=${pictures[0]?.sequence};rtptime=${pictures[0]?.timestamp}`);
    assert.equal(range, 'npt=0.000-60.000');
  });

  it('a range begins at the key frame at or before its start and ends at its end', async () => {
    const server = await under.start({ pace: 100 });
    const url = server.grant(recorded());
    const { pictures, range } = await receivePictures(url, { pictures: 100, range: 'npt=20.7-22' });
    assert.equal(range, 'npt=20.000-22.000');
    assert.equal(pictures.length, 20);
    assert.equal(secondOf(pictures[0]), 2);
  });

  it('a range may be written in hours, minutes and seconds', async () => {
    const server = await under.start();
    const url = server.grant(recorded());
    const { pictures } = await receivePictures(url, { pictures: 1, range: 'npt=0:00:17.5-' });
    assert.equal(secondOf(pictures[0]), 59);
  });

  for (const range of ['npt=60-', 'npt=1000-', 'npt=now-', 'npt=10-10', 'npt=abc-', 'npt=5'])
    it(`a range outside the recording (${range}) is answered 457`, async () => {
      const server = await under.start();
      const player = await under.readyPlayer(server.grant(recorded()));
      await assert.rejects(player.play(range), { status: 457 });
    });

  for (const range of ['smpte=0:10:00-', 'clock=20251009T085320Z-'])
    it(`a range in another unit (${range}) is answered 501`, async () => {
      const server = await under.start();
      const player = await under.readyPlayer(server.grant(recorded()));
      await assert.rejects(player.play(range), { status: 501 });
    });

  it('PAUSE stops the packets and keeps the position', async () => {
    const server = await under.start({ pace: 20 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    const before = await player.pictures(4);
    await player.pause();
    const resumed = await player.play();
    const after = await player.pictures(8);
    const all = [...before, ...after];
    const steps = all.slice(1).map((picture, i) => (picture.timestamp - (all[i]?.timestamp ?? 0)) >>> 0);
    assert.ok(
      steps.every((step) => step === 9_000),
      'no picture is lost or repeated',
    );
    assert.match(resumed.headers.get('range') ?? '', /^npt=\d+\.\d00-60\.000$/);
  });

  it('nothing is sent while a session is paused', async () => {
    const server = await under.start({ pace: 20 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.pictures(1);
    await player.pause();
    await player.connection.request('OPTIONS', '*');
    const waiting = player.connection.waitingFrames;
    await assert.rejects(async () => {
      for (let i = 0; i <= waiting; i++) await player.connection.frame(100);
    }, /No packet within/);
  });

  it('a player seeks as ffmpeg does: PLAY npt=0, PAUSE, PLAY npt=20', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play('npt=0.000-');
    await player.pause();
    const answer = await player.play('npt=20.000-');
    assert.equal(secondOf(await announced(player, answer)), 2);
  });

  it('PLAY with a range while playing seeks at once, without one it goes on', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.pictures(1);
    assert.equal((await player.play()).headers.get('rtp-info'), undefined);
    const answer = await player.play('npt=10-');
    assert.equal(answer.headers.get('range'), 'npt=10.000-60.000');
    assert.equal(secondOf(await announced(player, answer)), 52);
  });

  it('PLAY, PAUSE and TEARDOWN may name the session with or without a slash at the end', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    for (const url of [player.url, `${player.url}/`])
      for (const method of ['PLAY', 'PAUSE']) {
        const answer = await player.connection.request(method, url, { Session: player.session });
        assert.equal(answer.status, 200, method);
      }
  });

  it('a session id may come back with its parameters', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    const headers = { Session: `${player.session};timeout=60` };
    assert.equal((await player.connection.request('PLAY', player.url, headers)).status, 200);
  });

  it('a sender report comes first and maps the time of the first packet to the wall clock', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    await player.play();
    const [picture] = await player.pictures(1);
    const report = player.reports[0] ?? Buffer.alloc(28);
    assert.deepEqual(reportTypes(report), [200, 202]);
    assert.equal(report.readUInt32BE(8) - 2_208_988_800, SECOND_42 / 1000);
    assert.equal(report.readUInt32BE(16), picture?.timestamp);
  });

  it('the recording ends with a compound BYE: report, description, BYE', async () => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 3 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    assert.equal((await player.pictures(100)).length, 30);
    assert.deepEqual(reportTypes(player.reports.at(-1) ?? Buffer.alloc(0)), [200, 202, 203]);
  });

  it('after its end a recording can be played again', async () => {
    const server = await under.start({ pace: Infinity, recordingSeconds: 1 });
    const player = await under.readyPlayer(server.grant(recorded()));
    await player.play();
    await player.pictures(20);
    await player.play();
    assert.equal((await player.pictures(20)).length, 10);
  });

  it('plays in real time: ten pictures a second', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(recorded()));
    const begin = performance.now();
    await player.play();
    await soon(player.pictures(11));
    const took = performance.now() - begin;
    assertPause(took, 1000);
  });

  it('live video shows the present second and passes into the next', async () => {
    const server = await under.start({ pace: 20 });
    under.now = 1_760_000_059_400;
    const { pictures } = await receivePictures(server.grant(live()), { pictures: 11, range: 'npt=0.000-' });
    assert.equal(secondOf(pictures[0]), 59);
    assert.equal(secondOf(pictures[10]), 0);
  });

  for (const range of ['npt=0.000-4.000', 'npt=-4', 'npt=0:00:00-0:00:04'])
    it(`live video with an end plays that long, and ends with BYE (${range})`, async () => {
      const server = await under.start({ pace: 20 });
      under.now = 1_760_000_059_400;
      const player = await under.readyPlayer(server.grant(live()));
      const answer = await player.play(range);
      assert.equal(answer.headers.get('range'), 'npt=0.000-4.000');
      const pictures = await player.pictures(100);
      assert.equal(pictures.length, 40);
      assert.deepEqual([pictures[0], pictures[30]].map(secondOf), [59, 2]);
      assert.deepEqual(reportTypes(player.reports.at(-1) ?? Buffer.alloc(0)), [200, 202, 203]);
    });

  it('live video has no past: another start than 0 is answered 457', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    await assert.rejects(player.play('npt=5-'), { status: 457 });
  });

  it('live video goes on at the present time after a pause', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    await player.play();
    await player.pictures(1);
    await player.pause();
    under.now += 10_000;
    const answer = await player.play();
    assert.equal(secondOf(await announced(player, answer)), 52);
  });
});
