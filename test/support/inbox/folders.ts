import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox, type DurableInboxOptions } from '../../../lib/inbox/durable-inbox';

/** For the tests of a `describe`: each has a folder of its own. @param end what comes before it is removed */
export function folderOfEach(end: () => unknown = () => undefined): () => string {
  let folder = '';
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-of-each-'));
  });
  afterEach(async () => {
    await end();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return () => folder;
}

/** The inbox of a folder, which spills beside its file, and removes nothing by age. */
export function inboxIn(folder: string, options: Partial<DurableInboxOptions> = {}): DurableInbox {
  return new DurableInbox({
    file: path.join(folder, 'inbox.sqlite'),
    spillFolder: path.join(folder, 'spill'),
    keep: { keys: Infinity, bodies: Infinity },
    ...options,
  });
}
