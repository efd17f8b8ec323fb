import assert from 'node:assert/strict';
import path from 'node:path';
import { ChangingSetting } from '../support/node-red/node-red';
import { bytesOf } from '../support/node-red/flows';
import { barAt, caller, clipIn, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { needs, programPath } from '../support/suite/programs';
import { temporaryFolder } from '../support/suite/temporary-folder';
import { numberIn } from '../support/video/encoded-video';

const PICTURE = caller('rvm-get-picture', { mode: 'event' });

describe('get picture without ffmpeg', () => {
  const setting = new ChangingSetting('rvmFfmpeg');
  const flow = new VideoFlow();
  const empty = temporaryFolder();

  before(() => flow.start('5', {}, { settings: setting.text, env: { PATH: empty } }));
  after(async () => {
    await flow.stop();
    setting.remove();
  });

  for (const [title, named] of [
    ['says so in its status before the first alarm, and with DECODER_MISSING; nothing is opened', false],
    ['says so where settings.js names a file that is none', true],
  ] as const)
    it(title, async () => {
      if (named) setting.set(JSON.stringify(path.join(empty, 'ffmpeg')));
      await flow.deploy([PICTURE]);
      await flow.station.shows('status.decoderMissing');
      const { code, message } = await flow.refusal(PICTURE);
      assert.equal(code, 'DECODER_MISSING');
      assert.match(message, /ffmpeg/);
      await flow.station.shows('status.decoderMissing');
    });

  it('leaves clips and views as they are', async () => {
    const clip = await flow.ask(caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1 }));
    assert.equal(clipIn(clip).partial, false);
    const { payload } = await flow.ask(caller('rvm-view', { mode: 'event' }));
    const url = flow.station.nodeRed.url + String(payload);
    assert.equal((await fetch(url)).status, 200);
    const picture = await fetch(`${url}/picture`);
    assert.deepEqual([picture.status, await picture.json()], [501, { code: 'DECODER_MISSING' }]);
  });

  it('makes pictures, and shows nothing of it any more, once settings.js names one', async function () {
    needs(this, 'ffmpeg');
    setting.set(JSON.stringify(programPath('ffmpeg')));
    assert.equal(await numberIn(bytesOf((await flow.ask(PICTURE)).payload)), barAt(LONG_AGO));
    await flow.station.shows(/connected/);
  });
});
