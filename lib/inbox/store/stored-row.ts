import type { HistoryStep, MessageState } from '../model';
import type { Course, StepFacts, StepRow, StoredMessage } from './port';

/** What a statement gives, of whichever engine: a flag is a boolean, or 0 or 1. */
export type Row = Readonly<Record<string, unknown>>;

/** Reads rows, of each of these columns what its reader makes of it. */
export function readerOf<Read>(columns: {
  readonly [Name in keyof Read]: (value: unknown) => Read[Name];
}): (row: Row) => Read {
  const readers = Object.entries<(value: unknown) => unknown>(columns);
  return (row) => Object.fromEntries(readers.map(([name, read]) => [name, read(row[name])])) as Read;
}

/** Of rows that have a `count`. */
export function countsBy(column: string, rows: readonly Row[]): Record<string, number> {
  return Object.fromEntries(rows.map((row) => [String(row[column]), Number(row['count'])]));
}

export const quarantinedIn = readerOf({
  id: Number,
  endpoint: String,
  address: String,
  facts: String,
  bytes: (value) => (value instanceof Uint8Array ? value : new Uint8Array()),
});
export const quarantinedSumIn = readerOf({ endpoint: String, count: Number, id: Number, facts: String });
/** How many messages of a station and a state there are, and when the last was received. */
export const stateCountIn = readerOf({
  station: String,
  state: (value) => String(value) as MessageState,
  count: Number,
  last: Number,
});

/** As `first` and `ended` stand for what a spare could not know. */
export const UNKNOWN_PHASE = 2;

function isSet(flag: unknown): boolean {
  return flag === true || flag === 1;
}

/** A message; its body is not among its columns. */
export function storedMessage(row: Row): StoredMessage {
  const { first, ended } = row;
  return {
    sequence: Number(row['sequence']),
    deliveryId: String(row['delivery_id']),
    station: String(row['station']),
    id: String(row['id']),
    named: isSet(row['named']),
    fingerprint: String(row['fingerprint']),
    endpoint: String(row['endpoint']),
    state: String(row['state']) as MessageState,
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: first === UNKNOWN_PHASE ? null : isSet(first),
    ended: ended === UNKNOWN_PHASE ? null : isSet(ended),
    received: Number(row['received']),
  };
}

/** And as a list or a page gives it. */
export function listedMessage(row: Row): StoredMessage {
  const { verdict, judged, alarm_key: alarm } = row;
  return {
    ...storedMessage(row),
    ...(isThere(alarm) && { alarm: String(alarm) }),
    course: courseOf(row),
    ...(isThere(verdict) && {
      verdict: { verdict: verdict === 'real' ? 'real' : 'false', time: Number(judged) },
    }),
  };
}

function courseOf({ delivered, instance, settled, settled_by: by }: Row): Course {
  return {
    ...(isThere(delivered) && { delivered: Number(delivered) }),
    ...(isThere(instance) && { instance: String(instance) }),
    ...(isThere(settled) && { settled: Number(settled) }),
    ...(isThere(by) && { settledBy: String(by) }),
  };
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** What a damaged disk has changed of it is left out. */
export function stepRow({ place, time, step, attempt, actor, facts }: Row): StepRow {
  return {
    ...factsIn(facts),
    place: Number(place),
    time: Number(time),
    step: String(step) as HistoryStep,
    ...(isThere(attempt) && { attempt: Number(attempt) }),
    ...(typeof actor === 'string' && { by: actor }),
  };
}

function factsIn(text: unknown): StepFacts {
  if (typeof text !== 'string') return {};
  try {
    return JSON.parse(text) as StepFacts;
  } catch {
    return {};
  }
}
