import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import type { MovingStand } from '../../support/inbox/moving';
import { accept, connected, idsOf, lease, type StoreSession } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { event, events, LEASE, standOfEach } from './stand';

/** An instance that comes, and accepts a message. */
const ARRIVAL = `INSERT INTO rvm.instance (epoch, name, ttl_ms) VALUES (gen_random_uuid(), 'other', 10000);
  INSERT INTO rvm.message (delivery_id, station, id, named, copy, fingerprint, endpoint, state, attempt, first, ended, is_end, rank,
    received, stored, key)
  VALUES (gen_random_uuid(), 'accepted', 'id', true, 0, '', '', 'delivered', 0, true, false, false, 0, 0, 0, gen_random_uuid())`;

describe('moving an inbox to where another one is', () => {
  let stand: MovingStand;
  standOfEach('used', (made) => (stand = made));

  /** Refused, and the file has all that it had. */
  async function refused(moving: Promise<unknown> = stand.move()): Promise<void> {
    await assert.rejects(moving, {
      message:
        'The inbox cannot be moved: the schema "rvm" of the database is used by an inbox already: name another one with --schema, and enter that in the inbox.',
    });
    assert.ok(stand.isThere());
  }

  async function rows(table: string): Promise<number> {
    const [row] = await stand.sql(`SELECT count(*)::int AS count FROM rvm.${table}`);
    return Number(row?.['count']);
  }

  it('is refused while an instance is there', async () => {
    await stand.instance();
    stand.file.accept(events(2));
    await refused();
    assert.equal(await rows('message'), 0);
  });

  it('is refused where one was there that has left something', async () => {
    const instance = await stand.instance();
    await accept(instance, event());
    await instance.close();
    await stand.sql('DELETE FROM rvm.instance');
    stand.file.accept(events(2));
    await refused();
    assert.equal(await rows('message'), 1);
  });

  it('is refused where another file was moved, however little is in it', async () => {
    stand.file.ask('claimEndpoint', { endpoint: ':/other', node: 'other' });
    await stand.moved();
    stand.file.accept(events(2));
    await refused();
  });

  it('is refused of a file that was moved, put back and used once more', async () => {
    stand.file.accept([event()]);
    const { aside } = await stand.moved();
    renameSync(aside, stand.file.file);
    const [second] = stand.file.accept([event()]);
    await refused();
    assert.ok(idsOf(stand.file.ask('lease', LEASE)).includes(second ?? ''));
  });

  it('is refused where an instance comes meanwhile, which delivers nothing of it', async () => {
    stand.file.ask('markDelivered', stand.file.accept(events(300)).slice(1));
    await stand.endedAfter(1);
    const instance = await stand.instance();
    await refused();
    assert.deepEqual(await lease(instance, 100, true), []);
    assert.equal(stand.file.ask('lease', LEASE).length, 1);
  });

  for (const when of ['before it begins', 'before it takes over'])
    it(`is refused where one has come just ${when}, and leaves what that has accepted, however the database isolates by default`, async () => {
      await stand.makeTables();
      stand.file.ask('markDelivered', stand.file.accept(events(300)).slice(1));
      if (when === 'before it takes over') await stand.endedAfter(1);
      const name = new URL(stand.url).pathname.slice(1);
      await stand.sql(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
      const { client } = await connected(stand.url);
      await client.query('BEGIN');
      await client.query(ARRIVAL);
      const moving = refused();
      const isWaiting = async (): Promise<boolean> =>
        (await stand.sql('SELECT FROM pg_locks WHERE NOT granted')).length === 1;
      await eventually(isWaiting, 'the move waits');
      await client.query('COMMIT');
      await moving;
      await client.end();
      assert.equal(await rows(`message WHERE station = 'accepted'`), 1);
    });

  it('lets an instance that comes at its very end wait, and have all of it', async () => {
    const ids = stand.file.accept(events(3));
    let coming: Promise<StoreSession> | undefined;
    await stand.moved(() => void (coming ??= stand.instance()));
    const instance = (await coming) ?? assert.fail();
    assert.deepEqual(idsOf(await lease(instance, 100, true)), ids);
  });
});
