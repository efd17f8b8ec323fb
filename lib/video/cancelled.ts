import { RvmError } from '../error';

/** What an aborted signal means to who waits for video: the caller's own error where it gave one, else a plain cancel. */
export function cancelledBy(signal: AbortSignal): RvmError {
  const reason: unknown = signal.reason;
  return reason instanceof RvmError ? reason : cancelled();
}

export function cancelled(): RvmError {
  return new RvmError('CANCELLED', 'The work on this video was cancelled before it was complete.');
}
