import { isBusy } from '../folder-lock';
import { alone, FileInUseError } from './alone';
import { faultText, isMisread } from './fault';
import { DamagedError } from './open';
import { isLogDamaged } from './salvage/log-frames';
import { isInUse, isSalvaging } from './salvage/salvage';

/**
 * Opens the file of an inbox for a program beside Node-RED, which must not have it meanwhile.
 * @throws Error of which `offlineFault` says what to do
 */
export function openOffline<Opened>(file: string, open: () => Opened): Opened {
  return alone(file, () => {
    if (isInUse(file)) throw new FileInUseError('another process has the file');
    // The log is read before SQLite opens it, which would leave out what it cannot read, without a word.
    if (isSalvaging(file) || isLogDamaged(file)) throw new DamagedError('its log');
    return open();
  });
}

/** What failed while the file was opened or read, and what to do, as the end of a sentence. */
export function offlineFault(error: unknown, folder: string): string {
  if (isBusy(error)) return `Node-RED has the inbox in ${folder}: stop it, and run this again`;
  if (!isMisread(error)) return faultText(error);
  return `the file in ${folder} is damaged: start Node-RED once, which salvages it, stop it, and run this again`;
}
