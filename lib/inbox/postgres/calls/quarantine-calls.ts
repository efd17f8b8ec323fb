import { integers } from './binary-array';
import type { InboxClock } from './inbox-clock';
import type { Row, Plan } from './statement';
import type { Request, Step } from './step';
import { storable, storedText } from './stored-text';
import type { Tables } from './tables';

/** Messages kept of one address, and of all: a flood of forgeries from one place leaves room for others. */
const MAX_OF_ADDRESS = 200;
const MAX_MESSAGES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Messages that nothing proved, the oldest of which make room for new ones. */
export class QuarantineCalls {
  readonly #lock: Plan;
  readonly #add: Plan;
  readonly #trimAddress: Plan;
  readonly #trim: Plan;
  readonly #ofEndpoint: Plan;
  readonly #sums: Plan;
  readonly #release: Plan;
  readonly #releaseUpTo: Plan;

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    const { quarantine } = tables;
    this.#lock = { name: 'rvm_quarantine_lock', text: quarantineLockSql(tables) };
    this.#add = { name: 'rvm_quarantine', text: addSql(tables) };
    this.#trimAddress = { name: 'rvm_trim_address', text: trimAddressSql(tables) };
    this.#trim = { name: 'rvm_trim', text: trimSql(tables) };
    this.#ofEndpoint = {
      name: 'rvm_quarantined',
      text: `SELECT id, endpoint, address, facts, bytes FROM ${quarantine} WHERE endpoint = $1 ORDER BY id`,
    };
    this.#sums = { name: 'rvm_quarantined_sums', text: sumsSql(tables) };
    this.#release = { name: 'rvm_release', text: `DELETE FROM ${quarantine} WHERE id = ANY ($1::bigint[])` };
    this.#releaseUpTo = {
      name: 'rvm_release_up_to',
      text: `DELETE FROM ${quarantine} WHERE endpoint = $1 AND id <= $2::bigint`,
    };
  }

  /** One at a time: so the bounds hold, and ids grow in the order in which they can be seen. */
  add({ id, take }: Request<'quarantine'>): Step[] {
    const { endpoint, address, facts, bytes } = take;
    const from = storable(address);
    return [
      { statement: this.#lock, values: [] },
      {
        statement: this.#add,
        values: [storable(endpoint), from, storable(facts), bytes, this.clock.now()],
      },
      { statement: this.#trimAddress, values: [from] },
      { statement: this.#trim, values: [], read: () => [{ id }] },
    ];
  }

  ofEndpoint({ id, take }: Request<'quarantined'>): Step {
    return {
      statement: this.#ofEndpoint,
      values: [storable(take)],
      read: (rows) => [{ id, give: rows.map(quarantinedOf) }],
    };
  }

  sums({ id }: Request<'quarantinedSums'>): Step {
    return { statement: this.#sums, values: [], read: (rows) => [{ id, give: rows.map(sumOf) }] };
  }

  release({ id, take }: Request<'release'>): Step {
    return { statement: this.#release, values: [integers(take)], read: () => [{ id }] };
  }

  releaseUpTo({ id, take }: Request<'releaseUpTo'>): Step {
    return {
      statement: this.#releaseUpTo,
      values: [storable(take.endpoint), take.id],
      read: () => [{ id }],
    };
  }
}

function quarantinedOf(row: Row): Record<string, unknown> {
  return {
    id: Number(row['id']),
    endpoint: storedText(row['endpoint']),
    address: storedText(row['address']),
    facts: storedText(row['facts']),
    bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
  };
}

function sumOf(row: Row): Record<string, unknown> {
  return {
    endpoint: storedText(row['endpoint']),
    count: Number(row['count']),
    id: Number(row['id']),
    facts: storedText(row['facts']),
  };
}

/** Keeps others from adding to the quarantine until the end of the transaction. */
export function quarantineLockSql({ salt }: Tables): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended('quarantine', ${salt}))`;
}

function addSql({ quarantine, meta }: Tables): string {
  return `INSERT INTO ${quarantine} (endpoint, address, facts, bytes, stored)
    SELECT $1, $2, $3, $4::bytea, greatest(value::bigint, $5::bigint) FROM ${meta} WHERE name = 'clock'`;
}

function trimAddressSql({ quarantine }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE id IN
    (SELECT id FROM ${quarantine} WHERE address = $1 ORDER BY id DESC OFFSET ${MAX_OF_ADDRESS})`;
}

function trimSql({ quarantine }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER newest AS place, sum(octet_length(bytes)) OVER newest AS held
    FROM ${quarantine} WINDOW newest AS (ORDER BY id DESC)) AS measured
    WHERE place > ${MAX_MESSAGES} OR held > ${MAX_BYTES})`;
}

function sumsSql({ quarantine }: Tables): string {
  return `SELECT sum.endpoint, sum.count, sum.id, newest.facts
    FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM ${quarantine} GROUP BY endpoint) AS sum
    JOIN ${quarantine} AS newest ON newest.id = sum.id`;
}
