import assert from 'node:assert/strict';
import { Decoder } from '../../../lib/video/picture/decoder';
import { slowIt } from '../../support/suite/lanes';
import { needs, programPath } from '../../support/suite/programs';
import { MovableClock } from '../../support/time/virtual-time';
import { FakeFfmpeg } from '../../support/video/fake-ffmpeg';
import { encodedVideo, numberIn } from '../../support/video/encoded-video';
import { madeFrames } from '../../support/video/made-stream';

const { signal } = new AbortController();

describe('the ffmpeg of a decoder', () => {
  const fake = new FakeFfmpeg();
  const clock = new MovableClock();
  const { PATH } = process.env;
  const decoders: Decoder[] = [];

  before(function () {
    if (process.platform === 'win32') this.skip();
  });
  beforeEach(() => {
    fake.start();
    process.env.PATH = `/nowhere:relative:${fake.folder}`;
  });
  afterEach(async () => {
    process.env.PATH = PATH;
    clock.stop();
    await Promise.all(decoders.splice(0).map((decoder) => decoder.close()));
    fake.stop();
  });

  const decoderOf = (path?: string): Decoder => {
    const decoder = new Decoder({ path });
    decoders.push(decoder);
    return decoder;
  };
  const missing = (decoder: Decoder, message: RegExp): Promise<void> =>
    assert.rejects(decoder.picture(madeFrames('0K'), 0, { signal }), { code: 'DECODER_MISSING', message });

  it('is the one on the PATH', async () => {
    fake.write('exit 0');
    assert.equal(await decoderOf().available(), true);
  });

  it('is the file that is named, and no other', async () => {
    const file = fake.write('exit 0');
    process.env.PATH = '';
    assert.equal(await decoderOf(file).available(), true);
    process.env.PATH = fake.folder;
    assert.equal(await decoderOf(`${file}-of-another-place`).available(), false);
  });

  it('is missed with a word on how to get it', async () => {
    const ways = 'apt install ffmpeg, winget install ffmpeg, brew install ffmpeg';
    const decoder = decoderOf();
    assert.equal(await decoder.available(), false);
    await missing(decoder, new RegExp(`install it \\(${ways}\\), or name its file as rvmFfmpeg`));
  });

  it('is missed with a word on the setting where that names none', async () => {
    const message = /The file that rvmFfmpeg in settings.js names is no ffmpeg that runs/;
    await missing(decoderOf('/nowhere/ffmpeg'), message);
  });

  for (const [what, put] of Object.entries({
    'a file that may not be run': () => fake.writeFile('#!/bin/sh\necho "ffmpeg version 5"\n', 0o644),
    'a folder': () => fake.writeFolder(),
    'no program of this machine': () => fake.writeFile(Buffer.from('\x7fELF of another machine')),
    'another program': () => fake.writeFile('#!/bin/sh\necho "ffprobe version 5.1"\n'),
    'a program that fails': () => fake.writeFile('#!/bin/sh\necho "ffmpeg version 5.1"; exit 127\n'),
  }))
    it(`is not ${what}`, async () => {
      const file = put();
      assert.equal(await decoderOf(file).available(), false);
      assert.equal(await decoderOf().available(), false);
    });

  it('is another on the PATH where the first does not run', async function () {
    process.env.PATH = PATH;
    needs(this, 'ffmpeg');
    fake.writeFile('#!/bin/sh\nexit 127\n');
    process.env.PATH = `${fake.folder}:${PATH}`;
    assert.equal(await decoderOf().available(), true);
  });

  it('is asked for its version once', async () => {
    fake.writeFile(`#!/bin/sh\necho asked >> '${fake.folder}/log'; echo "ffmpeg version 5"\n`);
    const decoder = decoderOf();
    await Promise.all([decoder.available(), decoder.available()]);
    await decoder.available();
    assert.equal(fake.left('log'), 'asked\n');
  });

  it('that is missing is looked for again after a minute', async () => {
    clock.start();
    const decoder = decoderOf();
    assert.equal(await decoder.available(), false);
    fake.write('exit 0');
    clock.advance(30);
    assert.equal(await decoder.available(), false);
    clock.advance(31);
    assert.equal(await decoder.available(), true);
  });

  it('that is gone since it was found is missed', async () => {
    const decoder = decoderOf(fake.write('exit 1'));
    assert.equal(await decoder.available(), true);
    fake.remove();
    await missing(decoder, /rvmFfmpeg/);
    assert.equal(await decoder.available(), false);
  });

  slowIt(
    'may be as old or as new as it likes: no option is used that one of them does not know',
    async function () {
      process.env.PATH = PATH;
      needs(this, 'ffmpeg', 'ffprobe');
      const frames = await encodedVideo({ count: 5, encoder: '-c:v libx264 -bf 2' });
      const versions = {
        // What came after it.
        '4.1.11-0+deb10u1': '-fps_mode|-fps_mode:v|-readrate|-max_error_rate|-/vf|-/filter:v',
        // What went before it, or is announced to go.
        'n8.0': '-vsync|-stimeout|-map_channel|-deinterlace|-sameq|-psnr|-qphist|-top',
      };
      for (const [version, unknown] of Object.entries(versions)) {
        const refuse = `for each in "$@"; do case "$each" in ${unknown}) echo "Unrecognized option" >&2; exit 1;; esac; done`;
        const decoder = decoderOf(fake.write(`${refuse}\nexec '${programPath('ffmpeg')}' "$@"`, version));
        assert.equal(await decoder.available(), true);
        assert.equal(await numberIn((await decoder.picture(frames, 0.6, { signal })).jpeg), 3);
      }
    },
  );
});
