import fs from 'node:fs';
import { RvmError } from '../../error';
import type { ConnectionChoices } from '../postgres/connection-settings';

/** What `--tls` says. @throws RvmError BAD_INPUT */
export function tlsOf(choice: string): ConnectionChoices['tls'] {
  if (choice === 'verify' || choice === 'off') return choice;
  try {
    return { ca: fs.readFileSync(choice) };
  } catch {
    throw new RvmError('BAD_INPUT', `The file of --tls cannot be read: ${choice}. See rvm-inbox --help.`);
  }
}
