import { randomBytes } from 'node:crypto';
import { messageKey } from './keys';
import type { Plan } from './statement';
import type { Request, Step } from './step';
import { storedText } from './stored-text';
import type { Tables } from './tables';

/** Of the key to what is quarantined, and of that of view links. */
const KEY_BYTES = 32;

/** What concerns the inbox as a whole: its keys, who shares it, what it knows. */
export class InboxCalls {
  readonly #ping: Plan;
  readonly #isKnown: Plan;
  readonly #instances: Plan;
  readonly #makeKey: Plan;
  readonly #key: Plan;

  constructor(tables: Tables) {
    this.#ping = { name: 'rvm_ping', text: pingSql(tables) };
    this.#isKnown = {
      name: 'rvm_is_known',
      text: `SELECT 1 FROM ${tables.message} WHERE key = $1::uuid LIMIT 1`,
    };
    this.#instances = { name: 'rvm_instances', text: instancesSql(tables) };
    this.#makeKey = { name: 'rvm_make_key', text: makeKeySql(tables) };
    this.#key = { name: 'rvm_key', text: `SELECT value FROM ${tables.meta} WHERE name = $1` };
  }

  ping({ id }: Request<'ping'>): Step {
    return { statement: this.#ping, values: [], read: () => [{ id }] };
  }

  isKnown({ id, take }: Request<'isKnown'>): Step {
    return {
      statement: this.#isKnown,
      values: [messageKey(take.station, true, take.id)],
      read: (rows) => [{ id, give: rows.length > 0 }],
    };
  }

  instances({ id }: Request<'instances'>, epoch: string): Step {
    return {
      statement: this.#instances,
      values: [],
      read: (rows) => [
        {
          id,
          give: rows.map((row) => ({
            epoch: String(row['epoch']),
            name: storedText(row['name']),
            sinceBeat: Number(row['since_beat']),
            held: Number(row['held']),
            isSelf: row['epoch'] === epoch,
          })),
        },
      ],
    };
  }

  /** A key of this inbox, made when it is first asked for; of several that ask at once one makes it. */
  key(request: Request<'quarantineKey'> | Request<'viewKey'>): Step[] {
    const name = request.name === 'quarantineKey' ? 'quarantine-key' : 'view-key';
    return [
      { statement: this.#makeKey, values: [name, randomBytes(KEY_BYTES).toString('hex')] },
      {
        statement: this.#key,
        values: [name],
        read: ([row]) => [
          { id: request.id, give: new Uint8Array(Buffer.from(String(row?.['value']), 'hex')) },
        ],
      },
    ];
  }
}

/** Written, for a database that is read-only or has no room can still be read. */
function pingSql({ wish }: Tables): string {
  return `WITH none AS (DELETE FROM ${wish} WHERE false) SELECT pg_logical_emit_message(true, 'rvm', '') AS position`;
}

function instancesSql({ instance, work }: Tables): string {
  return `SELECT epoch, name, greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::bigint AS since_beat,
      (SELECT count(*) FROM ${work} AS work WHERE work.holder = instance.epoch AND work.state = 'leased') AS held
    FROM ${instance} AS instance ORDER BY begun, epoch`;
}

/** One that is not whole is of no use, as where there is none. */
function makeKeySql({ meta }: Tables): string {
  return `INSERT INTO ${meta} AS known (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE known.value !~ '^[0-9a-f]{${KEY_BYTES * 2}}$'`;
}
