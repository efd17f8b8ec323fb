import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, type Message, clipIn, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { cannotRun } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

describe('get clip with a folder', () => {
  let flow: VideoFlow;
  let folder: string;

  before(async () => {
    flow = await VideoFlow.start('5');
  });
  after(() => flow?.stop());
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clips-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  function getClip(properties: Message = {}): FlowNode {
    return caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, folder, ...properties });
  }

  it('gives the path of a file in it, that is whole, and for this user alone', async () => {
    await flow.deploy([getClip()]);
    const msg = await flow.station.through({ event: flow.event() });
    const file = String(msg.payload);
    assert.equal(path.dirname(file), fs.realpathSync(folder));
    assert.deepEqual(fs.readdirSync(folder), [path.basename(file)]);
    const content = fs.readFileSync(file);
    const { bytes, sha256 } = clipIn(msg);
    assert.equal(bytes, content.length);
    assert.equal(sha256, createHash('sha256').update(content).digest('hex'));
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  });

  it('names the file by time, camera and alarm, whatever these are', async () => {
    await flow.deploy([getClip()]);
    const event = { ...flow.event(), alarmId: '../../etc/passwd' };
    const name = path.basename(String((await flow.station.through({ event })).payload));
    const stamp = new Date(LONG_AGO).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    assert.match(
      name,
      new RegExp(`^clip-${stamp}-${flow.camera.id.slice(0, 32)}.*_etc_passwd-[0-9a-f]{8}\\.mp4$`),
    );
    assert.equal(fs.readdirSync(folder).length, 1);
  });

  it('takes a folder in the user directory of Node-RED, where it is no whole path', async () => {
    const { userDir } = flow.station.nodeRed;
    fs.mkdirSync(path.join(userDir, 'clips'));
    await flow.deploy([getClip({ folder: 'clips' })]);
    const { payload } = await flow.station.through({ event: flow.event() });
    assert.equal(path.dirname(String(payload)), fs.realpathSync(path.join(userDir, 'clips')));
  });

  it('opens nothing where the folder does not exist, or is a file', async () => {
    const file = path.join(folder, 'file');
    fs.writeFileSync(file, '');
    for (const bad of [path.join(folder, 'none'), file, '~/clips']) {
      await flow.deploy([getClip({ folder: bad })]);
      const opened = await flow.openedBy(async () => {
        const { code, message } = await flow.station.failure({ event: flow.event() });
        assert.equal(code, 'BAD_INPUT', bad);
        assert.match(message, /folder/);
      });
      assert.equal(opened, 0, bad);
    }
    assert.deepEqual(fs.readdirSync(folder), ['file']);
  });

  it('opens nothing for days that are none', async () => {
    await flow.deploy([getClip({ keepDays: -1 })]);
    assert.equal(await flow.openedBy(() => flow.station.through({ event: flow.event() }, 'failed')), 0);
  });

  it('removes its clips that are too old, and nothing else', async () => {
    await flow.deploy([getClip({ keepDays: 2 })]);
    const names = ['clip-20250101T000000Z-gate-0a1b2c3d.mp4', 'holiday.mp4'];
    const old = new Date(Date.now() - 3 * 86_400_000);
    for (const name of names) {
      fs.writeFileSync(path.join(folder, name), '');
      fs.utimesSync(path.join(folder, name), old, old);
    }
    const { payload } = await flow.station.through({ event: flow.event() });
    const left = ['holiday.mp4', path.basename(String(payload))].sort();
    await eventually(() => fs.readdirSync(folder).sort().join() === left.join(), 'the end of what is old');
  });

  it('leaves nothing of a clip that a deploy ends', async () => {
    await flow.deploy([getClip({ seconds: 300 })]);
    await flow.station.send({ event: flow.event() });
    await eventually(() => fs.readdirSync(folder).length > 0, 'the beginning of a clip');
    await flow.deploy([]);
    await eventually(() => fs.readdirSync(folder).length === 0, 'the end of it');
  });

  it('says that the disk is full, and leaves no half clip', async function () {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      cannotRun(this, 'a small disk cannot be mounted');
    }
    try {
      await flow.deploy([getClip({ seconds: 20 })]);
      const { code, message } = await flow.station.failure({ event: flow.event() });
      assert.equal(code, 'STORE_FAILED');
      assert.match(message, /full/);
      assert.deepEqual(fs.readdirSync(folder), []);
      await flow.relayLeft();
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});
