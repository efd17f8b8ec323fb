import type { DeadLetter, ProvenMessage } from '../../message/record';
import type { HistoryEntry, HistoryStep } from '../history';
import type { LeasedMessage } from './protocol';
import type { NotedStep, StepRow } from './step';
import { timeText } from './time-text';

/** What may become of an event that no flow has had. */
const UNDELIVERED: ReadonlySet<HistoryStep> = new Set(['assigned', 'delivered-again']);

/**
 * What has become of a message, oldest first, as far as it is kept: of one whose body is kept no more, its usual course.
 * @param message undefined where its body cannot be read any more
 */
export function historyOf(
  stored: LeasedMessage,
  message: ProvenMessage | DeadLetter | undefined,
): HistoryEntry[] {
  const entries = (stored.steps ?? []).map((step, index) =>
    entryOf(step, index === 0 ? omittedBefore(step) : 0),
  );
  // Of one millisecond, in the order of their places.
  entries.sort((one, other) => one.time.localeCompare(other.time));
  for (const entry of courseOf(stored)) entries.splice(placeOf(entry, entries), 0, entry);
  return [...arrivalOf(stored, message), ...entries];
}

/**
 * Where the first delivery, or the settlement, stands among the noted steps: they have no place there. Of those of its
 * millisecond, none but what a person found can come after a settlement.
 */
function placeOf({ time, step }: HistoryEntry, entries: readonly HistoryEntry[]): number {
  const isSettled = step === 'settled';
  const areBefore = entries.map(
    (other) =>
      other.time < time ||
      (other.time === time && (isSettled ? other.step !== 'verdict' : UNDELIVERED.has(other.step))),
  );
  return isSettled ? areBefore.lastIndexOf(true) + 1 : [...areBefore, false].indexOf(false);
}

/** The receipt comes first, whatever the clocks of several instances say. */
function arrivalOf(stored: LeasedMessage, message: ProvenMessage | DeadLetter | undefined): HistoryEntry[] {
  const time = timeText(stored.received);
  const { remoteAddress: from, provenTime } = message ?? {};
  const received: HistoryEntry = {
    time,
    step: 'received',
    ...(from !== undefined && { from }),
    ...(message !== undefined && 'proof' in message && { proof: message.proof, secret: message.secret }),
  };
  const reason = message !== undefined && 'reason' in message ? message.reason : conflictOf(stored);
  const filteredBy = message !== undefined && 'filteredBy' in message ? message.filteredBy : undefined;
  return [
    received,
    ...(provenTime === undefined ? [] : [{ time: provenTime, step: 'phrase' } as const]),
    ...(reason === undefined ? [] : [{ time: provenTime ?? time, step: 'dead', reason } as const]),
    ...(filteredBy === undefined || reason !== undefined
      ? []
      : [{ time: provenTime ?? time, step: 'filtered', reason: filteredBy.join(', ') } as const]),
  ];
}

function conflictOf({ state }: LeasedMessage): 'conflict' | undefined {
  return state === 'conflict' ? state : undefined;
}

function courseOf({ course = {} }: LeasedMessage): HistoryEntry[] {
  const { delivered, instance, settled, settledBy } = course;
  const first: HistoryEntry[] =
    delivered === undefined
      ? []
      : [
          {
            time: timeText(delivered),
            step: 'delivered',
            attempt: 1,
            ...(instance !== undefined && { instance }),
          },
        ];
  if (settled === undefined) return first;
  const last: HistoryEntry = {
    time: timeText(settled),
    step: 'settled',
    ...(settledBy !== undefined && { by: settledBy }),
  };
  return [...first, last];
}

function entryOf({ time, ...step }: NotedStep & Partial<StepRow>, omitted: number): HistoryEntry {
  const { place: _place, ...entry } = step;
  return { time: timeText(time), ...entry, ...(omitted > 0 && { omitted }) };
}

function omittedBefore({ place = 1 }: NotedStep & Partial<StepRow>): number {
  return place - 1;
}
