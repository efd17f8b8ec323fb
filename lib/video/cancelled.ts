import { RvmError } from '../error';

export function cancelled(): RvmError {
  return new RvmError('CANCELLED', 'The work on this video was cancelled before it was complete.');
}
