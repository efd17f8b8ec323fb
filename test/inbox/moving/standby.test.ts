import assert from 'node:assert/strict';
import fs from 'node:fs';
import { newMessage } from '../../../lib/inbox/store/stored-message';
import { MovingStand } from '../../support/inbox/moving';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';
import { proven } from '../samples';

describe('moving an inbox to a database with a standby', () => {
  let server: PostgresServer;
  let stand: MovingStand;
  let count = 0;

  before(async function () {
    needs(this, 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    count += 1;
    stand = await MovingStand.make(server, `standby${count}`);
    await (await stand.instance()).close();
    stand.file.accept([newMessage(proven()), newMessage(proven())]);
    await waitFor('away');
  });
  afterEach(async () => {
    await waitFor('');
    await stand.remove();
  });

  /** Commits wait for the standby of this name from now on; for none where it has none. */
  async function waitFor(name: string): Promise<void> {
    await server.sql(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await server.sql('SELECT pg_reload_conf()');
    const isSet = async (): Promise<boolean> => {
      const [row] = await server.sql('SHOW synchronous_standby_names');
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
    assert.equal((await moving).same, 2);
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
