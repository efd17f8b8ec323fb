import assert from 'node:assert/strict';
import type { VideoFrame } from '../../../lib/video/media';
import { Decoder } from '../../../lib/video/picture/decoder';
import { FakeFfmpeg } from '../../support/video/fake-ffmpeg';
import { madeFrames } from '../../support/video/made-stream';

describe('what ffmpeg is told', () => {
  const fake = new FakeFfmpeg();
  let decoder = new Decoder();

  before(function () {
    if (process.platform === 'win32') this.skip();
  });
  beforeEach(() => {
    fake.start();
    const deeds =
      'for each in "$@"; do echo "$each" >> "$folder/arguments"; done; env > "$folder/environment"; cat > "$folder/input"';
    decoder = new Decoder({ path: fake.write(deeds) });
  });
  afterEach(async () => {
    await decoder.close();
    fake.stop();
  });

  const ask = (frames: VideoFrame[], time: number, width?: number): Promise<void> =>
    assert.rejects(decoder.picture(frames, time, { signal: new AbortController().signal, width }));

  it('in its arguments are fixed words, and three numbers: nothing of where the video is from', async () => {
    await ask(madeFrames('0K 4 2 1 3'), 3, 640);
    const filters =
      'select=eq(n\\,3),setpts=0,scale=w=max(2\\,trunc(min(640\\,iw*sar)/2)*2):h=max(2\\,round(ow/dar/2)*2),setsar=1';
    const expected = [
      '-hide_banner -loglevel error -protocol_whitelist pipe',
      '-probesize 32 -analyzeduration 0 -fpsprobesize 0 -strict 1 -threads 2 -max_pixels 40000000 -flags +output_corrupt',
      `-f h264 -i pipe:0 -vf ${filters}`,
      '-frames:v 1 -threads 1 -q:v 3 -f mjpeg pipe:1',
    ];
    assert.equal(fake.left('arguments')?.trim().replaceAll('\n', ' '), expected.join(' '));
  });

  const [other] = madeFrames('6');
  const OTHER_SETS = { ...(other?.format ?? assert.fail()), parameterSets: [Buffer.from([0x67, 9])] };
  for (const [what, frames, input] of [
    ['with start codes, and its parameter sets in front', madeFrames('3K 4'), '|6701|6802|0103|0104'],
    [
      'with parameter sets again where they change',
      [...madeFrames('5K'), ...madeFrames('6 7', OTHER_SETS)],
      '|6701|6802|0105|6709|0106|0107',
    ],
  ] as const)
    it(`on its standard input is the video, ${what}`, async () => {
      await ask([...frames], 7);
      const bytes = Buffer.from(fake.left('input') ?? '', 'latin1').toString('hex');
      assert.equal(bytes.replaceAll('00000001', '|'), input);
    });

  it('of the environment is what a program needs to run, and no secret', async () => {
    process.env.NODE_RED_CREDENTIAL_SECRET = 'a secret';
    process.env.FFREPORT = `file=${fake.folder}/report`;
    try {
      await ask(madeFrames('3K'), 3);
    } finally {
      delete process.env.NODE_RED_CREDENTIAL_SECRET;
      delete process.env.FFREPORT;
    }
    const names = (fake.left('environment') ?? '').split('\n').map((line) => line.split('=')[0] ?? '');
    assert.ok(names.includes('PATH'));
    for (const name of ['NODE_RED_CREDENTIAL_SECRET', 'FFREPORT']) assert.ok(!names.includes(name), name);
  });
});
