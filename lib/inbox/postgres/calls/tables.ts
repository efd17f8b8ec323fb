import { LONGEST_NAME } from '../schema-name';

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

/** The tables of an inbox, as its statements name them. */
export interface Tables extends Readonly<Record<(typeof TABLE_NAMES)[number], string>> {
  readonly schema: string;
  /** The sequence that numbers messages, as text. */
  readonly sequence: string;
  /** The notice that something waits. @param endpoint an expression */
  readonly stir: (endpoint: string) => string;
  /** The notice that there is a wish for an instance. @param epoch an expression */
  readonly callHolder: (epoch: string) => string;
  /** The notice that slots may have changed. @param epoch of the instance that did it, and the owner: expressions */
  readonly tellSlots: (epoch: string, owner: string) => string;
  /** What makes the locks of this inbox its own, as a number. */
  readonly salt: string;
}

/** @param schema as it is configured */
export function tablesOf(schema: string): Tables {
  const within = (table: string): string => `${quoted(schema)}.${table}`;
  const channel = literal(channelOf(schema));
  return {
    schema: quoted(schema),
    meta: within('meta'),
    instance: within('instance'),
    message: within('message'),
    body: within('body'),
    work: within('work'),
    wish: within('wish'),
    quarantine: within('quarantine'),
    endpoint: within('endpoint'),
    course: within('course'),
    history: within('history'),
    slot_owner: within('slot_owner'),
    slot: within('slot'),
    sequence: literal(within('message_sequence_seq')),
    stir: (endpoint) => `pg_notify(${channel}, ${endpoint})`,
    callHolder: (epoch) => `pg_notify(${channel}, ${literal(WISH)} || ${epoch})`,
    tellSlots: (epoch, owner) => `pg_notify(${channel}, ${literal(SLOTS)} || ${epoch} || ' ' || ${owner})`,
    salt: `hashtextextended(${literal(schema)}, 7301)`,
  };
}

/**
 * The state, in `work`, of an event or dead letter that is on its way from the inbox of another store. Until all of that is
 * here it is nobody's: none is delivered, none is removed for its age, and the id of that inbox stands as its holder.
 */
export const MOVING = 'moving';

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
