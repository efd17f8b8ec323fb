import fs from 'node:fs';
import path from 'node:path';
import { RvmError } from '../../error';
import { INBOX_FILE } from '../inbox-settings';
import { spilledBeside } from '../spill/spilled-beside';
import { offlineFault, openOffline } from '../sqlite/open-offline';
import { wasMoved } from '../sqlite/openings';
import { SourceFile } from './source-file';

/**
 * Opens the file of an inbox to be moved, for this process alone.
 * @returns undefined where it was moved already
 * @throws RvmError STORE_FAILED that says why it cannot be moved now
 */
export async function openSource(folder: string): Promise<SourceFile | undefined> {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file)) {
    if (wasMoved(file)) return undefined;
    throw unmovable(`there is no ${INBOX_FILE} in ${folder}: name the folder of the inbox with --from`);
  }
  const source = open(folder, file);
  try {
    await refuseSpilled(folder);
    return source;
  } catch (error) {
    source.close();
    throw error;
  }
}

/** What failed while the file was read, as a user should know it. */
export function readingFailed(error: unknown, folder: string): RvmError {
  return unmovable(offlineFault(error, folder));
}

function open(folder: string, file: string): SourceFile {
  try {
    return openOffline(file, () => new SourceFile(file));
  } catch (error) {
    throw readingFailed(error, folder);
  }
}

/** What waits beside the file would be left behind. */
async function refuseSpilled(folder: string): Promise<void> {
  const spilled = await spilledBeside(folder);
  if (spilled === undefined) return;
  throw unmovable(
    `messages wait in ${spilled} that are not in the file yet: start Node-RED, wait until the inbox says that they are read back, stop it, and run this again`,
  );
}

/** @param reason the end of a sentence: what is in the way, and what to do */
export function unmovable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be moved: ${reason}.`);
}
