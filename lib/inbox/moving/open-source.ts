import fs from 'node:fs';
import path from 'node:path';
import { RvmError } from '../../error';
import { isBusy } from '../folder-lock';
import { INBOX_FILE, SPILL_FOLDER } from '../inbox-settings';
import { holdsMessages } from '../spill/spill-folder';
import { SPILL_REGISTER, SpillRegister } from '../spill/spill-register';
import { alone, InUseError } from '../sqlite/alone';
import { faultText, isMisread } from '../sqlite/fault';
import { DamagedError } from '../sqlite/open';
import { isLogDamaged } from '../sqlite/salvage/log-frames';
import { isInUse, isSalvaging } from '../sqlite/salvage/salvage';
import { MOVED, SourceFile } from './source-file';

/**
 * Opens the file of an inbox to be moved, for this process alone.
 * @returns undefined where it was moved already
 * @throws RvmError STORE_FAILED that says why it cannot be moved now
 */
export async function openSource(folder: string): Promise<SourceFile | undefined> {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file)) {
    if (wasMoved(folder)) return undefined;
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
  if (isBusy(error)) {
    return unmovable(`Node-RED has the inbox in ${folder}: stop it, and run this again`);
  }
  if (isMisread(error)) return damaged(folder);
  return unmovable(faultText(error));
}

function open(folder: string, file: string): SourceFile {
  try {
    return alone(file, () => openAlone(file));
  } catch (error) {
    throw readingFailed(error, folder);
  }
}

/** The log is read before SQLite opens it, which would leave out what it cannot read, without a word. */
function openAlone(file: string): SourceFile {
  if (isInUse(file)) throw new InUseError('another process has the file');
  if (isSalvaging(file) || isLogDamaged(file)) throw new DamagedError('its log');
  return new SourceFile(file);
}

function wasMoved(folder: string): boolean {
  return (
    fs.existsSync(folder) && fs.readdirSync(folder).some((name) => name.startsWith(`${INBOX_FILE}${MOVED}`))
  );
}

/** What waits beside the file would be left behind. */
async function refuseSpilled(folder: string): Promise<void> {
  const register = new SpillRegister(path.join(folder, SPILL_REGISTER));
  for (const each of new Set([path.join(folder, SPILL_FOLDER), ...register.read()])) {
    if (!(await holdsMessages(each))) continue;
    throw unmovable(
      `messages wait in ${each} that are not in the file yet: start Node-RED, wait until the inbox says that they are read back, stop it, and run this again`,
    );
  }
}

function damaged(folder: string): RvmError {
  return unmovable(
    `the file in ${folder} is damaged: start Node-RED once, which salvages it, stop it, and run this again`,
  );
}

/** @param reason the end of a sentence: what is in the way, and what to do */
export function unmovable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be moved: ${reason}.`);
}
