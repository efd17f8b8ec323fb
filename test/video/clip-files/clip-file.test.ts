import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { RvmError } from '../../../lib/error';
import { ClipFile } from '../../../lib/video/clip-folder';
import { ClipMemory, type ClipDestination } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter, type ClipFacts } from '../../../lib/video/mp4/clip-writer';
import { cannotRun, needs } from '../../support/suite/programs';
import { AAC, B_FRAMES, encodedVideo, type EncodedVideo } from '../../support/video/encoded-stream';

const NAME = 'clip.mp4';

describe('A clip as a file', () => {
  let video: EncodedVideo;
  let folder: string;

  before(function () {
    needs(this, 'ffmpeg', 'ffprobe');
    video = encodedVideo({ encoder: B_FRAMES, sound: AAC });
  });

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clip-file-'));
  });

  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  async function written(destination: ClipDestination): Promise<ClipFacts> {
    const writer = new ClipWriter(destination);
    for (const frame of video.frames) await writer.add(frame);
    return writer.finish();
  }

  it('has the bytes of one in memory', async () => {
    const file = new ClipFile({ folder, name: NAME });
    const memory = new ClipMemory();
    await written(file);
    await written(memory);
    assert.deepEqual(withoutDates(fs.readFileSync(file.path)), withoutDates(memory.content));
  });

  it('is told with its length and its hash', async () => {
    const file = new ClipFile({ folder, name: NAME });
    const facts = await written(file);
    const content = fs.readFileSync(file.path);
    assert.equal(facts.bytes, content.length);
    assert.equal(facts.sha256, createHash('sha256').update(content).digest('hex'));
  });

  it('is the only file, and for this user alone', async () => {
    const file = new ClipFile({ folder, name: NAME });
    await written(file);
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
    assert.equal(fs.statSync(file.path).mode & 0o777, 0o600);
  });

  it('has its name once it is whole, and not before', async () => {
    const writer = new ClipWriter(new ClipFile({ folder, name: NAME }));
    for (const frame of video.frames) await writer.add(frame);
    const [half, ...others] = fs.readdirSync(folder);
    assert.match(half ?? '', /^\.clip-.*\.part$/);
    assert.deepEqual(others, []);
    await writer.finish();
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
  });

  it('that is given up leaves nothing behind, at any time', async () => {
    for (const count of [0, 1, 5, 60, 100, video.frames.length]) {
      const writer = new ClipWriter(new ClipFile({ folder, name: NAME }));
      for (const frame of video.frames.slice(0, count)) await writer.add(frame);
      await writer.discard();
      assert.deepEqual(fs.readdirSync(folder), [], `${count}`);
    }
  });

  it('stays where it is given up after its end', async () => {
    const file = new ClipFile({ folder, name: NAME });
    const writer = new ClipWriter(file);
    for (const frame of video.frames) await writer.add(frame);
    await writer.finish();
    await writer.discard();
    assert.deepEqual(fs.readdirSync(folder), [NAME]);
  });

  it('fails in words where its folder is removed', async () => {
    const file = new ClipFile({ folder, name: NAME });
    fs.rmSync(folder, { recursive: true });
    await assert.rejects(written(file), isStoreFailure(/was removed/));
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
        await assert.rejects(written(new ClipFile({ folder, name: NAME })), isStoreFailure(/is full/));
        assert.deepEqual(fs.readdirSync(folder), ['ballast']);
        fs.rmSync(ballast);
      }
    });
  });
});

function isStoreFailure(words: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof RvmError && error.code === 'STORE_FAILED' && words.test(error.message);
}

/** Without the second in which each was made. */
function withoutDates(clip: Buffer): Buffer {
  const copy = Buffer.from(clip);
  for (const type of ['mvhd', 'tkhd', 'mdhd'])
    for (let at = copy.indexOf(type); at >= 0; at = copy.indexOf(type, at + 1)) copy.fill(0, at + 8, at + 16);
  return copy;
}
