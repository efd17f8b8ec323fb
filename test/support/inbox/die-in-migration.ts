/** Brings the file of an inbox forward, and is killed behind the last step, before it is committed: `<file>`. */
import { DatabaseSync } from 'node:sqlite';
import { migrate, MIGRATIONS } from '../../../lib/inbox/sqlite/schema';

const database = new DatabaseSync(process.argv[2] ?? '');
// What does not fit into memory goes into the log before the commit, too.
database.exec('PRAGMA cache_size = 10');
database.function('die', () => {
  process.kill(process.pid, 'SIGKILL');
  return null;
});
migrate(database, [...MIGRATIONS, 'SELECT die()']);
