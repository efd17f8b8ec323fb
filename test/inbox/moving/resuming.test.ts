import assert from 'node:assert/strict';
import { readdirSync, renameSync } from 'node:fs';
import type { MovingStand } from '../../support/inbox/moving';
import { connected, finish, lease } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { events, LEASE, MANY, standOfEach } from './stand';

/** Of the messages of a file. */
const WAITING = 210;
const FINISHED = MANY - WAITING;

describe('a move that was ended before its end', () => {
  let stand: MovingStand;
  standOfEach('resumed', (made) => (stand = made));

  /** Messages of which the first wait. @returns their ids */
  function fill(): string[] {
    const ids = stand.file.accept(events(MANY));
    stand.file.ask('markDelivered', ids.slice(WAITING));
    return ids;
  }

  for (const [title, messages] of [
    ['while it copied', 1],
    ['while it took over', FINISHED + 1],
  ] as const)
    it(`has nothing to deliver there, and all of it is in the file: ${title}`, async () => {
      fill();
      await stand.endedAfter(messages);
      for (const table of ['work', 'endpoint', 'slot', 'quarantine'])
        assert.deepEqual(await stand.sql(`SELECT FROM rvm.${table}`), []);
      assert.equal(stand.file.ask('lease', { ...LEASE, limit: MANY }).length, WAITING);
    });

  it('goes on where it ended', async () => {
    fill();
    await stand.endedAfter(1);
    const counts: number[] = [];
    await stand.moved((copied) => counts.push(copied));
    assert.deepEqual(counts, [FINISHED, MANY - 10, MANY]);
  });

  it('notices that Node-RED has used the file since, and brings what became of it', async () => {
    const ids = fill();
    await stand.endedAfter(1);
    stand.file.ask('markDelivered', ids.slice(0, 100));
    stand.file.ask('dismiss', { deliveryId: ids.at(-1) ?? '' });
    stand.file.ask('lease', { ...LEASE, limit: 10 });
    stand.file.accept(events(5));
    const { messages, waiting } = await stand.moved();
    assert.deepEqual([messages, waiting], [MANY + 5, WAITING - 95]);
  });

  it('leaves nothing there of what the file keeps no more', async () => {
    fill();
    await stand.endedAfter(1);
    stand.file.ask('ping', undefined);
    stand.file.now += 1000;
    while (stand.file.ask('tidy', { keys: 500, bodies: 500 }));
    const { messages, bodies } = await stand.moved();
    assert.deepEqual([messages, bodies], [WAITING, WAITING]);
  });

  it('brings nothing twice of a batch of which the commit arrives late', async () => {
    fill();
    await stand.endedAfter(1);
    const tables = ['message', 'body', 'course'];
    const taken = tables.map(
      (table) => `CREATE TABLE late_${table} AS SELECT * FROM rvm.${table}; DELETE FROM rvm.${table}`,
    );
    await stand.sql(taken.join('; '));
    await stand.sql(
      `UPDATE rvm.meta SET value = (value::jsonb || '{"copied":0,"messages":0}')::text WHERE name LIKE 'move %'`,
    );
    const { client } = await connected(stand.url);
    await client.query('BEGIN');
    for (const table of tables) await client.query(`INSERT INTO rvm.${table} SELECT * FROM late_${table}`);
    const moving = stand.moved();
    const isWaiting = async (): Promise<boolean> =>
      (await stand.sql('SELECT FROM pg_locks WHERE NOT granted')).length === 1;
    await eventually(isWaiting, 'the move waits');
    await client.query('COMMIT');
    assert.equal((await moving).messages, MANY);
    await client.end();
  });

  it('only gives the file its other name where the database has taken over already', async () => {
    stand.file.accept(events(3));
    const { aside } = await stand.moved();
    renameSync(aside, stand.file.file);
    const instance = await stand.instance();
    const [{ deliveryId } = assert.fail()] = await lease(instance, 1);
    await finish(instance, deliveryId);
    assert.equal(await stand.move(), 'already');
    assert.equal((await lease(instance)).length, 2);
    assert.ok(!readdirSync(stand.file.folder).includes('inbox.sqlite'));
  });

  it('has nothing more to do once the file has its other name', async () => {
    stand.file.accept(events(3));
    await stand.moved();
    assert.equal(await stand.move(), 'already');
  });
});
