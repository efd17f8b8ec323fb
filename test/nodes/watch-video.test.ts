import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ChangingSetting, MOVABLE_CLOCK } from '../support/node-red/node-red';
import { caller, describeWith, VideoFlow } from '../support/node-red/station-flow';
import { MOVABLE_INTERVALS } from '../support/node-red/node-red-time';
import { watch, WatchRun } from '../support/node-red/watch-run';
import { programPath } from '../support/suite/programs';

const setting = new ChangingSetting('rvmFfmpeg');
const settings = `${setting.text}${MOVABLE_CLOCK}${MOVABLE_INTERVALS}`;

describeWith(VideoFlow, 'a watch over video', { versions: ['5'], programs: ['ffmpeg'], settings }, (flow) => {
  let run: WatchRun;
  before(() => (run = new WatchRun(flow.station.nodeRed)));
  after(() => setting.remove());

  it('finds that there was no recording when one was asked for, over a deploy, until there is one', async () => {
    const clip = caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, waitForVideo: 0 });
    await flow.deploy([clip, ...watch()]);
    flow.fault({ kind: 'status', status: 404 });
    run.begin();
    assert.equal(await flow.station.code({ event: flow.event() }), 'VIDEO_NOT_YET');
    const { severity, station, text } = await run.comes('no-recording');
    assert.deepEqual([severity, station], ['warning', 'north']);
    assert.ok(text.includes(`camera ${flow.camera.name}`), text);
    await flow.endFaults();
    await flow.deploy([clip, ...watch()]);
    run.begin();
    await run.pulse();
    assert.deepEqual(run.verdicts, []);
    await flow.station.through({ event: flow.event() });
    await run.goes('no-recording');
  });

  it('finds that pictures are to be made and there is no ffmpeg, until there is one, or no need', async () => {
    setting.set(JSON.stringify(path.join(fs.realpathSync('.'), 'no-ffmpeg')));
    const picture = caller('rvm-get-picture', { mode: 'event' });
    run.begin();
    await flow.deploy([picture, ...watch()]);
    assert.match((await run.comes('no-decoder')).text, /There is no ffmpeg/);
    setting.set(JSON.stringify(programPath('ffmpeg')));
    await run.goes('no-decoder');
    setting.set(JSON.stringify(path.join(fs.realpathSync('.'), 'no-ffmpeg')));
    await run.comes('no-decoder');
    await flow.deploy([...watch()]);
    await run.goes('no-decoder');
  });
});
