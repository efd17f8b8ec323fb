import assert from 'node:assert/strict';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { testConnection } from '../../../lib/inbox/postgres/test-connection';
import { PgBouncer } from '../../support/postgres/odd-servers';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, openStore, type OpenStore, incoming } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const NEXT = { endpoint: incoming().endpoint, limit: 10, health: 10, ordered: true };

describe('stores behind a pooler that gives each transaction another connection', () => {
  let server: SharedServer;
  let pooler: PgBouncer;
  let schema: string;
  const open: OpenStore[] = [];

  before(async function () {
    needs(this, 'postgres', 'pgbouncer');
    server = await SharedServer.use();
    pooler = await PgBouncer.start(server);
  });
  after(async () => {
    await pooler?.remove();
    await server?.remove();
  });
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
  });

  async function another(instanceName: string): Promise<OpenStore> {
    const opened = await openStore(pooler.url, schema, { instanceName });
    open.push(opened);
    return opened;
  }

  it('accept, lease and settle beside each other', async () => {
    const stores = await Promise.all(['one', 'two', 'three'].map(another));
    const ids = await Promise.all(
      Array.from({ length: 60 }, async (_, number) => {
        const { store } = stores[number % 3] ?? assert.fail();
        const message = incoming({ alarm: `alarm ${number % 5}` });
        return (await store.call('accept', { message, lease: 'no' })).deliveryId;
      }),
    );
    const settled: string[] = [];
    while (settled.length < ids.length) {
      await Promise.all(
        stores.map(async ({ store }) => {
          for (const { deliveryId } of await store.call('lease', NEXT)) {
            await store.call('finish', { deliveryId, state: 'delivered', give: false });
            settled.push(deliveryId);
          }
        }),
      );
    }
    assert.deepEqual(settled.toSorted(), ids.toSorted());
  });

  it('learn what others have left for them, and what waits, though no notice comes through', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await other.store.call('accept', { message: incoming(), lease: 'no' });
    await other.store.call('finish', { deliveryId, state: 'delivered', give: false });
    await eventually(() => one.told.wishes.length > 0, 'the holder to hear of it');
    await eventually(
      () => one.told.waiting.some((waiting) => waiting[NEXT.endpoint] === 1),
      'it to be counted',
    );
    await eventually(() => one.told.stirred.length > 0, 'it to be told');
  });

  it('keep beating, and their epoch', async () => {
    const { told } = await another('one');
    const beats = async (): Promise<number> => {
      const [row] = await server.sql(`SELECT beats::int FROM "${schema}".instance`);
      return Number(row?.['beats']);
    };
    const before = await beats();
    await eventually(async () => (await beats()) > before + 1, 'two beats');
    assert.equal(told.epochsLost, 0);
    assert.deepEqual(told.faults, []);
  });

  it('are known by their names all the same', async () => {
    const { store } = await another('one');
    const lock = server.sql(`BEGIN; LOCK "${schema}".work IN EXCLUSIVE MODE; SELECT pg_sleep(1); COMMIT`);
    const locks = `SELECT 1 FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = '"${schema}".work'::regclass`;
    await eventually(async () => (await server.sql(locks)).length > 0, 'the lock');
    const leasing = store.call('lease', NEXT);
    const waiting = `SELECT application_name AS name FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Lock'`;
    let names: unknown[] = [];
    await eventually(
      async () => (names = (await server.sql(waiting)).map(({ name }) => name)).length > 0,
      'it to wait',
    );
    assert.match(String(names[0]), /^rvm work [0-9a-f]{8} one$/);
    await Promise.all([lock, leasing]);
  });

  it('are told that no notice comes through where the connection is tried out', async () => {
    const report = await testConnection(readConnection(pooler.url, { schema, tls: 'off', instanceName: '' }));
    assert.equal(report.fault, undefined);
    assert.equal(report.listens, false);
    assert.deepEqual(report.warnings, ['no-listen']);
  });
});
