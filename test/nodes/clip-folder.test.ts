import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  clipIn,
  describeWith,
  VideoFlow,
  LONG_AGO,
  type Message,
} from '../support/node-red/station-flow';
import { cannotRun } from '../support/suite/programs';
import { eventually } from '../support/time/patience';

describeWith(VideoFlow, 'get clip with a folder', { versions: ['5'] }, (flow) => {
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clips-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  const getClip = (properties: Message = {}): FlowNode =>
    caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, folder, ...properties });
  const files = (): string[] => fs.readdirSync(folder).sort();

  it('gives the path of a file in it, that is whole, and for this user alone', async () => {
    const msg = await flow.ask(getClip());
    const file = String(msg.payload);
    assert.equal(path.dirname(file), fs.realpathSync(folder));
    assert.deepEqual(files(), [path.basename(file)]);
    const content = fs.readFileSync(file);
    const sha256 = createHash('sha256').update(content).digest('hex');
    assert.partialDeepStrictEqual(clipIn(msg), { bytes: content.length, sha256 });
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  });

  it('names the file by time, camera and alarm, whatever these are', async () => {
    const event = { ...flow.event(), alarmId: '../../etc/passwd' };
    const name = path.basename(String((await flow.ask(getClip(), { event })).payload));
    const stamp = new Date(LONG_AGO).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const begin = `clip-${stamp}-${flow.camera.id.slice(0, 32)}`;
    assert.match(name, new RegExp(`^${begin}.*_etc_passwd-[0-9a-f]{8}\\.mp4$`));
    assert.equal(files().length, 1);
  });

  it('takes a folder in the user directory of Node-RED, where it is no whole path', async () => {
    const clips = path.join(flow.station.nodeRed.userDir, 'clips');
    fs.mkdirSync(clips);
    const { payload } = await flow.ask(getClip({ folder: 'clips' }));
    assert.equal(path.dirname(String(payload)), fs.realpathSync(clips));
  });

  for (const [what, bad] of [
    ['does not exist', 'none'],
    ['is a file', 'file'],
    ['begins with ~', '~/clips'],
  ] as const)
    it(`opens nothing where the folder ${what}`, async () => {
      fs.writeFileSync(path.join(folder, 'file'), '');
      const named = bad.startsWith('~') ? bad : path.join(folder, bad);
      const { code, message } = await flow.refusal(getClip({ folder: named }));
      assert.equal(code, 'BAD_INPUT');
      assert.match(message, /folder/);
      assert.deepEqual(files(), ['file']);
    });

  it('opens nothing for days that are none', async () => {
    await flow.refusal(getClip({ keepDays: -1 }));
  });

  it('removes its clips that are too old, and nothing else', async () => {
    const old = new Date(Date.now() - 3 * 86_400_000);
    for (const name of ['clip-20250101T000000Z-gate-0a1b2c3d.mp4', 'holiday.mp4']) {
      fs.writeFileSync(path.join(folder, name), '');
      fs.utimesSync(path.join(folder, name), old, old);
    }
    const { payload } = await flow.ask(getClip({ keepDays: 2 }));
    const left = ['holiday.mp4', path.basename(String(payload))].sort();
    await eventually(() => files().join() === left.join(), 'the end of what is old');
  });

  it('leaves nothing of a clip that a deploy ends', async () => {
    await flow.deploy([getClip({ seconds: 300 })]);
    await flow.station.send({ event: flow.event() });
    await eventually(() => files().length > 0, 'the beginning of a clip');
    await flow.deploy([]);
    await eventually(() => files().length === 0, 'the end of it');
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
      assert.deepEqual(files(), []);
      await flow.relayLeft();
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});
