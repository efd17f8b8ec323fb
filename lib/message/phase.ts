import type { RvmEvent } from '../event';
import { isZeroDate } from '../time';

/**
 * True where the event has ended: it carries an `eventEndTime` (specification, section 2: null while the event is
 * ongoing). Null, an empty text and the zero date say that it has not.
 */
export function isEnd(event: RvmEvent): boolean {
  const end: unknown = event.eventEndTime;
  if (typeof end === 'number') return true;
  return typeof end === 'string' && end.trim() !== '' && !isZeroDate(end);
}

/** True for an event of class `health`, spelt just so; all others count as security, for an alarm too many is better than one too few. */
export function isHealth(event: RvmEvent): boolean {
  return event.eventClass === 'health';
}
