import assert from 'node:assert/strict';
import type { Row } from '../../../lib/inbox/store/stored-row';
import { SharedServer } from '../../support/postgres/shared-server';
import { accept, ENDPOINT, idsOf, lease, newSchema, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const WAITING = 100_000;

describe('a backlog of 100,000 events', () => {
  let server: SharedServer;
  let store: StoreSession;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
    store = await StoreSession.open(server.url(), { schema: newSchema() });
    // Plans are made while the tables are empty, as those of an inbox that has just been made.
    await work(10);
    await server.sql(fill(store.schema));
  });
  after(async () => {
    await store?.close();
    await server?.remove();
  });

  async function work(times: number): Promise<void> {
    for (let done = 0; done < times; done += 1)
      for (const ordered of [true, false]) {
        const { deliveryId } = await accept(store, { alarm: `alarm ${done}` }, 'ordered');
        for (const limit of [1, 7, 50, 100]) {
          const unsent = idsOf(await lease(store, limit, ordered));
          await store.call('giveBack', { unsent, cutOff: [] });
        }
        await store.call('finish', { deliveryId, state: 'dead', give: true });
      }
  }

  /** Rows and entries of indexes that were read so far, of all tables. */
  async function readSoFar(): Promise<number> {
    await store.session.client.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await store.session.client.query<Row>(
      `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = $1)::float8
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1)::float8 AS read`,
      [store.schema],
    );
    return Number(rows[0]?.['read']);
  }

  for (const when of ['before', 'after'] as const) {
    it(`is never read as a whole to lease, to accept or to settle, ${when} ANALYZE`, async () => {
      if (when === 'after') await server.sql('ANALYZE');
      const before = await readSoFar();
      await work(10);
      assert.ok((await readSoFar()) - before < WAITING);
    });
  }

  it('is leased in the order of receipt, health last', async () => {
    const events = await lease(store, 100, true);
    const sequences = events.map(({ sequence }) => Number(sequence));
    assert.equal(events.length, 100);
    assert.deepEqual(
      sequences,
      sequences.toSorted((one, other) => one - other),
    );
    assert.ok(events.every(({ rank }) => rank === 0));
  });
});

/** As if accepted, by one statement. */
function fill(schema: string): string {
  return `
INSERT INTO "${schema}".message (delivery_id, station, id, named, copy, fingerprint, endpoint, state, attempt, first, ended, alarm,
    is_end, rank, received, stored, key, alarm_key)
  SELECT gen_random_uuid(), 'north', n::text, true, 0, 'f', '${ENDPOINT}', 'delivered', 1, true, false, 'waiting ' || n % 50000,
    false, (n % 10 = 0)::integer, n, 0, gen_random_uuid(), md5((n % 50000)::text)::uuid
  FROM generate_series(1, ${WAITING}) AS n;
INSERT INTO "${schema}".body SELECT sequence, '{}', 'body' FROM "${schema}".message ON CONFLICT DO NOTHING;
INSERT INTO "${schema}".work (sequence, endpoint, alarm_key, rank, state, attempt, at_flow)
  SELECT sequence, endpoint, alarm_key, rank, 'received', 0, false FROM "${schema}".message WHERE fingerprint = 'f'`;
}
