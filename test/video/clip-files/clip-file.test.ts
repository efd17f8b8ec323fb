import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ClipFile } from '../../../lib/video/clip-folder';
import { ClipWriter, type ClipFacts } from '../../../lib/video/mp4/clip-writer';
import { cannotRun, needs } from '../../support/suite/programs';
import { encodedKind, type EncodedVideo } from '../../support/video/encoded-stream';
import { writtenClip } from '../../support/video/played-clip';

const NAME = 'clip.mp4';

describe('A clip as a file', () => {
  let video: EncodedVideo;
  let folder: string;

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
    video = encodedKind('H.264 with B-frames and AAC');
  });

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clip-file-'));
  });

  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** A clip of the first frames, which is not finished. */
  async function begun(count = Infinity): Promise<ClipWriter> {
    const writer = new ClipWriter(new ClipFile({ folder, name: NAME }));
    for (const frame of video.frames.slice(0, count)) await writer.add(frame);
    return writer;
  }
  const written = async (): Promise<ClipFacts> => (await begun()).finish();

  it('has the bytes of one in memory, and is told with its length and its hash', async () => {
    const { bytes, sha256 } = await written();
    const { clip } = await writtenClip(video.frames);
    const content = fs.readFileSync(path.join(folder, NAME));
    assert.deepEqual(withoutDates(content), withoutDates(clip));
    const hash = createHash('sha256').update(content).digest('hex');
    assert.deepEqual([bytes, sha256], [content.length, hash]);
  });

  it('is the only file, and for this user alone', async () => {
    await written();
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
    assert.equal(fs.statSync(path.join(folder, NAME)).mode & 0o777, 0o600);
  });

  it('has its name once it is whole, and not before', async () => {
    const writer = await begun();
    const [half, ...others] = fs.readdirSync(folder);
    assert.match(half ?? '', /^\.clip-.*\.part$/);
    assert.deepEqual(others, []);
    await writer.finish();
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
  });

  it('that is given up leaves nothing behind, at any time', async () => {
    for (const count of [0, 1, 5, 60, 100, video.frames.length]) {
      await (await begun(count)).discard();
      assert.deepEqual(fs.readdirSync(folder), [], `${count}`);
    }
  });

  it('stays where it is given up after its end', async () => {
    const writer = await begun();
    await writer.finish();
    await writer.discard();
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
  });

  it('fails in words where its folder is removed', async () => {
    fs.rmSync(folder, { recursive: true });
    await assert.rejects(written(), isStoreFailure(/was removed/));
  });

  describe('on a disk without room', () => {
    /** Bytes of the disk. */
    const ROOM = 128 * 1024;
    let mounted = false;

    beforeEach(function () {
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${ROOM}`, 'tmpfs', folder], { stdio: 'pipe' });
        mounted = true;
      } catch {
        cannotRun(this, 'a small disk cannot be mounted');
      }
    });

    afterEach(() => {
      if (mounted) execFileSync('umount', [folder]);
      mounted = false;
    });

    it('fails in words and leaves nothing behind, whenever the room ends', async () => {
      // First for the pictures, then for the whole beside them.
      for (const taken of [100 * 1024, 60 * 1024, 8 * 1024]) {
        const ballast = path.join(folder, 'ballast');
        fs.writeFileSync(ballast, Buffer.alloc(taken));
        await assert.rejects(written(), isStoreFailure(/is full/));
        assert.deepEqual(fs.readdirSync(folder), ['ballast']);
        fs.rmSync(ballast);
      }
    });
  });
});

function isStoreFailure(message: RegExp): object {
  return { name: 'RvmError', code: 'STORE_FAILED', message };
}

/** Without the second in which each was made. */
function withoutDates(clip: Buffer): Buffer {
  const copy = Buffer.from(clip);
  for (const type of ['mvhd', 'tkhd', 'mdhd'])
    for (let at = copy.indexOf(type); at >= 0; at = copy.indexOf(type, at + 1)) copy.fill(0, at + 8, at + 16);
  return copy;
}
