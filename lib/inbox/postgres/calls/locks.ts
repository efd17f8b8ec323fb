import { uuids } from './binary-array';
import { BATCH_SETTINGS } from './batch-settings';
import type { Plan } from './statement';
import type { Step } from './step';
import type { Tables } from './tables';

/** What a batch locks before it does anything, until the end of its transaction. */
export class Locks {
  readonly #lock: Plan;

  constructor(tables: Tables) {
    this.#lock = { name: 'rvm_lock', text: lockSql(tables, `${BATCH_SETTINGS},`) };
  }

  /**
   * Batches of one instance go one after the other, also where the connection of the former is lost and the server still at
   * work on it: or what that leases in the end would be leased, and nobody would know.
   * @param keys of the messages and alarms in it
   * @param epoch of the instance
   */
  step(keys: Iterable<string>, epoch: string): Step {
    return { statement: this.#lock, values: [uuids([...keys, epoch])] };
  }
}

/**
 * Locks what has these keys. Sorted, so that no two batches wait for each other.
 * @param besides what else is selected
 */
export function lockSql({ salt }: Tables, besides = ''): string {
  return `SELECT ${besides} count(pg_advisory_xact_lock(lock)) FROM
    (SELECT DISTINCT uuid_hash_extended(key, ${salt}) AS lock FROM unnest($1::uuid[]) AS key ORDER BY 1) AS locks`;
}
