import type { DatabaseSync } from 'node:sqlite';

/** A failed commit, or a full disk, may have ended the transaction by itself; `isTransaction` comes with Node.js 22.16. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // There is none.
  }
}

/**
 * Steps from one version of the schema to the next; `user_version` of a file is how many of them it has taken. A step that was
 * released never changes: what comes later is a step of its own. Columns that it adds to a table of `carried-rows` stand
 * last there, too, and the leaf rows of `page-reader` are told how many values the rows before it have.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  -- One row for each accepted message and each dead letter. Small, so that it is checked quickly at every start. There is no index of
  -- ids: they are random, so each event would write a page of each, in the log and again in the file. Those of messages and alarms are
  -- looked for in memory, by the keys that stand here; a delivery id holds the sequence.
  CREATE TABLE message (
    -- Chosen by the package, and never twice: \`meta\` has the last one where its row is gone.
    sequence INTEGER PRIMARY KEY,
    delivery_id TEXT NOT NULL,
    station TEXT NOT NULL,
    -- The message id; where it has none, a digest of the content, and \`named\` is 0.
    id TEXT NOT NULL,
    named INTEGER NOT NULL,
    -- 0 for the first message of this id, counted up for those with other content.
    copy INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- received, leased, delivered, dead, conflict, stale, filtered, other
    state TEXT NOT NULL,
    -- 0 security and unknown classes, 1 health: the order of delivery.
    rank INTEGER NOT NULL,
    -- Deliveries so far, and those of them that a restart cut off.
    attempt INTEGER NOT NULL DEFAULT 0,
    cut_off INTEGER NOT NULL DEFAULT 0,
    -- 1 while the flow has it: a lease is running.
    at_flow INTEGER NOT NULL DEFAULT 0,
    -- Why it comes again: lease, restart, retry; or why no more: attempts, dismissed.
    again TEXT,
    -- Of its alarm: none before it is kept; an end before it was kept.
    first INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    -- Of events alone: the alarm, and whether this is its end.
    alarm TEXT,
    is_end INTEGER NOT NULL,
    -- Wall clock at receipt, in milliseconds, to be shown; and the clock of this file, in milliseconds, to age by.
    received INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    -- Wall clock, in milliseconds: of the first delivery, of the settlement, and of the last verdict (real, false).
    delivered INTEGER,
    settled INTEGER,
    settled_by TEXT,
    judged INTEGER,
    verdict TEXT,
    -- As \`known-ids\` makes them of station and id, and of station and alarm; the latter absent where there is no alarm.
    id_key INTEGER NOT NULL,
    alarm_key INTEGER,
    -- In a spare alone: the webhook node whose message it is; its endpoint, where that had no node.
    node TEXT
  ) STRICT;
  CREATE INDEX message_waiting ON message (endpoint, rank, sequence) WHERE state = 'received';
  -- One index of the open ones: each event enters and leaves it.
  CREATE INDEX message_open ON message (endpoint, alarm_key, sequence) WHERE state IN ('received', 'leased');
  CREATE INDEX message_dead ON message (received) WHERE state IN ('dead', 'conflict', 'stale');
  -- For lists; and all that is read of a message at the start.
  CREATE INDEX message_received ON message (received, sequence, id_key, alarm_key);
  -- Delivery ids of events that were spilled first: no sequence stands in them.
  CREATE INDEX message_delivery ON message (delivery_id) WHERE substr(delivery_id, 15, 1) <> '8';

  -- What is needed to deliver, and the bytes as received.
  CREATE TABLE body (
    sequence INTEGER PRIMARY KEY REFERENCES message (sequence) ON DELETE CASCADE,
    facts TEXT NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT;

  -- What became of each event beyond its usual course, which stands in its row.
  CREATE TABLE history (
    number INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL REFERENCES message (sequence) ON DELETE CASCADE,
    -- Counted from 1 in each message; the oldest go where there are many.
    place INTEGER NOT NULL,
    -- Wall clock, in milliseconds.
    time INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER,
    -- The name of a node of the flow, of a user of the editor, or of who has found something.
    actor TEXT,
    -- JSON of what else is known of it.
    facts TEXT
  ) STRICT;
  CREATE INDEX history_place ON history (sequence, place);

  -- Unproven, well-formed messages, until a phrase proves them.
  CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint TEXT NOT NULL,
    address TEXT NOT NULL,
    facts TEXT NOT NULL,
    bytes BLOB NOT NULL,
    stored INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX quarantine_endpoint ON quarantine (endpoint, id);
  CREATE INDEX quarantine_address ON quarantine (address, id);

  -- Which nodes have which endpoint: it is known by port and path, so that copies of a flow have it in common.
  CREATE TABLE endpoint (
    endpoint TEXT NOT NULL,
    node TEXT NOT NULL,
    -- 0 where the node is deleted or disabled.
    is_current INTEGER NOT NULL,
    PRIMARY KEY (endpoint, node)
  ) STRICT, WITHOUT ROWID;

  -- What flows keep in the inbox.
  CREATE TABLE slot_owner (
    owner TEXT PRIMARY KEY,
    -- Of the last change of any of its slots; and of the last of those removed that are no longer kept.
    version INTEGER NOT NULL,
    forgotten INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE slot (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- JSON; none where it was removed, which is kept for those who ask for what has changed.
    value TEXT,
    -- When it ends, and when it was written, by the clock of the slots, in milliseconds.
    ends INTEGER,
    written INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX slot_name ON slot (owner, name);
  CREATE INDEX slot_version ON slot (owner, version);
  CREATE INDEX slot_removed ON slot (owner, version) WHERE value IS NULL;
  `,
];

/**
 * Brings a file to the schema of this package, in one transaction.
 * @param steps those of this package
 * @throws Error where another version of the package has written it, of which this one does not know the schema
 */
export function migrate(database: DatabaseSync, steps: readonly string[] = MIGRATIONS): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > steps.length) {
    throw new Error(
      `it was written by another version of this package (schema ${version}, this one knows ${steps.length}): install that version again, or move inbox.sqlite and inbox.sqlite-wal out of the folder to begin with an empty inbox`,
    );
  }
  if (version === steps.length) return;
  // A table that is replaced would take with it what refers to it. Has no effect within a transaction.
  database.exec('PRAGMA foreign_keys = OFF');
  try {
    database.exec('BEGIN IMMEDIATE');
    for (const step of steps.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${steps.length}`);
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw error;
  } finally {
    database.exec('PRAGMA foreign_keys = ON');
  }
}
