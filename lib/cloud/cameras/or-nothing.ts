import { RvmError } from '../../error';
import type { Operation } from '../operation';

/** Failures that are not those of a camera's own resource: the call ends with them, whatever that would tell. */
const OF_THE_STATION: ReadonlySet<string> = new Set([
  'CANCELLED',
  'CONFIG_MISSING',
  'API_KEY_REJECTED',
  'LOGIN_FAILED',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
]);

/** Where many cameras are asked, one after the other, these end it as well: nobody is reached. */
export const OF_THE_SERVICE: ReadonlySet<string> = new Set([...OF_THE_STATION, 'NETWORK', 'TLS']);

/**
 * What is asked for as a hint: undefined where it cannot be had.
 * @throws RvmError where the caller has given up, and for failures that asking elsewhere would not mend
 */
export async function orNothing<T>(
  operation: Operation,
  asked: Promise<T | undefined>,
  fatal = OF_THE_STATION,
): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    operation.checkAlive();
    if (error instanceof RvmError && !fatal.has(error.code)) return undefined;
    throw error;
  }
}
