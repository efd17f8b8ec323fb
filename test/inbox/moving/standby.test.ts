import assert from 'node:assert/strict';
import fs from 'node:fs';
import { MovingStand } from '../../support/inbox/moving';
import { PostgresStand } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { events } from './stand';

describe('moving an inbox to a database with a standby', () => {
  const postgres = PostgresStand.own();
  let stand: MovingStand;
  let count = 0;

  beforeEach(async () => {
    stand = await MovingStand.make(postgres.server, `standby${(count += 1)}`);
    await stand.makeTables();
    stand.file.accept(events(2));
    await waitFor('away');
  });
  afterEach(async () => {
    await waitFor('');
    await stand.remove();
  });

  /** Commits wait for the standby of this name from now on; for none where it has none. */
  async function waitFor(name: string): Promise<void> {
    await postgres.sql(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await postgres.sql('SELECT pg_reload_conf()');
    const isSet = async (): Promise<boolean> => {
      const [row] = await postgres.sql('SHOW synchronous_standby_names');
      return row?.['synchronous_standby_names'] === name;
    };
    await eventually(isSet, 'the setting');
  }

  /** The process of the database that waits for the standby. */
  async function waiting(): Promise<number> {
    let pid = 0;
    const isWaiting = async (): Promise<boolean> => {
      const [row] = await stand.sql(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
      pid = Number(row?.['pid'] ?? 0);
      return pid > 0;
    };
    await eventually(isWaiting, 'the wait for the standby');
    return pid;
  }

  it('keeps the file until the standby has all of it, too', async () => {
    const moving = stand.moved();
    await waiting();
    assert.ok(fs.existsSync(stand.file.file));
    await waitFor('');
    assert.equal((await moving).messages, 2);
    assert.ok(!fs.existsSync(stand.file.file));
  });

  it('fails where that wait is cancelled, and waits once more the next time', async () => {
    const moving = assert.rejects(
      stand.moved(),
      /the database has failed: cancell?ing wait for synchronous replication/,
    );
    await stand.sql(`SELECT pg_cancel_backend(${await waiting()})`);
    await moving;
    assert.ok(fs.existsSync(stand.file.file));
    const again = stand.move();
    await waiting();
    assert.ok(fs.existsSync(stand.file.file));
    await waitFor('');
    assert.equal(await again, 'already');
    assert.ok(!fs.existsSync(stand.file.file));
  });
});
