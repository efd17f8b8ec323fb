import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { GrantRequest } from '../../sandbox/rtsp/server';
import type { SceneName } from '../../sandbox/scene/scenes';
import { expectedSecond, burntInSecond } from '../support/rtsp/fixture';
import { reportTypes } from '../support/rtsp/rtsp-client';
import { byLane, slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { PATIENCE } from '../support/time/patience';
import { SECOND_42, serverOfEachTest, recorded } from './server-under-test';

const run = promisify(execFile);
const NTP_OFFSET = 2_208_988_800;

/** A camera at a scene, with a microphone or without. */
function at(scene: SceneName, sound = false): GrantRequest {
  return recorded({ view: { scene, sound, label: 'Loading Bay 1', intruder: () => undefined } });
}

describe('what the cameras of the sandbox send', () => {
  const under = serverOfEachTest();

  describe('sound', () => {
    it('is described as AAC beside the video, and only where the camera has a microphone', async () => {
      const server = await under.start();
      const player = await under.player(server.grant(at('dock', true)));
      const sdp = await player.describe();
      assert.match(sdp, /^m=audio 0 RTP\/AVP 97\r\na=rtpmap:97 mpeg4-generic\/16000\/1\r$/m);
      assert.match(sdp, /mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1408\r$/m);
      const deaf = await under.player(server.grant(at('dock')));
      assert.doesNotMatch(await deaf.describe(), /m=audio/);
      assert.equal((await under.ask(`${server.grant(at('dock'))}/track2`, 'SETUP', TCP)).status, 404);
    });

    it('joins the session, with a place of its own in RTP-Info and sender reports of its own', async () => {
      const player = await under.ready(at('dock', true), { pace: 20 });
      await player.setupSound();
      const info = (await player.play()).headers.get('rtp-info') ?? '';
      await player.pictures(20);
      const [first] = player.soundPackets;
      assert.match(info, /track1;seq=\d+;rtptime=\d+,url=\S+track2;seq=\d+;rtptime=\d+$/);
      assert.ok(info.includes(`track2;seq=${first?.readUInt16BE(2)};`));
      const [report] = player.soundReports;
      assert.deepEqual(reportTypes(report ?? Buffer.alloc(0)), [200, 202]);
      assert.equal((report?.readUInt32BE(8) ?? 0) - NTP_OFFSET, SECOND_42 / 1000);
      assert.equal(report?.readUInt32BE(16), first?.readUInt32BE(4));
    });

    it('comes in frames of 1024 samples behind a header that tells their length', async () => {
      const player = await under.ready(at('dock', true), { pace: 50 });
      await player.setupSound();
      await player.play();
      await player.pictures(20);
      const { soundPackets: packets } = player;
      assert.ok(packets.length > 20);
      for (const packet of packets) {
        assert.equal(packet.readUInt16BE(12), 16);
        assert.equal(packet.readUInt16BE(14) >>> 3, packet.length - 16);
      }
      const times = packets.map((packet) => packet.readUInt32BE(4));
      assert.deepEqual(
        times.slice(1).map((time, i) => (time - (times[i] ?? 0)) >>> 0),
        packets.slice(1).map(() => 1024),
      );
    });

    it('ends with a BYE of its own, too', async () => {
      const player = await under.ready(at('dock', true), { pace: Infinity, recordingSeconds: 1 });
      await player.setupSound();
      await player.play();
      await player.pictures(100);
      await player.connection.request('OPTIONS', '*');
      const last = player.connection.waitingFrames > 0 ? await player.connection.frame() : undefined;
      assert.deepEqual(reportTypes(last?.data ?? Buffer.alloc(0)), [200, 202, 203]);
    });
  });

  describe('to ffmpeg', () => {
    before(function () {
      needs(this, 'ffmpeg', 'ffprobe');
    });

    const shown = async (url: string, entries: string): Promise<string> => {
      const options = ['-v', 'error', '-rtsp_transport', 'tcp', '-show_entries', `stream=${entries}`];
      const { stdout } = await run('ffprobe', [...options, '-of', 'compact=nk=1:p=0', url], {
        timeout: PATIENCE,
      });
      return stdout.trim();
    };

    for (const [scene, sound, entries, expected] of [
      ['dock', true, 'codec_name', 'h264\naac'],
      ['car-park', false, 'codec_name,profile,has_b_frames', 'h264|Main|1'],
      ['fuel-store', false, 'codec_name,profile,width,height', 'hevc|Main|640|360'],
    ] as const)
      slowIt(`${scene} is ${expected.replace('\n', ' and ')}`, async () => {
        const server = await under.start({ pace: 10 });
        assert.equal(await shown(server.grant(at(scene, sound)), entries), expected);
      });

    for (const scene of byLane<'dock' | 'car-park' | 'fuel-store'>(['dock'], ['car-park', 'fuel-store']))
      it(`${scene} plays to its end without a warning, its pictures and its sound`, async () => {
        const server = await under.start({ pace: 20, recordingSeconds: 6 });
        const sound = scene === 'dock';
        const input = `-nostdin -v warning -rtsp_transport tcp -i ${server.grant(at(scene, sound))}`;
        const pictures = '-map 0:v -fps_mode passthrough -vf scale=32:18 -pix_fmt gray -f rawvideo pipe:1';
        const heard = sound ? ' -map 0:a -f null -' : '';
        const { stderr, stdout } = await run('ffmpeg', `${input} ${pictures}${heard}`.split(' '), {
          timeout: PATIENCE,
          encoding: 'buffer',
        });
        assert.equal(stderr.toString(), '');
        assert.equal(stdout.length / (32 * 18), 60);
      });

    for (const scene of ['car-park', 'fuel-store'] as const)
      slowIt(`${scene} shows the second that was asked for`, async () => {
        const server = await under.start({ pace: 10 });
        const start = SECOND_42 + 5700;
        const url = server.grant({ ...at(scene), start });
        assert.equal(await burntInSecond(url, { transport: 'tcp' }), expectedSecond(start));
      });
  });
});

const TCP = { Transport: 'RTP/AVP/TCP;unicast;interleaved=0-1' };
