import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ChangingSetting } from '../support/node-red/node-red';
import { bytesOf } from '../support/node-red/flows';
import { caller, barAt, clipIn, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { needs, programPath } from '../support/suite/programs';
import { numberIn } from '../support/video/encoded-video';

const PICTURE = caller('rvm-get-picture', { mode: 'event' });

describe('get picture without ffmpeg', () => {
  const setting = new ChangingSetting('rvmFfmpeg');
  let empty: string;
  let flow: VideoFlow;

  before(async () => {
    empty = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-no-ffmpeg-'));
    flow = await VideoFlow.start('5', {}, { settings: setting.text, env: { PATH: empty } });
  });
  after(async () => {
    await flow?.stop();
    setting.remove();
    fs.rmSync(empty, { recursive: true });
  });

  it('says so in its status before the first alarm, and with DECODER_MISSING; nothing is opened', async () => {
    await flow.deploy([PICTURE]);
    await flow.station.shows('status.decoderMissing');
    const opened = await flow.openedBy(async () => {
      const { code, message } = await flow.station.failure({ event: flow.event() });
      assert.equal(code, 'DECODER_MISSING');
      assert.match(message, /ffmpeg/);
    });
    assert.equal(opened, 0);
    await flow.station.shows('status.decoderMissing');
  });

  it('says so where settings.js names a file that is none', async () => {
    setting.set(JSON.stringify(path.join(empty, 'ffmpeg')));
    await flow.deploy([PICTURE]);
    await flow.station.shows('status.decoderMissing');
    assert.equal(await flow.station.code({ event: flow.event() }), 'DECODER_MISSING');
  });

  it('leaves clips and views as they are', async () => {
    await flow.deploy([caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1 })]);
    assert.equal(clipIn(await flow.station.through({ event: flow.event() })).partial, false);
    await flow.deploy([caller('rvm-view', { mode: 'event' })]);
    const { payload } = await flow.station.through({ event: flow.event() });
    assert.equal((await fetch(flow.station.nodeRed.url + String(payload))).status, 200);
    const picture = await fetch(`${flow.station.nodeRed.url}${String(payload)}/picture`);
    assert.deepEqual([picture.status, await picture.json()], [501, { code: 'DECODER_MISSING' }]);
  });

  it('makes pictures, and shows nothing of it any more, once settings.js names one', async function () {
    needs(this, 'ffmpeg');
    setting.set(JSON.stringify(programPath('ffmpeg')));
    await flow.deploy([PICTURE]);
    const { payload } = await flow.station.through({ event: flow.event() });
    assert.equal(await numberIn(bytesOf(payload)), barAt(LONG_AGO));
    await flow.station.shows(/connected/);
  });
});
