import fs from 'node:fs/promises';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';

/** How long an answer counts, in milliseconds: whoever asks may be a stranger, and ask without end. */
const FRESH = 1000;
/** As long as a small message: a full disk takes an empty file all the same. */
const SAMPLE = Buffer.alloc(4096);

interface Answer {
  folder: string;
  /** When it was there; before that, nobody tries again. */
  at: number;
  passes: Promise<boolean>;
}

/** Whether a message could be written to a spill folder: tried as one is, synced to the disk, once a second at most. */
export class SpillProbe {
  #last: Answer | undefined;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(private readonly steady: () => number = () => performance.now()) {}

  passes(folder: string): Promise<boolean> {
    const last = this.#last;
    if (last?.folder === folder && this.steady() - last.at < FRESH) return last.passes;
    const passes = tried(folder);
    const answer = { folder, at: Infinity, passes };
    this.#last = answer;
    void passes.then(() => (answer.at = this.steady()));
    return passes;
  }
}

async function tried(folder: string): Promise<boolean> {
  const file = path.join(folder, `sample-${process.pid}`);
  try {
    ensurePrivateFolder(folder);
    await writeThrough(file);
    return true;
  } catch {
    return false;
  } finally {
    await fs.unlink(file).catch(() => undefined);
  }
}

/** @throws Error where it is not on the disk then */
async function writeThrough(file: string): Promise<void> {
  const handle = await fs.open(file, 'w', 0o600);
  try {
    await handle.writeFile(SAMPLE);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
