import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Frame, SpillFile } from '../../lib/inbox/spill/spill-file';
import { eventually, soon } from '../support/time/patience';

const step = { time: 1, step: 'settled' } as const;
const FRAME: Frame = { kind: 'settled', deliveryId: 'a', state: 'delivered', step };

describe('a spill file', () => {
  let folder: string;
  let segments: number;
  let file: SpillFile;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-spill-'));
    segments = 0;
    file = new SpillFile({
      folder: async () => folder,
      capacity: () => Infinity,
      onSegment: () => (segments += 1),
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
        await eventually(() => segments === count, 'the next file');
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
});
