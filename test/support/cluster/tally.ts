import type { Sent } from './alarm-sender';
import type { Confirmation } from './confirming-sink';
import type { HandOver } from './hand-overs';

/** What became of all that was sent. */
export interface Tally {
  sent: number;
  acknowledged: number;
  /** Answered otherwise: the service sends those no more. */
  refused: number;
  /** Acknowledged, and never confirmed by the sink. */
  lost: number;
  /** Confirmed by the sink once more. */
  doubled: number;
  /** Hand-overs of events that had been handed over before: after a kill the sink may not have had them. */
  again: number;
  /** Of these, those that do not say so. */
  unmarked: number;
  /** Hand-overs behind a later event of the alarm, or before the one before it was confirmed. */
  outOfOrder: number;
}

export interface Records {
  sent: readonly Sent[];
  confirmations: readonly Confirmation[];
  /** Of all instances, oldest first. */
  handOvers: readonly HandOver[];
}

export function tallyOf(records: Records): Tally {
  const { sent } = records;
  const confirmedAt = firstConfirmations(records.confirmations);
  const acknowledged = sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  const again = repeatsIn(records.handOvers);
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    refused: sent.filter(({ refused }) => refused !== undefined).length,
    lost: acknowledged.filter(({ messageId }) => !confirmedAt.has(messageId)).length,
    doubled: records.confirmations.length - confirmedAt.size,
    again: again.length,
    unmarked: again.filter((handOver) => !isMarked(handOver)).length,
    outOfOrder: outOfOrderIn(records, confirmedAt).length,
  };
}

/** Hand-overs that are not the first of their event. */
export function repeatsIn(handOvers: readonly HandOver[]): HandOver[] {
  const known = new Set<string>();
  return handOvers.filter(({ messageId }) => {
    const isKnown = known.has(messageId);
    known.add(messageId);
    return isKnown;
  });
}

function isMarked({ attempt, again }: HandOver): boolean {
  return attempt > 1 && again !== undefined;
}

function firstConfirmations(confirmations: readonly Confirmation[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { messageId, at } of confirmations) if (!first.has(messageId)) first.set(messageId, at);
  return first;
}

function outOfOrderIn({ sent, handOvers }: Records, confirmedAt: Map<string, number>): HandOver[] {
  const byId = new Map(sent.map((message) => [message.messageId, message]));
  const byPlace = new Map(sent.map(({ alarmId, place, messageId }) => [`${alarmId} ${place}`, messageId]));
  const furthest = new Map<string, number>();
  return handOvers.filter(({ messageId, at }) => {
    const message = byId.get(messageId);
    if (message === undefined) return false;
    const { alarmId, place } = message;
    const last = furthest.get(alarmId) ?? 0;
    furthest.set(alarmId, Math.max(last, place));
    const before = byPlace.get(`${alarmId} ${place - 1}`);
    const isEarly = before !== undefined && !((confirmedAt.get(before) ?? Infinity) <= at);
    return place < last || isEarly;
  });
}
