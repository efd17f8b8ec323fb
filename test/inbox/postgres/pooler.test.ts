import assert from 'node:assert/strict';
import { testConnection } from '../../../lib/inbox/postgres/connect';
import { PgBouncer } from '../../support/postgres/odd-servers';
import { accept, finish, lease, PostgresStand, settingsOf } from '../../support/postgres/stores';
import { ENDPOINT, type OpenStore } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';

describe('stores behind a pooler that gives each transaction another connection', () => {
  const postgres = PostgresStand.shared('pgbouncer');
  let pooler: PgBouncer;
  before(async () => (pooler = await PgBouncer.start(postgres.server)));
  after(() => pooler?.remove());

  const another = (instanceName: string): Promise<OpenStore> =>
    postgres.store(instanceName, { url: pooler.url });

  it('accept, lease and settle beside each other', async () => {
    const stores = await Promise.all(['one', 'two', 'three'].map(another));
    const ids = await Promise.all(
      Array.from({ length: 60 }, async (_, number) => {
        const { store } = stores[number % 3] ?? assert.fail();
        return (await accept(store, { alarm: `alarm ${number % 5}` })).deliveryId;
      }),
    );
    const settled: string[] = [];
    while (settled.length < ids.length) {
      await Promise.all(
        stores.map(async ({ store }) => {
          for (const { deliveryId } of await lease(store, 10, true)) {
            await finish(store, deliveryId);
            settled.push(deliveryId);
          }
        }),
      );
    }
    assert.deepEqual(settled.toSorted(), ids.toSorted());
  });

  it('learn what others have left for them, and what waits, though no notice comes through', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await accept(one.store, {}, 'any');
    await accept(other.store);
    await finish(other.store, deliveryId);
    await eventually(() => one.told.wishes.length > 0, 'the holder to hear of it');
    await eventually(() => one.told.waiting.some((waiting) => waiting[ENDPOINT] === 1), 'it to be counted');
    await eventually(() => one.told.stirred.length > 0, 'it to be told');
  });

  it('keep beating, and their epoch', async () => {
    const { told } = await another('one');
    const beats = async (): Promise<number> => {
      const [row] = await postgres.sql(`SELECT beats::int FROM ${postgres.table('instance')}`);
      return Number(row?.['beats']);
    };
    const before = await beats();
    await eventually(async () => (await beats()) > before + 1, 'two beats');
    assert.deepEqual([told.epochsLost, told.faults], [0, []]);
  });

  it('are known by their names all the same', async () => {
    const { store } = await another('one');
    const unlock = await postgres.stranger(`LOCK ${postgres.table('work')} IN EXCLUSIVE MODE`);
    const leasing = lease(store);
    const waiting = `SELECT application_name AS name FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Lock'`;
    let names: unknown[] = [];
    await eventually(
      async () => (names = (await postgres.sql(waiting)).map(({ name }) => name)).length > 0,
      'it to wait',
    );
    await unlock();
    await leasing;
    assert.match(String(names[0]), /^rvm work [0-9a-f]{8} one$/);
  });

  it('are told that no notice comes through where the connection is tried out', async () => {
    const { fault, listens, warnings } = await testConnection(settingsOf(pooler.url));
    assert.deepEqual([fault, listens, warnings], [undefined, false, ['no-listen']]);
  });
});
