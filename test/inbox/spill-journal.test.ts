import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import * as fc from 'fast-check';
import { frameBytes, type Frame } from '../../lib/inbox/spill/frame';
import { SpillJournal } from '../../lib/inbox/spill/spill-journal';
import type { NewMessage } from '../../lib/inbox/store/protocol';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { runsOf } from '../support/suite/lanes';
import { cannotRun } from '../support/suite/programs';
import { replaceMethod, eventually, soon } from '../support/time/patience';
import { proven } from './samples';

/** Resolves when the clock shows another millisecond. */
async function clockTick(): Promise<void> {
  const begun = Date.now();
  await eventually(() => Date.now() !== begun, 'the next millisecond');
}

/** What a file of frames would have of a content, whatever that is. */
function checked(content: string | Buffer): Buffer {
  const head = Buffer.alloc(8);
  const bytes = Buffer.from(content);
  head.writeUInt32BE(bytes.length, 0);
  head.writeUInt32BE(zlib.crc32(bytes), 4);
  return Buffer.concat([head, bytes]);
}

const settled = (deliveryId: string): Frame => ({
  kind: 'settled',
  deliveryId,
  state: 'dead',
  step: { time: 1, step: 'dead' },
});

describe('the spill files', () => {
  let folder: string;
  let left: string[];
  const open = new Set<SpillJournal>();
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    left = [];
  });
  afterEach(async () => {
    for (const journal of open) await journal.close();
    open.clear();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  function journal(): SpillJournal {
    const made = new SpillJournal({
      folder,
      register: path.join(folder, 'register.json'),
      onLeft: (file) => left.push(path.basename(file)),
    });
    open.add(made);
    return made;
  }

  async function end(ended: SpillJournal): Promise<void> {
    open.delete(ended);
    await ended.close();
  }

  const framesOf = async (of: SpillJournal): Promise<Frame[]> =>
    (await of.take()).flatMap(({ frames }) => frames.map(({ frame }) => frame));
  const folders = (): string[] => fs.readdirSync(folder).filter((name) => /^\d+-/.test(name));
  const onlyFile = (): string => path.join(folder, folders()[0] ?? '', 'spill-1');
  /** Writes the file of a process that has ended. */
  const leave = (bytes: Uint8Array): void => {
    const ofProcess = path.join(folder, `1-1-${'b'.repeat(12)}`);
    fs.mkdirSync(ofProcess, { recursive: true });
    fs.writeFileSync(path.join(ofProcess, 'spill-1'), bytes);
  };

  function spilled(message: NewMessage, deliveryId: string): Frame {
    const progress = { state: message.state, attempt: 0, cutOff: 0, atFlow: false };
    const facts = { first: true, ended: false, mayRepeat: false, node: 'node' };
    return { kind: 'message', deliveryId, message, ...facts, progress };
  }

  it('give back exactly what was put in, over a restart, and are gone once nobody needs them', async () => {
    const frames: Frame[] = [
      spilled(newMessage(proven({ eventName: 'Ærø\n港' })), 'a'),
      {
        kind: 'progress',
        deliveryId: 'a',
        change: 1,
        progress: { state: 'delivered', attempt: 1, cutOff: 0, atFlow: false },
      },
      settled('b'),
    ];
    const former = journal();
    await Promise.all(frames.map((frame) => former.append(frame)));
    await end(former);
    const next = journal();
    assert.deepEqual(await framesOf(next), frames);
    await next.drop(() => new Set());
    assert.deepEqual(folders(), []);
  });

  it('C-129 of a process that lives are its own, and of one that has ended are taken by the next, once', async () => {
    const [first, second] = [journal(), journal()];
    await first.append(spilled(newMessage(proven()), 'a'));
    assert.deepEqual(await second.take(), []);
    await end(first);
    assert.equal((await framesOf(second)).length, 1);
    assert.deepEqual(await journal().take(), []);
  });

  it('of several processes come in the order in which these began to write, wherever that was', async () => {
    const register = path.join(folder, 'register.json');
    const bases = ['b', 'a', 'c'].map((name) => path.join(folder, name));
    fs.writeFileSync(register, JSON.stringify(bases));
    const ids = Array.from({ length: 12 }, (_, count) => String(count));
    const writers: SpillJournal[] = [];
    for (const [count, deliveryId] of ids.entries()) {
      const writer = new SpillJournal({
        folder: bases[count % 3] ?? '',
        register: '',
        onLeft: () => undefined,
      });
      open.add(writer);
      writers.push(writer);
      await writer.append(settled(deliveryId));
      await clockTick();
    }
    for (const writer of writers) await end(writer);
    assert.deepEqual(await framesOf(journal()), ids.map(settled));
  });

  it('of a process come after those that are there, though the clock was put back meanwhile', async () => {
    const later = path.join(folder, `${Date.now() + 10 ** 9}-1-${'a'.repeat(12)}`);
    fs.mkdirSync(later);
    fs.writeFileSync(path.join(later, 'spill-1'), frameBytes(settled('a')));
    const writer = journal();
    await writer.append(settled('b'));
    await end(writer);
    assert.deepEqual(await framesOf(journal()), [settled('a'), settled('b')]);
  });

  it('are files: a pipe or a link of such a name is left alone', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there are no pipes in folders');
    const writer = journal();
    const { segment } = await writer.append(settled('a'));
    await end(writer);
    const pipe = path.join(path.dirname(segment.file), 'spill-2');
    execFileSync('mkfifo', [pipe]);
    const other = path.join(os.tmpdir(), path.basename(folder) + '-other');
    fs.writeFileSync(other, frameBytes(settled('b')));
    fs.symlinkSync(other, path.join(path.dirname(pipe), 'spill-3'));
    const next = journal();
    try {
      assert.deepEqual(await soon(framesOf(next)), [settled('a')]);
    } finally {
      // Whoever reads it comes to its end.
      fs.closeSync(fs.openSync(pipe, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
      fs.rmSync(other);
    }
    await next.drop(() => new Set());
    assert.deepEqual(fs.readdirSync(path.dirname(pipe)), ['spill-2', 'spill-3']);
  });

  it('that are still needed stay, and those behind them', async () => {
    const writer = journal();
    const { segment } = await writer.append(spilled(newMessage(proven()), 'a'));
    await writer.drop(() => new Set([segment]));
    await writer.append(settled('b'));
    await writer.drop(() => new Set([segment]));
    assert.equal(
      fs.readdirSync(path.dirname(segment.file)).filter((name) => name.startsWith('spill')).length,
      2,
    );
  });

  it('of which one cannot be removed stay, with those behind it, until it can be', async () => {
    const former = journal();
    await former.append(settled('a'));
    await end(former);
    const writer = journal();
    await writer.take();
    await writer.append(settled('b'));
    const names = (): string[] =>
      fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /spill-\d+$/.test(name));
    const both = names();
    const isFree = replaceMethod<typeof fsPromises>(fsPromises, 'unlink', (unlink) => async (file) => {
      if (path.join(folder, both[0] ?? '') === file) throw new Error('it is busy');
      return Reflect.apply(unlink, fsPromises, [file]);
    });
    await writer.drop(() => new Set());
    assert.deepEqual([names(), left], [both, []]);
    isFree();
    await writer.drop(() => new Set());
    assert.deepEqual(names(), []);
  });

  it('that somebody else has removed keep none behind them', async () => {
    const writer = journal();
    const { segment } = await writer.append(settled('a'));
    await writer.drop(() => new Set([segment]));
    await writer.append(settled('b'));
    fs.unlinkSync(segment.file);
    await writer.drop(() => new Set());
    assert.deepEqual(folders(), []);
  });

  it('end before a frame that a crash has torn, anywhere, and keep those before it', async () => {
    const writer = journal();
    const frames = ['a', 'b', 'c'].map((id) => spilled(newMessage(proven()), id));
    const ends: number[] = [];
    for (const frame of frames) {
      const { at, length } = await writer.append(frame);
      ends.push(at + length);
    }
    await end(writer);
    const whole = fs.readFileSync(onlyFile());
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length), async (length) => {
        fs.writeFileSync(onlyFile(), whole.subarray(0, length));
        const reader = journal();
        assert.deepEqual(await framesOf(reader), frames.slice(0, ends.filter((at) => at <= length).length));
        await end(reader);
      }),
      { numRuns: runsOf(40) },
    );
  });

  for (const [what, tail] of [
    ['fewer zeros than the head of a frame has bytes', Buffer.alloc(5)],
    ['zeros', Buffer.alloc(4096)],
    ['a head that promises more than there is', Buffer.from('00ffffff00000000', 'hex')],
    ['a frame whose checksum is right, and which is none', checked('no JSON')],
    ['a frame of one line that is no object', checked('null\n')],
    ['a frame of one line that says of no kind what it is', checked('{"deliveryId":"a"}\n')],
  ] as const)
    it(`give what stands before ${what}, as a power loss may leave it, and keep the rest under another name`, async () => {
      const writer = journal();
      await writer.append(settled('a'));
      await end(writer);
      fs.appendFileSync(onlyFile(), tail);
      const changed = fs.readFileSync(onlyFile());
      leave(frameBytes(settled('b')));
      const next = journal();
      assert.deepEqual(await framesOf(next), [settled('b'), settled('a')]);
      await next.drop(() => new Set());
      assert.deepEqual(
        left.map((name) => fs.readFileSync(path.join(folder, name))),
        [changed],
      );
    });

  it('give what stands before any bytes that a power loss may leave', async () => {
    const whole = frameBytes(settled('a'));
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (tail) => {
        leave(Buffer.concat([whole, tail]));
        const reader = journal();
        assert.deepEqual(await framesOf(reader), [settled('a')]);
        await reader.drop(() => new Set());
        await end(reader);
      }),
      { numRuns: runsOf(40) },
    );
  });

  it('of a folder that cannot be read keep no others from being read, and are read once they can be', async () => {
    const writer = journal();
    await writer.append(settled('a'));
    await end(writer);
    const unreadable = path.join(folder, `1-1-${'b'.repeat(12)}`);
    fs.writeFileSync(unreadable, 'no folder');
    const next = journal();
    assert.deepEqual(await framesOf(next), [settled('a')]);
    assert.equal(next.isShared, true);
    fs.unlinkSync(unreadable);
    fs.mkdirSync(unreadable);
    fs.writeFileSync(path.join(unreadable, 'spill-1'), frameBytes(settled('b')));
    assert.deepEqual(await framesOf(next), [settled('b')]);
    assert.equal(next.isShared, false);
  });

  it('give nothing of a frame whose bytes have changed, and are kept under another name', async () => {
    const frame = frameBytes(spilled(newMessage(proven()), 'a'));
    await fc.assert(
      fc.asyncProperty(fc.nat(frame.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(frame);
        changed[at] = (changed[at] ?? 0) ^ flip;
        leave(changed);
        const reader = journal();
        assert.deepEqual(await framesOf(reader), []);
        left = [];
        await reader.drop(() => new Set());
        assert.equal(left.length, 1);
        assert.deepEqual(fs.readFileSync(path.join(folder, left[0] ?? '')), changed);
        await end(reader);
      }),
      { numRuns: runsOf(40) },
    );
  });
});
