import type { PeerInstance } from './others';
import type { Row, Session, Plan } from '../session';
import type { LeaseRequest } from '../../store/protocol';
import { storable, storedText } from '../calls/stored-text';
import { NO_GHOST } from '../calls/batch-settings';
import { cutOffNotedSql, WAITS_AGAIN } from '../calls/rescheduling';
import { tablesOf } from '../calls/tables';

/**
 * Nothing here is waited for, or beats would stay away: no standby, for what is lost in a takeover is found out and done again;
 * and no lock, which others may hold for as long as they wait for a standby.
 */
const LOCAL: Plan = {
  name: 'instance-local',
  text: `SELECT set_config('synchronous_commit', 'local', true), set_config('lock_timeout', '500ms', true), ${NO_GHOST}`,
};

/** Who shares the inbox with an instance. */
export interface PeerInstances {
  others: PeerInstance[];
  /** Holders of leases that have no row: they were declared dead while a lease of theirs was under way. */
  orphans: string[];
}

export interface WishRow {
  deliveryId: string;
  wish: LeaseRequest;
}

/** The rows that instances have of each other. */
export class InstanceTable {
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(schema: string) {
    this.#statements = statementsOf(schema);
  }

  /** @param ttl milliseconds without a beat after which others may take it for dead */
  async begin(session: Session, epoch: string, { name, ttl }: { name: string; ttl: number }): Promise<void> {
    await this.#locally(session, () => [session.run(this.#statements.begin, [epoch, storable(name), ttl])]);
  }

  /** @returns false where its row is gone: others took it for dead */
  async beat(session: Session, epoch: string): Promise<boolean> {
    const [beaten = []] = await this.#locally(session, () => [session.run(this.#statements.beat, [epoch])]);
    return beaten.length > 0;
  }

  async neighbours(session: Session, epoch: string): Promise<PeerInstances> {
    const { others, orphans } = this.#statements;
    const [rows, holders] = await Promise.all([session.run(others, [epoch]), session.run(orphans)]);
    return { others: rows.map(otherOf), orphans: holders.map((row) => String(row['holder'])) };
  }

  /**
   * Declares another instance dead, where it has not beaten since, and lets what it had leased wait again.
   * @returns how many events; undefined where it lives, or another was first
   */
  async reap(session: Session, { epoch, beats }: PeerInstance): Promise<number | undefined> {
    const { remove, forget, reclaim } = this.#statements;
    const [removed = [], , [reclaimed] = []] = await this.#locally(session, () => [
      session.run(remove, [epoch, beats]),
      session.run(forget, [epoch]),
      session.run(reclaim, [[epoch], Date.now()]),
    ]);
    return removed.length === 0 ? undefined : Number(reclaimed?.['count']);
  }

  /** Leases of holders that have no row wait again. */
  async reclaim(session: Session, holders: readonly string[]): Promise<void> {
    await this.#locally(session, () => [session.run(this.#statements.reclaim, [holders, Date.now()])]);
  }

  /** Takes what others want to be told to an instance. */
  async takeWishes(session: Session, epoch: string): Promise<WishRow[]> {
    const { wishes, takeWishes } = this.#statements;
    if ((await session.run(wishes, [epoch])).length === 0) return [];
    const [rows = []] = await this.#locally(session, () => [session.run(takeWishes, [epoch])]);
    const inOrder = rows.toSorted((one, other) => Number(one['number']) - Number(other['number']));
    return inOrder.map((row) => ({
      deliveryId: String(row['delivery_id']),
      wish: String(row['wish']) as WishRow['wish'],
    }));
  }

  /** How many events wait, by endpoint. */
  async waiting(session: Session): Promise<Record<string, number>> {
    const rows = await session.run(this.#statements.waiting);
    return Object.fromEntries(rows.map((row) => [storedText(row['endpoint']), Number(row['count'])]));
  }

  /** The instance ends: what it has leased waits again. */
  async leave(session: Session, epoch: string): Promise<void> {
    const { leave, forget, reclaim } = this.#statements;
    await this.#locally(session, () => [
      session.run(leave, [epoch]),
      session.run(forget, [epoch]),
      session.run(reclaim, [[epoch], Date.now()]),
    ]);
  }

  async #locally(session: Session, send: () => Promise<Row[]>[]): Promise<Row[][]> {
    const [, ...answers] = await session.transaction(() => [session.run(LOCAL), ...send()]);
    return answers;
  }
}

function otherOf(row: Row): PeerInstance {
  return {
    epoch: String(row['epoch']),
    name: storedText(row['name']),
    beats: String(row['beats']),
    ttl: Number(row['ttl_ms']),
    sinceBeat: Number(row['since_beat']),
  };
}

function statementsOf(schema: string) {
  const tables = tablesOf(schema);
  const { instance, work, wish, stir } = tables;
  const orphaned = `state = 'leased' AND NOT EXISTS (SELECT 1 FROM ${instance} AS i WHERE i.epoch = holder)`;
  return named({
    // Once more where the answer to the first was lost.
    begin: `INSERT INTO ${instance} AS i (epoch, name, begun, beat, beats, ttl_ms)
      VALUES ($1, $2, clock_timestamp(), clock_timestamp(), 0, $3)
      ON CONFLICT (epoch) DO UPDATE SET beat = clock_timestamp(), beats = i.beats + 1`,
    beat: `UPDATE ${instance} SET beat = clock_timestamp(), beats = beats + 1 WHERE epoch = $1 RETURNING 1`,
    others: `SELECT epoch, name, beats, ttl_ms, extract(epoch FROM clock_timestamp() - beat) * 1000 AS since_beat
      FROM ${instance} WHERE epoch <> $1`,
    orphans: `SELECT DISTINCT holder FROM ${work} WHERE ${orphaned}`,
    remove: `DELETE FROM ${instance} WHERE epoch = $1 AND beats = $2
      AND (beat < clock_timestamp() - ttl_ms * interval '1 millisecond' OR beat > clock_timestamp()) RETURNING 1`,
    leave: `DELETE FROM ${instance} WHERE epoch = $1`,
    forget: `DELETE FROM ${wish} WHERE holder = $1 AND NOT EXISTS (SELECT 1 FROM ${instance} AS i WHERE i.epoch = $1)`,
    // Holders are named: what one that is not seen yet leases meanwhile stays its own.
    reclaim: `WITH back AS (
        UPDATE ${work} AS work SET ${WAITS_AGAIN} WHERE holder = ANY ($1::uuid[]) AND ${orphaned} RETURNING endpoint, sequence, attempt, again),
      ${cutOffNotedSql(tables, 'back', '$2')},
      told AS (SELECT ${stir('endpoint')} FROM (SELECT DISTINCT endpoint FROM back) AS endpoints)
      SELECT (SELECT count(*) FROM back) AS count, (SELECT count(*) FROM told) AS endpoints`,
    wishes: `SELECT 1 FROM ${wish} WHERE holder = $1 LIMIT 1`,
    takeWishes: `DELETE FROM ${wish} WHERE holder = $1 RETURNING number, delivery_id, wish`,
    waiting: `SELECT endpoint, count(*) AS count FROM ${work} WHERE state = 'received' GROUP BY endpoint`,
  });
}

function named<Name extends string>(texts: Record<Name, string>): Record<Name, Plan> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [
    name,
    { name: `instance-${name}`, text },
  ]);
  return Object.fromEntries(statements) as Record<Name, Plan>;
}
