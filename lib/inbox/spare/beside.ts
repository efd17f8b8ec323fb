import type { Warning } from '../../message/envelope';
import { type AcceptedAnywhere, alarmOf, type Known, type NewMessage, type StoreCalls } from '../store/port';
import { messageKeyOf } from '../store/stored-message';
import type { Spare } from './spare';

/** A message on its way beside the inbox. */
export interface Spill {
  message: NewMessage;
  lease: StoreCalls['accept']['take']['lease'];
  /** What the inbox knows of it; undefined where that cannot be read. */
  known: Known | undefined;
  /** `moves` when that was asked. */
  moves: number;
  /** The delivery id of its row, once it is known that the store took it after all. */
  late?: Promise<string | undefined>;
}

/** `spilled`: absent of a repeat. `fault`: of one that is in memory alone, and must not be acknowledged. */
export type AcceptedBeside = AcceptedAnywhere & {
  spilled?: { node: string; warnings: readonly Warning[] };
  fault?: string;
};

/** Alarms of an endpoint, as `alarmOf` names them, of which one is open in some spares. One that cannot be read has none. */
export async function openAlarmsIn(some: readonly Spare[], endpoint: string): Promise<string[]> {
  const open = some.map((spare) => spare.call('openAlarms', endpoint).catch(() => []));
  return (await Promise.all(open)).flat();
}

/** What some spares know of a message; undefined where one of them cannot tell. */
export async function knownIn(some: readonly Spare[], message: NewMessage): Promise<Known | undefined> {
  let known: Known = { outcome: 'new', first: true, ended: false };
  try {
    for (const spare of some) known = bothKnow(known, await spare.call('look', messageKeyOf(message)));
    return known;
  } catch {
    return undefined;
  }
}

/** What two places know of one message; the other is asked after the one. */
export function bothKnow(one: Known, other: Known): Known {
  const found = one.outcome === 'repeat' ? one : other;
  const outcome = found.outcome === 'new' ? one.outcome : found.outcome;
  return {
    outcome,
    ...(found.deliveryId !== undefined && { deliveryId: found.deliveryId }),
    first: one.first && other.first,
    ended: one.ended || other.ended,
  };
}

/** The answer to a message that a place knows. */
export function repeatOf({ deliveryId = '', first, ended }: Known): AcceptedAnywhere {
  return { outcome: 'repeat', deliveryId, sequence: null, first, ended, leased: false };
}

/** Whether one of the alarm of a message is open in some spares. */
export async function isOpenIn(
  some: readonly Spare[],
  { station, alarm, endpoint }: Pick<NewMessage, 'station' | 'alarm' | 'endpoint'>,
): Promise<boolean> {
  if (some.length === 0 || alarm === undefined) return false;
  return (await openAlarmsIn(some, endpoint)).includes(alarmOf(station, alarm));
}
