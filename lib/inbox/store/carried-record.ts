/** How the values of a column are: whole numbers; flags, 0 or 1; texts; UUIDs. With `?` it may be null. */
interface Kinds {
  integer: number;
  'integer?': number | null;
  flag: number;
  text: string;
  'text?': string | null;
  uuid: string;
}
type Columns = Readonly<Record<string, keyof Kinds>>;
type RowOf<Of extends Columns> = { -readonly [Name in keyof Of]: Kinds[Of[Name]] };

/** What of a message is carried, under the names and in the order that the columns of a file have: its schema says what they mean. */
export const MESSAGE_COLUMNS = {
  sequence: 'integer',
  delivery_id: 'uuid',
  station: 'text',
  id: 'text',
  named: 'flag',
  copy: 'integer',
  fingerprint: 'text',
  endpoint: 'text',
  state: 'text',
  rank: 'integer',
  attempt: 'integer',
  cut_off: 'integer',
  at_flow: 'flag',
  again: 'text?',
  first: 'flag',
  ended: 'flag',
  alarm: 'text?',
  is_end: 'flag',
  received: 'integer',
  stored: 'integer',
  delivered: 'integer?',
  settled: 'integer?',
  settled_by: 'text?',
  judged: 'integer?',
  verdict: 'text?',
} as const satisfies Columns;

/** And of what became of it beyond its usual course. */
export const STEP_COLUMNS = {
  place: 'integer',
  time: 'integer',
  step: 'text',
  attempt: 'integer?',
  actor: 'text?',
  facts: 'text?',
} as const satisfies Columns;

type CarriedMessage = RowOf<typeof MESSAGE_COLUMNS>;
export type CarriedStep = RowOf<typeof STEP_COLUMNS>;

/**
 * A message with all that belongs to it, on its way from one store into another: the same whichever stores these are, with the
 * sequence and the delivery id that it has.
 */
export interface CarriedRecord extends CarriedMessage {
  /** Null where they are kept no more. */
  facts: string | null;
  bytes: Uint8Array<ArrayBuffer> | null;
  steps: readonly CarriedStep[];
}

/** As a start finds what its flow had: a lease ends with the process that had it. */
export function released(record: CarriedRecord): CarriedRecord {
  const { state, cut_off: cutOff, at_flow: atFlow, again } = record;
  if (state !== 'leased') return record;
  const known = atFlow === 1 ? 'restart' : again;
  return { ...record, state: 'received', cut_off: cutOff + atFlow, at_flow: 0, again: known };
}

const COUNTED = [
  'messages',
  'bodies',
  'steps',
  'waiting',
  'dead',
  'quarantined',
  'endpoints',
  'slots',
] as const;

/** How much an inbox holds: `waiting` of its messages are to be delivered, `dead` can be had again. */
export type CarriedCounts = Record<(typeof COUNTED)[number], number>;

/** @param from in SQL, where each is counted */
export function countsSql(from: Readonly<Record<keyof CarriedCounts, string>>): string {
  return `SELECT ${COUNTED.map((name) => `(SELECT count(*) FROM ${from[name]}) AS ${name}`).join(', ')}`;
}

/** @param row that `countsSql` gives */
export function countsIn(row: Readonly<Record<string, unknown>> = {}): CarriedCounts {
  return Object.fromEntries(COUNTED.map((name) => [name, Number(row[name])])) as CarriedCounts;
}
