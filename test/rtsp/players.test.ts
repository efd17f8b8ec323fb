import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import type { RtspFault, RtspServerOptions } from '../../sandbox/rtsp/server';
import { burntInSecond, expectedSecond } from '../support/rtsp/fixture';
import { byLane, slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { serverOfEachTest, live, recorded } from './server-under-test';
import { eventually, PATIENCE } from '../support/time/patience';

const run = promisify(execFile);
const LIMIT = { timeout: PATIENCE, killSignal: 'SIGKILL' } as const;

describe('real players of the RTSP server', () => {
  const under = serverOfEachTest();
  // Real time is for play.test.ts; here it would only make players wait for their probes.
  const PACE = 5;

  /** A URL of a server of its own: of the recording, unless told otherwise. */
  const granted = async (
    options: Partial<RtspServerOptions> & { fault?: RtspFault } = {},
    request = recorded(),
  ) => (await under.start({ pace: PACE, ...options })).grant(request);

  describe('ffmpeg and ffprobe', () => {
    before(function () {
      needs(this, 'ffmpeg', 'ffprobe');
    });

    const probe = async (url: string, ...options: string[]): Promise<string> => {
      const show = ['-show_entries', 'stream=codec_name,profile,width,height', '-of', 'compact'];
      const speed = ['-fpsprobesize', '0', '-analyzeduration', '500000'];
      const { stdout } = await run('ffprobe', ['-v', 'error', ...speed, ...options, ...show, url], LIMIT);
      return stdout.trim();
    };
    const expected = 'stream|codec_name=h264|profile=Constrained Baseline|width=640|height=360';

    for (const transport of ['tcp', 'udp'] as const) {
      it(`ffprobe names the stream over ${transport}`, async () => {
        const url = await granted();
        assert.equal(await probe(url, '-rtsp_transport', transport), expected);
      });

      for (const second of transport === 'tcp' ? byLane([17], [0, 59]) : byLane([], [0, 17, 59]))
        it(`ffmpeg shows second ${second} over ${transport}`, async () => {
          const url = await under.granted(recorded({ start: 1_760_000_000_000 + second * 1000 + 400 }), {
            pace: PACE,
          });
          assert.equal(await burntInSecond(url, { transport }), second);
        });
    }

    slowIt('ffmpeg -ss 20 seeks to that second', async () => {
      const url = await granted();
      assert.equal(await burntInSecond(url, { transport: 'tcp', seek: 20 }), 2);
    });

    it('ffmpeg shows the present second of live video', async () => {
      const server = await under.start({ now: Date.now });
      const before = Date.now();
      const second = await burntInSecond(server.grant(live()), { transport: 'tcp' });
      const late = (second - expectedSecond(before) + 60) % 60;
      assert.ok(late <= Math.ceil((Date.now() - before) / 1000), `${second}, ${late} s after the request`);
    });

    slowIt(
      'ffprobe without a transport option plays too, also where the server has only one of both',
      async () => {
        for (const transports of [['tcp'], ['udp'], ['tcp', 'udp']] as const) {
          const url = await granted({ transports });
          assert.equal(await probe(url), expected);
        }
      },
    );

    slowIt('ffprobe that insists on TCP fails with 461 on a server of UDP only', async () => {
      const server = await under.start({ pace: PACE, transports: ['udp'] });
      await assert.rejects(probe(server.grant(recorded()), '-rtsp_transport', 'tcp'), /461/);
    });

    for (const transport of ['tcp', 'udp'] as const)
      slowIt(`a copy over ${transport} ends by itself with the recording`, async () => {
        const server = await under.start({ pace: PACE, recordingSeconds: 4 });
        // Longer than it may take: what ends it is the end of the recording.
        const timeout = 2 * PATIENCE * 1000;
        const input = `-nostdin -v error -rtsp_transport ${transport} -timeout ${timeout} -i ${server.grant(recorded())}`;
        const { stdout } = await run('ffmpeg', `${input} -c copy -f framecrc pipe:1`.split(' '), LIMIT);
        const packets = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
        // Over UDP a busy machine may lose some; that the player ends is what counts there.
        if (transport === 'tcp') assert.equal(packets.length, 40);
        else assert.ok(packets.length > 0 && packets.length <= 40, `${packets.length} packets`);
      });

    const login = { username: 'viewer', password: 'p@ss/word' };
    for (const [what, options, cameraId] of [
      ['with Basic', { authentication: { scheme: 'basic', ...login } }, 'cam-1'],
      ['with Digest', { authentication: { scheme: 'digest', ...login } }, 'cam-1'],
      ['a token in the query', { tokenPlace: 'query' }, 'cam-1'],
      ['a camera with a strange id', {}, "Ab_-'é /?#"],
      ['after a redirect at DESCRIBE', { fault: { kind: 'redirect', to: 'new' } }, 'cam-1'],
      ['in spite of aggregate-parameter-sets', { fault: { kind: 'aggregate-parameter-sets' } }, 'cam-1'],
      ['in spite of no-parameter-sets', { fault: { kind: 'no-parameter-sets' } }, 'cam-1'],
    ] as const)
      slowIt(`ffmpeg plays ${what}`, async () => {
        const url = await granted(options, recorded({ cameraId }));
        assert.equal(await burntInSecond(url, { transport: 'tcp' }), 42);
      });

    for (const status of [403, 404])
      slowIt(`ffmpeg reports ${status}`, async () => {
        const url = await granted({ fault: { kind: 'status', status } });
        await assert.rejects(probe(url), new RegExp(`${status}`));
      });
  });

  describe('GStreamer', () => {
    before(function () {
      needs(this, 'gst-launch-1.0');
    });

    // Once in a while GStreamer closes its connection before it sends PAUSE and TEARDOWN, and then complains about
    // itself: what counts is what it has received.
    const keyFrames = async (url: string, protocols: string): Promise<number> => {
      const source = ['-q', 'rtspsrc', `location=${url}`, `protocols=${protocols}`, 'latency=0'];
      const pipeline =
        '! rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au ! identity eos-after=12 ! fdsink fd=1';
      const output = await new Promise<Buffer>((resolve) => {
        const options = { ...LIMIT, encoding: 'buffer' } as const;
        execFile('gst-launch-1.0', [...source, ...pipeline.split(' ')], options, (_error, stdout) =>
          resolve(stdout),
        );
      });
      // Of the slices of a key frame, the first one begins with macroblock 0: a single bit.
      const slices = output.toString('latin1').split('\0\0\u0001\u0065').slice(1);
      return slices.filter((slice) => slice.charCodeAt(0) >= 0x80).length;
    };

    it('rtspsrc plays over TCP, and its session ends with it', async () => {
      const server = await under.start({ pace: PACE });
      assert.equal(await keyFrames(server.grant(recorded()), 'tcp'), 2);
      await eventually(() => server.sessionCount === 0, 'the end of the session');
    });

    const authentication = { scheme: 'digest', username: 'viewer', password: 'secret' } as const;
    for (const [what, options, protocols] of [
      ['over UDP', {}, 'udp'],
      ['a token in the query', { tokenPlace: 'query' }, 'tcp'],
      ['with Digest', { authentication }, 'tcp'],
    ] as const)
      slowIt(`rtspsrc plays ${what}`, async () => {
        assert.equal(await keyFrames(await granted(options), protocols), 2);
      });
  });
});
