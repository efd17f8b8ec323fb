import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ClipFolder, partialName } from '../../../lib/video/clip-folder';
import { cannotRun } from '../../support/suite/programs';

const SUBJECT = { cameraId: 'camera-7', alarmId: 'alarm-3', time: new Date('2025-10-09T08:53:20.123Z') };
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

describe('A folder for clips', () => {
  let root: string;
  let folder: string;

  beforeEach(() => {
    root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clip-folder-')));
    folder = path.join(root, 'clips');
    fs.mkdirSync(folder);
  });

  afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

  const opened = (keepDays = 0, now = Date.now): ClipFolder => new ClipFolder({ folder, keepDays, now });
  const inRoot = (name: string): ClipFolder => new ClipFolder({ folder: path.join(root, name), keepDays: 0 });

  const assertRefused = (work: Promise<unknown>, message: RegExp): Promise<void> =>
    assert.rejects(work, { name: 'RvmError', code: 'BAD_INPUT', message });

  describe('gives a clip a place', () => {
    it('whose name tells when, which camera and which alarm', async () => {
      const { name } = await opened().place(SUBJECT);
      assert.match(name, /^clip-20251009T085320Z-camera-7-alarm-3-[0-9a-f]{8}\.mp4$/);
    });

    it('whose name is another one each time', async () => {
      const clips = opened();
      assert.notEqual((await clips.place(SUBJECT)).name, (await clips.place(SUBJECT)).name);
    });

    it('without a file before there is video', async () => {
      await opened().place(SUBJECT);
      assert.deepEqual(fs.readdirSync(folder), []);
    });

    const LONG = ['ä'.repeat(500), 'x'.repeat(500)];
    for (const id of ['../../etc/passwd', 'a/b\\c', '.', '..', '\0', 'C:', '', ...LONG])
      it(`whose name is harmless for the id ${JSON.stringify(id.slice(0, 20))}`, async () => {
        const { name } = await opened().place({ ...SUBJECT, cameraId: id, alarmId: id });
        assert.match(name, /^clip-\d{8}T\d{6}Z-[\w-]+-[0-9a-f]{8}\.mp4$/);
        assert.ok(Buffer.byteLength(name) < 120, name);
      });

    for (const [title, clips, below] of [
      ['in a folder below, where a message chose one', 'clips', 'site 4/gate'],
      ['in a folder below that a link within leads to', 'clips', 'link/gate'],
      ['where the folder itself is a link', 'linked', 'site 4/gate'],
    ] as const)
      it(title, async () => {
        fs.mkdirSync(path.join(folder, 'site 4', 'gate'), { recursive: true });
        fs.symlinkSync('site 4', path.join(folder, 'link'));
        fs.symlinkSync(folder, path.join(root, 'linked'));
        const place = await inRoot(clips).place(SUBJECT, below);
        assert.equal(place.folder, path.join(folder, 'site 4', 'gate'));
      });
  });

  describe('refuses', () => {
    it('to be one that does not exist', async () => {
      await assertRefused(inRoot('missing').place(SUBJECT), /does not exist/);
      assert.deepEqual(fs.readdirSync(root), ['clips']);
    });

    it('to be a file', async () => {
      fs.writeFileSync(path.join(root, 'file'), '');
      await assertRefused(inRoot('file').place(SUBJECT), /is a file/);
    });

    it('to be one that cannot be written to', async function () {
      if (process.platform !== 'linux') cannotRun(this, 'there is no folder that nobody can write to');
      // Nobody writes there, not even who may write everywhere.
      const readOnly = new ClipFolder({ folder: '/proc/self', keepDays: 0 });
      await assertRefused(readOnly.place(SUBJECT), /cannot be written to/);
    });

    it('a folder below that does not exist', async () => {
      await assertRefused(opened().place(SUBJECT, 'missing'), /does not exist/);
      assert.deepEqual(fs.readdirSync(folder), []);
    });

    for (const below of ['..', '../other', 'a/../../other', '/', '/tmp', 'a\0b', `${'a/'.repeat(600)}a`])
      it(`the way out ${JSON.stringify(below.slice(0, 20))}`, async () => {
        fs.mkdirSync(path.join(root, 'other'));
        await assertRefused(opened().place(SUBJECT, below), /lies outside/);
      });

    for (const [what, place, below] of [
      ['a link that leads out', 'other', 'link'],
      ['a neighbour whose name begins as its own', 'clips-of-others', '../clips-of-others'],
    ] as const)
      it(what, async () => {
        fs.mkdirSync(path.join(root, place));
        fs.symlinkSync(path.join(root, place), path.join(folder, 'link'));
        await assertRefused(opened().place(SUBJECT, below), /lies outside/);
      });

    it('without telling where it is', async () => {
      const tellsNothing = ({ message }: Error): boolean => !message.includes(root);
      await assert.rejects(inRoot('missing').place(SUBJECT), tellsNothing);
    });
  });

  describe('removes', () => {
    const OLD = 'clip-20251009T085320Z-camera-7-0123abcd.mp4';
    /** Of this machine, by another process. */
    const halfFile = (pid: number): string =>
      partialName().replace(/-\d+-\d+-(?=\w+\.part)/, `-${pid}-1700000000000-`);
    /** Of another machine. */
    const FOREIGN = '.clip-00000000-1-1700000000000-0123abcd.part';

    function put(name: string, ageMs: number, below = ''): string {
      const file = path.join(folder, below, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, 'x');
      const time = (Date.now() - ageMs) / 1000;
      fs.utimesSync(file, time, time);
      return file;
    }

    async function used(clips: ClipFolder): Promise<void> {
      await clips.place(SUBJECT);
      await clips.tidied();
    }

    for (const [what, keptDays, days, below, stays] of [
      ['clips that are older than they are to be kept', 7, 8, '', false],
      ['no clip that is younger', 7, 6, '', true],
      ['clips in folders below as well', 7, 8, 'site/gate', false],
      ['no clip where they are kept for ever', 0, 4000, '', true],
    ] as const)
      it(what, async () => {
        const file = put(OLD, days * DAY, below);
        await used(opened(keptDays));
        assert.equal(fs.existsSync(file), stays);
      });

    it('nothing that others made', async () => {
      const theirs = ['holiday.mp4', `my ${OLD}`, `${OLD}.bak`, 'clip-1.mp4', '.clip-notes', 'x.part'];
      const files = theirs.map((name) => put(name, 4000 * DAY));
      await used(opened(1));
      assert.deepEqual(files.filter(fs.existsSync), files);
    });

    it('nothing behind links', async () => {
      const elsewhere = path.join(root, 'elsewhere');
      put(OLD, 8 * DAY, '../elsewhere');
      fs.symlinkSync(elsewhere, path.join(folder, 'link'));
      fs.symlinkSync(path.join(elsewhere, OLD), path.join(folder, OLD));
      await used(opened(7));
      assert.ok(fs.existsSync(path.join(elsewhere, OLD)));
    });

    for (const [what, name, age, stays] of [
      ['half clips of a process that was killed', () => halfFile(2 ** 30), 1000, false],
      ['half clips of a process whose id this one has got', () => halfFile(process.pid), 1000, false],
      ['no half clip of its own process', () => partialName(), 2 * HOUR, true],
      ['no half clip of a process that lives', () => halfFile(process.ppid), 1000, true],
      ['half clips of another machine once nobody can be writing them', () => FOREIGN, 2 * HOUR, false],
      ['no half clip of another machine before that', () => FOREIGN, HOUR / 2, true],
    ] as const)
      it(what, async () => {
        const file = put(name(), age);
        await used(opened());
        assert.equal(fs.existsSync(file), stays);
      });

    it('once an hour at most', async () => {
      let now = Date.now();
      const clips = opened(7, () => now);
      await used(clips);
      const old = put(OLD, 8 * DAY);
      now += HOUR - 1;
      await used(clips);
      assert.ok(fs.existsSync(old));
      now += 1;
      await used(clips);
      assert.equal(fs.existsSync(old), false);
    });
  });
});
