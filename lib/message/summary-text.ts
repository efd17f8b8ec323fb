import { type RvmEvent, isEnd, isHealth } from '../event';
import { readTime } from '../time';
import { beginOf } from '../text';

const MAX_LENGTH = 160;
const MAX_NAME = 60;
/** Control, format (direction marks and the like) and unpaired surrogate characters, line and paragraph separators. */
const UNCLEAN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** Colour and cursor codes of terminals. */
const ANSI = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/**
 * One clean line of at most 160 characters for mail, SMS and panels, such as
 * `ALARM Intrusion - Harbour Depot / Gate 1 - 2026-03-04 05:06:07Z`. An event of the sandbox starts with `SANDBOX`.
 * What is added here is plain ASCII: one other character halves the room of an SMS.
 */
export function summaryText(event: RvmEvent, sandbox: boolean): string {
  const what = [sandbox ? 'SANDBOX' : '', classWord(event), isEnd(event) ? 'END' : '', nameOf(event)];
  const place = [event.locationName, event.cameraName].map(cleanName).filter(Boolean).join(' / ');
  const head = [what.filter(Boolean).join(' '), place].filter(Boolean).join(' - ');
  const time = timeText(event);
  return time === '' ? shorten(head, MAX_LENGTH) : `${shorten(head, MAX_LENGTH - time.length - 3)} - ${time}`;
}

function classWord(event: RvmEvent): string {
  return isHealth(event) ? 'HEALTH' : 'ALARM';
}

function nameOf(event: RvmEvent): string {
  return cleanName(event.eventName) || cleanName(event.eventRuleName) || cleanName(event.eventType);
}

/** The time the event speaks of: its end where it has ended. */
function timeText(event: RvmEvent): string {
  const time = (isEnd(event) ? readTime(event.eventEndTime) : undefined) ?? readTime(event.eventStartTime);
  return time === undefined ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

function cleanName(value: unknown): string {
  if (typeof value !== 'string') return '';
  const clean = value.slice(0, 1000).replace(ANSI, ' ').replace(UNCLEAN, ' ').replace(/\s+/g, ' ').trim();
  return shorten(clean, MAX_NAME);
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${beginOf(text, length - 3)}...`;
}
