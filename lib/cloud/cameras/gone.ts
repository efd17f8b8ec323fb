import { RvmError } from '../../error';

/** True for the error of a link that leads nowhere any more: links may change, and are then found anew. */
export function isGone(error: unknown): error is RvmError {
  if (!(error instanceof RvmError) || error.code !== 'HTTP_ERROR') return false;
  return error.cause.status === 404 || error.cause.status === 410;
}
