import { failureOf, SENT_AGAIN } from '../../cloud/http/retry-policy';
import { saysNoVideo } from '../../cloud/http/answer';
import { RvmError } from '../../error';

/** What may be done about a video that did not come. */
export type Cure =
  /** There is no recording yet: it may come. */
  | 'wait for the recording'
  /** Something failed in passing. */
  | 'try again'
  /** Only a person can cure it, or it would be the same again. */
  | 'none';

/** RTSP statuses of a relay that has no video of this time: not found, and a range outside the recording (RFC 2326, section 7.1.1). */
const NO_RECORDING: ReadonlySet<number> = new Set([404, 457]);
/** Not enough bandwidth: a relay that is busy. */
const BUSY = 453;
/** A relay that breaks off, or sends what cannot be read, may do so once or twice by chance. */
const MOST_BREAKS = 3;

/**
 * The one place that says what may be asked for again, until the deadline of the job.
 * @param isLive live video comes from no recording: what a relay does not know now it will not know later
 */
export function cureOf(error: unknown, attempts: number, isLive = false): Cure {
  if (!(error instanceof RvmError)) return 'none';
  const { code, cause } = error;
  if (code === 'VIDEO_NOT_YET') return 'wait for the recording';
  if (saysNoVideo(error)) return isLive ? 'none' : 'wait for the recording';
  if (code !== 'VIDEO_FAILED') {
    return SENT_AGAIN[failureOf(error, true)]['RTSP session'] === 'never' ? 'none' : 'try again';
  }
  const { status } = cause;
  if (status === undefined) return attempts < MOST_BREAKS ? 'try again' : 'none';
  if (NO_RECORDING.has(status)) return isLive ? 'none' : 'wait for the recording';
  return status === BUSY || status >= 500 ? 'try again' : 'none';
}

/** Milliseconds before the next attempt. */
export function pauseBefore(attempt: number): number {
  return Math.min(1000 * 2 ** (attempt - 1), 8000);
}
