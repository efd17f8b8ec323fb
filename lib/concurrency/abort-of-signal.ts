import { RvmError } from '../error';
import { Abort } from './abort';

const aborts = new WeakMap<AbortSignal, Abort>();

/**
 * The abort of a caller's signal. All calls that share a signal share one listener at it: those that have left its list point
 * to the next, so that all who have ever listened would be collected late.
 */
export function abortOf(signal: AbortSignal): Abort {
  const known = aborts.get(signal);
  if (known !== undefined) return known;
  const abort = new Abort();
  const onAbort = (): void => abort.abort(abortError(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  aborts.set(signal, abort);
  return abort;
}

/** What an aborted signal means: the caller's own error, a deadline, or a plain cancel. */
function abortError(signal: AbortSignal): RvmError {
  const reason: unknown = signal.reason;
  if (reason instanceof RvmError) return reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return deadlineError();
  return new RvmError('CANCELLED', 'The request was cancelled before it was complete.');
}

/** The time of a caller is over, before anything had failed. */
export function deadlineError(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The time limit of this message was over before the service had answered; allow more time in the node, or look at the service.',
  );
}
