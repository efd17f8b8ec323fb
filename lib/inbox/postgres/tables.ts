import { hash, randomUUID } from 'node:crypto';
import { LONGEST_NAME } from '../model';
import type { Row } from '../store/stored-row';

/** The rows that belong to the items of an array: its column `n` says to which, counted from 1. */
export function byNumber(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [Number(row['n']), row]));
}

/** Name of a schema as it stands in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Text as it stands in a statement, also where `standard_conforming_strings` is off. */
export function literal(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return text.includes('\\') ? ` E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}

export const TABLE_NAMES = [
  'meta',
  'instance',
  'message',
  'body',
  'work',
  'wish',
  'quarantine',
  'endpoint',
  'course',
  'history',
  'slot_owner',
  'slot',
] as const;

export type Tables = ReturnType<typeof tablesOf>;

/** The tables of an inbox, as its statements name them, and its notices, of which the parts are expressions. */
export function tablesOf(schema: string) {
  const within = (table: string): string => `${quoted(schema)}.${table}`;
  const channel = literal(channelOf(schema));
  const names = TABLE_NAMES.map((table) => [table, within(table)]);
  return {
    ...(Object.fromEntries(names) as Record<(typeof TABLE_NAMES)[number], string>),
    /** Each message with its row of `work`, where it has one: what stands there counts. */
    event: `${within('message')} AS message LEFT JOIN ${within('work')} AS work USING (sequence)`,
    /** It numbers messages. */
    sequence: literal(within('message_sequence_seq')),
    /** Something waits. */
    stir: (endpoint: string) => `pg_notify(${channel}, ${endpoint})`,
    /** There is a wish for an instance. */
    callHolder: (epoch: string) => `pg_notify(${channel}, ${literal(WISH)} || ${epoch})`,
    /** The instance of this epoch may have changed slots. */
    tellSlots: (epoch: string, owner: string) =>
      `pg_notify(${channel}, ${literal(SLOTS)} || ${epoch} || ' ' || ${owner})`,
    /** What makes the locks of this inbox its own, as a number. */
    salt: `hashtextextended(${literal(schema)}, 7301)`,
  };
}

/** Begins the notice that tells an instance that there is a wish for it. */
export const WISH = '!';

/** Begins the notice that slots may have changed. What only knows wishes takes it for one of another instance. */
export const SLOTS = `${WISH}slots `;

/**
 * The channel on which the instances of an inbox hear of each other: what waits at an endpoint, which is the notice; or, as `!`
 * and an epoch, that there is a wish for the instance of that epoch; or, as `!slots `, an epoch and an owner, that this
 * instance has changed slots of that owner.
 */
export function channelOf(schema: string): string {
  return Buffer.from(`rvm ${schema}`)
    .subarray(0, LONGEST_NAME)
    .toString()
    .replace(/\uFFFD+$/, '');
}

/*
 * By which messages and alarms are looked for: their names may be longer than an entry of an index. They stand in the tables, and
 * locks are taken of them, so that every version of the package has to make them in this way.
 */

/** Of all messages with this id, each with other content. @param named, id as of a `NewMessage` */
export function messageKey(station: string, named: boolean, id: string): string {
  return digest(`${station.length} ${station}\n${Number(named)}${id}`);
}

export function alarmKey(station: string, alarm: string): string {
  return digest(`${station.length} ${station}\n2${alarm}`);
}

/** 128 bits of a text, of which no two have the same; as PostgreSQL takes a UUID, too. */
export function digest(text: string): string {
  return hash('sha256', text).slice(0, 32);
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** Of no event. */
const NONE = '00000000-0000-0000-0000-000000000000';

/**
 * A UUID of version 7 of RFC 9562: the time comes first, so that an index of them grows at its end.
 * @param time milliseconds since 1970
 */
export function makeDeliveryId(time: number): string {
  const at = time.toString(16).padStart(12, '0');
  return `${at.slice(0, 8)}-${at.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The id as PostgreSQL can be asked for it; what a flow gives as one may be anything. */
export function askedId(deliveryId: string): string {
  return UUID.test(deliveryId) ? deliveryId : NONE;
}

/** Which no text of PostgreSQL may hold; and what stands before what stands for it, and for itself. */
const NUL = '\u0000';
const ESCAPE = '\u0001';
const NUL_ESCAPED = `${ESCAPE}0`;
const ESCAPE_ESCAPED = `${ESCAPE}1`;

/**
 * A text as PostgreSQL can store it: each has a form of its own. Half of a surrogate pair becomes U+FFFD, as in every file of
 * UTF-8.
 */
export function storable(text: string): string {
  if (!text.includes(NUL) && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, ESCAPE_ESCAPED).replaceAll(NUL, NUL_ESCAPED);
}

/** The text that was stored. */
export function storedText(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replaceAll(NUL_ESCAPED, NUL).replaceAll(ESCAPE_ESCAPED, ESCAPE);
}

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
/** The length of what is null. */
const NULL = -1;

/**
 * Makes arrays as PostgreSQL reads them in binary form. As text each element would be quoted here and read letter by letter there:
 * that took more time than all else of a batch, bodies as hexadecimal digits twice their room.
 * @param type of an element, by its number in every PostgreSQL: `pg_type.dat`
 */
function arraysOf<Element>(
  type: number,
  sizeOf: (element: Element) => number,
  write: (array: Buffer, element: Element, at: number) => unknown,
): (elements: readonly (Element | null | undefined)[]) => Buffer {
  return (elements) => {
    const sizes = elements.map((element) =>
      element === null || element === undefined ? NULL : sizeOf(element),
    );
    const total = sizes.reduce((sum, size) => sum + LENGTH_BYTES + Math.max(0, size), HEADER_BYTES);
    const array = Buffer.allocUnsafe(total);
    // One dimension, whether any is null, the type, how many, and that they are counted from 1.
    const header = [1, Number(sizes.includes(NULL)), type, elements.length, 1];
    let at = header.reduce((at, field) => array.writeInt32BE(field, at), 0);
    elements.forEach((element, index) => {
      const size = sizes[index] ?? NULL;
      at = array.writeInt32BE(size, at);
      if (element === null || element === undefined) return;
      write(array, element, at);
      at += size;
    });
    return array;
  };
}

const storableTexts = arraysOf<string>(
  25,
  (text) => Buffer.byteLength(text),
  (array, text, at) => array.write(text, at),
);

export function texts(elements: readonly (string | null | undefined)[]): Buffer {
  return storableTexts(elements.map((text) => (typeof text === 'string' ? storable(text) : text)));
}

/** UUIDs in their usual form, or without hyphens. */
export const uuids = arraysOf<string>(
  2950,
  () => 16,
  (array, id, at) => array.write(id.replaceAll('-', ''), at, 'hex'),
);
export const booleans = arraysOf<boolean>(
  16,
  () => 1,
  (array, value, at) => array.writeUInt8(Number(value), at),
);
/** Whole numbers. */
export const integers = arraysOf<number>(
  20,
  () => 8,
  (array, number, at) => array.writeBigInt64BE(BigInt(number), at),
);
export const byteStrings = arraysOf<Uint8Array>(
  17,
  ({ byteLength }) => byteLength,
  (array, bytes, at) => array.set(bytes, at),
);

/*
 * Settings of one transaction alone, whatever the database or the role has as its default: as expressions, so that they cost no
 * statement of their own.
 */

/**
 * Plans are made once, often when the tables are still small: then reading all of one looks cheaper than its index, and still
 * is what the plan does when there are a million rows. Nothing of a batch is worth being compiled, either.
 */
const PLANNING = `set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`;
/** Without the warnings of the server nobody would know of a commit that is on one disk alone. */
export const WARNED = `set_config('client_min_messages', 'warning', true)`;
/**
 * Of an instance that is cut off in the middle of what it asks the server may hear nothing more for hours: what that has locked
 * would keep all others waiting.
 */
export const NO_GHOST = `set_config('idle_in_transaction_session_timeout', '10000', true)`;
/** As durable as the server is set up to be, but for one that would not even wait for its own disk. */
export const DURABLE = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`;

/** The settings of each batch. */
export const BATCH_SETTINGS = [PLANNING, WARNED, NO_GHOST, DURABLE].join(', ');

/**
 * The clock of an inbox, as this process knows it: it runs while any instance has the inbox open, and no wall clock moves it.
 * Each instance adds to what it heard last the time since; the greatest of all counts, so that no time is counted twice.
 */
export class InboxClock {
  #heard = 0;
  #heardAt: number;

  /** @param monotonic milliseconds of a clock that never jumps */
  constructor(private readonly monotonic: () => number) {
    this.#heardAt = monotonic();
  }

  /** In milliseconds; too early before the first answer of the database. */
  now(): number {
    return Math.round(this.#heard + this.monotonic() - this.#heardAt);
  }

  /** So far it has come, as the database says. */
  heard(clock: number): void {
    if (clock < this.now()) return;
    this.#heard = clock;
    this.#heardAt = this.monotonic();
  }
}
