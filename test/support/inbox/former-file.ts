import { DatabaseSync } from 'node:sqlite';
import { migrate, MIGRATIONS } from '../../../lib/inbox/sqlite/schema';
import type { NewMessage, Quarantined } from '../../../lib/inbox/store/protocol';

/** Steps that version 0.1 of the package knew. */
const FORMER_STEPS = 2;

/** A message as version 0.1 stored it. */
export interface FormerRow extends Pick<NewMessage, 'station' | 'id' | 'fingerprint' | 'facts' | 'bytes'> {
  sequence: number;
  deliveryId: string;
  copy: number;
  endpoint: string;
  state: 'received' | 'leased' | 'delivered' | 'conflict' | 'dead';
  alarm: string | null;
  isEnd: boolean;
  /** Of one that is dead: it can be had again. */
  again?: 'attempts';
}

/** Writes the file of an inbox as version 0.1 left it, with its page size. */
export function writeFormerFile(
  file: string,
  rows: readonly FormerRow[],
  quarantined: readonly Quarantined[] = [],
): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL');
  migrate(database, MIGRATIONS.slice(0, FORMER_STEPS));
  const insert =
    database.prepare(`INSERT INTO message (sequence, delivery_id, station, id, named, copy, fingerprint, endpoint,
    state, rank, attempt, at_flow, again, first, ended, alarm, is_end, received, stored)
    VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, 0, 1, 0, ?, 1, 0, ?, ?, ?, 0)`);
  const insertBody = database.prepare('INSERT INTO body (sequence, facts, bytes) VALUES (?, ?, ?)');
  database.exec('BEGIN');
  for (const row of rows) {
    insert.run(
      row.sequence,
      row.deliveryId,
      row.station,
      row.id,
      row.copy,
      row.fingerprint,
      row.endpoint,
      row.state,
      row.again ?? null,
      row.alarm,
      Number(row.isEnd),
      Date.now(),
    );
    insertBody.run(row.sequence, row.facts, row.bytes);
  }
  const keep = database.prepare(
    'INSERT INTO quarantine (endpoint, address, facts, bytes, stored) VALUES (?, ?, ?, ?, 0)',
  );
  for (const { endpoint, address, facts, bytes } of quarantined) keep.run(endpoint, address, facts, bytes);
  database.exec('COMMIT');
  database.close();
}
