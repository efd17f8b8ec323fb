import assert from 'node:assert/strict';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const MESSAGES = 600;

describe('a server whose table of locks is small', () => {
  let server: PostgresServer;
  let store: StoreSession | undefined;

  before(async function () {
    needs(this, 'postgres');
    const least = { max_locks_per_transaction: '10', max_connections: '5', max_worker_processes: '0' };
    server = await PostgresServer.start({
      settings: { ...least, superuser_reserved_connections: '0', max_wal_senders: '0', autovacuum: 'off' },
    });
  });
  after(async () => {
    await store?.close();
    await server?.remove();
  });

  it('takes the messages of a batch one by one where it cannot take them together', async () => {
    store = await StoreSession.open(server.url());
    const tooMany = `SELECT count(pg_advisory_xact_lock(n)) FROM generate_series(1, ${MESSAGES}) AS n`;
    await assert.rejects(server.sql(tooMany), { code: '53200' });
    const messages = Array.from({ length: MESSAGES }, (_, index) => incoming({ alarm: `alarm ${index}` }));
    const accepted = await store.accept(messages);
    assert.equal(accepted.filter(({ outcome }) => outcome === 'new').length, MESSAGES);
  });
});
