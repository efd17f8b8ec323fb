import path from 'node:path';
import { SPILL_FOLDER } from '../inbox-settings';
import { holdsMessages } from './spill-folder';
import { SPILL_REGISTER, SpillRegister } from './spill-register';

/** A folder in which messages wait that are not in the file of an inbox yet; undefined where there is none. @param folder of the inbox */
export async function spilledBeside(folder: string): Promise<string | undefined> {
  const register = new SpillRegister(path.join(folder, SPILL_REGISTER));
  for (const each of new Set([path.join(folder, SPILL_FOLDER), ...register.read()]))
    if (await holdsMessages(each)) return each;
  return undefined;
}
