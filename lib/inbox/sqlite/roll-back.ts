import type { DatabaseSync } from 'node:sqlite';

/** A failed commit, or a full disk, may have ended the transaction by itself; `isTransaction` comes with Node.js 22.16. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // There is none.
  }
}
