import assert from 'node:assert/strict';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { accept, type OpenStore, PostgresStand } from '../../support/postgres/stores';
import { slowIt } from '../../support/suite/lanes';
import { eventually } from '../../support/time/patience';

const OWNER = 'alarms:yard';
const DAY = 24 * 60 * 60 * 1000;

describe('slots in a database that instances share', () => {
  const postgres = PostgresStand.shared();
  let one: OpenStore;
  let other: OpenStore;
  beforeEach(async () => {
    [one, other] = [await postgres.store('one'), await postgres.store('other')];
    await eventually(() => other.told.waiting.length > 0, 'the other to listen');
  });

  const put = ({ store }: OpenStore, name: string, value: string, expected?: number) =>
    store.call('putSlots', {
      owner: OWNER,
      writes: [{ name, value, ...(expected !== undefined && { expected }) }],
    });
  const read = ({ store }: OpenStore, since = 0) => store.call('slots', { owner: OWNER, since });

  it('have a connection of their own, from the first of them on', async () => {
    const connections = async (purpose: string): Promise<number> => {
      const like = `application_name LIKE 'rvm ${purpose} % of four'`;
      return (await postgres.sql(`SELECT FROM pg_stat_activity WHERE ${like}`)).length;
    };
    const four = await postgres.store('of four');
    await put(four, 'a', '1');
    assert.equal(await connections('slots'), 1);
    await four.store.close();
    await eventually(async () => (await connections('%')) === 0, 'all connections to be gone');
  });

  it('are told to the others at once, and not to the one that changed them', async () => {
    await put(one, 'a', '1');
    await eventually(() => other.told.slots.length > 0, 'the other to hear of it');
    await other.store.call('dropSlots', { owner: OWNER });
    await eventually(() => one.told.slots.length > 0, 'the first to hear of that');
    assert.deepEqual([one.told.slots, other.told.slots], [[OWNER], [OWNER]]);
    assert.deepEqual([one.told.stirred.includes(OWNER), other.told.stirred.includes(OWNER)], [false, false]);
  });

  it('are told nobody of where nothing was written', async () => {
    await put(one, 'a', '1', 7);
    await one.store.call('dropSlots', { owner: OWNER });
    await one.store.call('putSlots', { owner: 'later', writes: [{ name: 'a', value: '1' }] });
    await eventually(() => other.told.slots.length > 0, 'the later one');
    assert.deepEqual(other.told.slots, ['later']);
  });

  it('are told to who watches them also where the notice of it is lost', async () => {
    const [writing, watching] = [await postgres.inbox(), await postgres.inbox()];
    const seen: unknown[] = [];
    const look = async (): Promise<void> => {
      const { slots } = await watching.slots(OWNER);
      seen.push(slots[0]?.value);
    };
    const end = watching.watchSlots(OWNER, () => void look());
    await writing.putSlots(OWNER, [{ name: 'a', value: 1 }]);
    await eventually(() => seen.includes(1), 'the first value');
    // As a write of which no notice comes through.
    await postgres.sql(`WITH own AS (UPDATE ${postgres.table('slot_owner')} SET version = version + 1 RETURNING version)
      UPDATE ${postgres.table('slot')} SET value = '2', version = own.version FROM own`);
    await eventually(() => seen.includes(2), 'the second value');
    end();
  });

  it('are seen by who asks for what has changed in the order of their versions, though several write at once', async () => {
    const writers = [one, other, await postgres.store('three')];
    const reader = await postgres.store('reader');
    const seen = new Map<string, number>();
    const order: number[] = [];
    let since = 0;
    const writing = { isOver: false };
    const look = async (): Promise<void> => {
      const { version, slots } = await read(reader, since);
      for (const slot of slots) {
        assert.ok(slot.version > since, 'nothing comes that should have come before');
        seen.set(slot.name, Number(slot.value));
        order.push(slot.version);
      }
      since = version;
    };
    const reading = (async () => {
      while (!writing.isOver) await look();
      await look();
    })();
    const rounds = 60;
    await Promise.all(
      writers.map(async (writer, index) => {
        for (let round = 1; round <= rounds; round += 1)
          await Promise.all([
            put(writer, `own ${index}`, `${round}`),
            put(writer, `${index} ${round}`, '1'),
            put(writer, 'common', '1'),
          ]);
      }),
    );
    writing.isOver = true;
    await reading;
    assert.deepEqual(
      order,
      order.toSorted((one, two) => one - two),
    );
    assert.equal(since, writers.length * rounds * 3);
    assert.equal(seen.size, writers.length * (rounds + 1) + 1);
    for (const [index] of writers.entries()) assert.equal(seen.get(`own ${index}`), rounds);
  });

  slowIt(
    'are counted up by several without losing any, where each expects the version that it has read',
    async () => {
      const writers = [one, other, await postgres.store('three')];
      const rounds = 20;
      const countUp = async (writer: OpenStore): Promise<void> => {
        for (;;) {
          const { slots } = await read(writer);
          const [slot] = slots;
          const [outcome] = await put(writer, 'count', `${Number(slot?.value ?? 0) + 1}`, slot?.version ?? 0);
          if (outcome?.written === true) return;
        }
      };
      await Promise.all(
        writers.map(async (writer) => {
          for (let round = 0; round < rounds; round += 1) await countUp(writer);
        }),
      );
      const { slots } = await read(one);
      assert.equal(slots[0]?.value, `${writers.length * rounds}`);
    },
  );

  it('of several owners are written by several at once, whatever the order in which they are asked for', async () => {
    const writers = [one, other];
    const owners = Array.from({ length: 8 }, (_, number) => `owner ${number}`);
    for (let round = 0; round < 15; round += 1)
      await Promise.all(
        writers.flatMap(({ store }, index) =>
          (index === 0 ? owners : owners.toReversed()).map((owner) =>
            store.call('putSlots', { owner, writes: [{ name: 'a', value: '1' }] }),
          ),
        ),
      );
  });

  it('that somebody has locked keep no message waiting, nor does a list keep them', async () => {
    await put(one, 'a', '1');
    const unlock = await postgres.stranger(`SELECT FROM ${postgres.table('slot_owner')} FOR UPDATE`);
    const waiting = put(one, 'a', '2');
    await accept(one.store);
    assert.equal((await one.store.call('list', { state: 'all', limit: 9 })).length, 1);
    await unlock();
    await waiting;
    await postgres.stranger(`LOCK TABLE ${postgres.table('body')} IN ACCESS EXCLUSIVE MODE`);
    void one.store.call('list', { state: 'all', limit: 9 }).catch(() => undefined);
    await put(one, 'a', '3');
    assert.equal((await read(one)).slots[0]?.value, '3');
  });

  it('go on where their connection was lost', async () => {
    await put(one, 'a', '1');
    await postgres.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rvm slots%'`,
    );
    await eventually(
      () =>
        put(one, 'a', '2').then(
          () => true,
          () => false,
        ),
      'the next connection',
    );
    assert.equal((await read(one)).slots[0]?.value, '2');
    assert.deepEqual(one.told.faults, []);
  });

  it('that were removed are forgotten after a day, and then whoever asks from before that is given all', async () => {
    await put(one, 'a', '1');
    await put(one, 'b', '2');
    const { version } = await read(one);
    await one.store.call('putSlots', { owner: OWNER, writes: [{ name: 'a' }] });
    const age = (hours: number) =>
      postgres.sql(
        `UPDATE ${postgres.table('slot')} SET written = clock_timestamp() - interval '${hours} hours'`,
      );
    const tidy = () => one.store.call('tidy', { keys: DAY, bodies: DAY });
    await age(23);
    await tidy();
    assert.deepEqual((await read(one, version)).slots, [{ name: 'a', version: version + 1 }]);
    await age(25);
    await tidy();
    const { isAll, slots } = await read(one, version);
    assert.deepEqual([isAll, slots.map(({ name }) => name)], [true, ['b']]);
    assert.equal((await read(one, version + 1)).isAll, false);
  });

  slowIt('that were removed are forgotten but for the latest ten thousand', async () => {
    await put(one, 'a', '1');
    await postgres.sql(`INSERT INTO ${postgres.table('slot')} (owner, name, version) SELECT '${OWNER}', 'old ' || n, n + 1 FROM generate_series(1, 10002) AS n;
      UPDATE ${postgres.table('slot_owner')} SET version = 10003`);
    await one.store.call('tidy', { keys: DAY, bodies: DAY });
    assert.equal((await read(one, 2)).isAll, true);
    assert.equal((await read(one, 3)).slots.length, 10_000);
  });

  it('that somebody is changing are tidied the next time', async () => {
    await put(one, 'a', '1');
    await one.store.call('putSlots', { owner: OWNER, writes: [{ name: 'a' }] });
    await postgres.sql(
      `UPDATE ${postgres.table('slot')} SET written = clock_timestamp() - interval '25 hours'`,
    );
    const unlock = await postgres.stranger(`SELECT FROM ${postgres.table('slot_owner')} FOR UPDATE`);
    await one.store.call('tidy', { keys: DAY, bodies: DAY });
    await unlock();
    const rows = () => postgres.sql(`SELECT FROM ${postgres.table('slot')}`);
    assert.equal((await rows()).length, 1);
    await one.store.call('tidy', { keys: DAY, bodies: DAY });
    assert.equal((await rows()).length, 0);
  });

  slowIt('are there after a crash of the database, and who watches them is told to look', async () => {
    const own = await PostgresServer.start();
    postgres.closing(() => own.remove());
    const inbox = await postgres.inbox({ url: own.url() });
    const write = (value: number) => inbox.putSlots(OWNER, [{ name: 'a', value }]);
    await write(1);
    let told = 0;
    inbox.watchSlots(OWNER, () => (told += 1));
    await own.end('immediate');
    await assert.rejects(write(2), { code: 'STORE_FAILED' });
    const before = told;
    await own.run();
    await eventually(() => told > before, 'the watcher to be told');
    let found: unknown;
    await eventually(
      () =>
        inbox.slots(OWNER).then(
          ({ slots }) => ((found = slots[0]?.value), true),
          () => false,
        ),
      'the slots to be read',
    );
    assert.equal(found, 1);
  });
});
