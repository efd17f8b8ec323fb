import type { DatabaseSync } from 'node:sqlite';

/** Steps from one schema version to the next; the version of a file is `user_version`. Steps are only ever added. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- One row for each accepted message and each dead letter. Small, so that it is checked quickly at every start.
  CREATE TABLE message (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    delivery_id TEXT NOT NULL,
    station TEXT NOT NULL,
    -- The message id, or a digest of the content where it has none.
    id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- received, leased, delivered, dead, conflict, stale, other
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    first INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    alarm TEXT,
    received INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX message_delivery ON message (delivery_id);
  CREATE INDEX message_key ON message (station, id);
  CREATE INDEX message_open ON message (endpoint, sequence) WHERE state IN ('received', 'leased');

  -- What is needed to deliver, and the bytes as received. Kept for a shorter time than the keys.
  CREATE TABLE body (
    sequence INTEGER PRIMARY KEY REFERENCES message (sequence) ON DELETE CASCADE,
    record TEXT NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;

  -- Whether an alarm has been seen, and whether its end has.
  CREATE TABLE alarm (
    station TEXT NOT NULL,
    id TEXT NOT NULL,
    ended INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    PRIMARY KEY (station, id)
  ) STRICT, WITHOUT ROWID;
  `,
];

/** The schema version that this package writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings a file to the schema of this package, in one transaction.
 * @throws Error where a newer version of the package has written it
 */
export function migrate(database: DatabaseSync): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > SCHEMA_VERSION) throw new NewerSchemaError(version);
  if (version === SCHEMA_VERSION) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** The file was written by a newer version of the package, which knows things that this one would lose. */
export class NewerSchemaError extends Error {
  constructor(version: number) {
    super(
      `The inbox was written by a newer version of this package (schema ${version}, this one knows ${SCHEMA_VERSION}): install that version again.`,
    );
  }
}
