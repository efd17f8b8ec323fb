import assert from 'node:assert/strict';
import fs from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { framesIn, type Frame } from '../../lib/inbox/spill/frame';
import type { Segment } from '../../lib/inbox/spill/segment';
import { SpillFile } from '../../lib/inbox/spill/spill-file';
import { InlineInbox } from '../support/inbox/each-store';
import { cannotRun } from '../support/suite/programs';
import { eventually, soon } from '../support/time/patience';
import { proven, Taker } from './samples';

const step = { time: 1, step: 'settled' } as const;
const FRAME: Frame = { kind: 'settled', deliveryId: 'a', state: 'delivered', step };
const OTHER: Frame = { kind: 'settled', deliveryId: 'longer', state: 'dead', step };

describe('a spill file', () => {
  let folder: string;
  let segments: Segment[];
  let file: SpillFile;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    segments = [];
    file = new SpillFile({
      folder: async () => folder,
      room: () => Infinity,
      onSegment: (segment) => segments.push(segment),
    });
  });
  afterEach(async () => {
    await file.leaveFile();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('is left while others go on to append, who are not disturbed', async () => {
    const over = new AbortController();
    const append = async (): Promise<void> => {
      while (!over.signal.aborted) await file.append(FRAME);
    };
    const appending = Promise.all([append(), append(), append()]);
    try {
      for (let count = 1; count <= 20; count += 1) {
        await eventually(() => segments.length === count, 'the next file');
        await soon(file.leaveFile());
      }
    } finally {
      over.abort();
    }
    await appending;
  });

  it('is not closed under what is appended in the moment in which it is left', async () => {
    for (let count = 0; count < 100; count += 1) {
      const twice = file.append(FRAME).then(() => file.append(FRAME));
      await Promise.all([twice, file.leaveFile()]);
    }
  });

  for (const [title, act] of [
    ['is removed', () => fs.rmSync(path.join(folder, 'spill-1'))],
    ['is renamed', () => fs.renameSync(path.join(folder, 'spill-1'), path.join(folder, 'away'))],
    [
      'is removed with its folder, which is there again',
      () => {
        fs.rmSync(folder, { recursive: true });
        fs.mkdirSync(folder);
      },
    ],
  ] as const)
    it(`is followed by another one where it ${title}: nobody would find what is written to it`, async () => {
      await file.append(FRAME);
      act();
      const { segment } = await file.append(OTHER);
      assert.equal(path.basename(segment.file), 'spill-2');
      const { frames } = framesIn(fs.readFileSync(segment.file));
      assert.deepEqual(
        frames.map(({ frame }) => frame),
        [OTHER],
      );
    });

  it('is written on after writes that failed, each of which leaves nothing', async () => {
    const written = [await file.append(FRAME)];
    const { handles, restore } = await failing('datasync');
    for (let count = 0; count < 20; count += 1) await assert.rejects(file.append(OTHER), /no space/);
    restore();
    assert.equal(handles.size, 1);
    written.push(await file.append(FRAME));
    const content = fs.readFileSync(segments[0]?.file ?? '');
    assert.deepEqual(
      framesIn(content).frames,
      written.map(({ at, length }) => ({ frame: FRAME, at, length })),
    );
    assert.equal(framesIn(content).isWhole, true);
    assert.deepEqual(fs.readdirSync(folder), ['spill-1']);
  });

  it('is not there where its name could not be kept', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there is no sync of a folder');
    const { handles, restore } = await failing('sync');
    for (let count = 0; count < 20; count += 1) await assert.rejects(file.append(FRAME), /no space/);
    restore();
    assert.equal(handles.size, 20);
    assert.deepEqual([fs.readdirSync(folder), segments], [[], []]);
  });
});

/** From now on the disk is full for each file that is synced. */
async function failing(name: 'datasync' | 'sync'): Promise<{ handles: Set<unknown>; restore: () => void }> {
  const probe = await open(__filename);
  const prototype: FileHandle = Object.getPrototypeOf(probe);
  await probe.close();
  const handles = new Set<unknown>();
  const { [name]: was } = prototype;
  prototype[name] = function fail(this: FileHandle): Promise<void> {
    handles.add(this);
    return Promise.reject(new Error('no space'));
  };
  return { handles, restore: () => (prototype[name] = was) };
}

describe('an inbox that works again under a steady load', () => {
  it('is used again', async () => {
    const inbox = new InlineInbox({ lookAgain: 20 });
    inbox.fails = true;
    const taker = new Taker(inbox);
    const over = new AbortController();
    const send = async (): Promise<void> => {
      for (; !over.signal.aborted; await turn()) await inbox.accept(proven());
    };
    const sending = Promise.all(Array.from({ length: 4 }, send));
    await eventually(() => taker.ids.length > 100, 'events beside the inbox');
    inbox.fails = false;
    const works = eventually(() => inbox.state().durable === true, 'the inbox');
    await works.finally(() => over.abort());
    await sending;
    await inbox.close();
  });
});
