import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RvmError } from '../../../lib/error';
import { SPARE_FILE } from '../../../lib/inbox/spare/spare-folder';
import { MIGRATIONS } from '../../../lib/inbox/sqlite/schema';
import { Store } from '../../../lib/inbox/sqlite/store';
import { damagePage } from '../../support/inbox/broken-files';
import type { MovingStand } from '../../support/inbox/moving';
import { ENDPOINT, incoming } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { events, standOfEach } from './stand';

const PASSWORD = 'not-to-be-seen';

describe('an inbox is not moved', () => {
  let stand: MovingStand;
  standOfEach('refused', (made) => {
    stand = made;
    stand.file.accept(events(300));
  });

  /** Refused with such a reason, and nothing but the move itself is changed: it can be made up for. */
  async function refused(reason: RegExp, url = stand.url): Promise<void> {
    await assert.rejects(stand.move(undefined, url), (error: unknown) => {
      assert.ok(error instanceof RvmError, String(error));
      assert.match(error.message, reason);
      assert.match(error.message, /^The inbox cannot be moved: .+[^.]\.$/);
      assert.ok(!error.message.includes(PASSWORD));
      return true;
    });
    assert.ok(fs.existsSync(stand.file.file));
  }

  /** With the role and password of its own. */
  async function roleUrl(rights: string): Promise<string> {
    const role = `role_of_${stand.database}`;
    await stand.sql(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'; ${rights.replaceAll('ROLE', role)}`);
    return stand.url.replace('admin', `${role}:${PASSWORD}`);
  }

  it('while Node-RED has its file', async () => {
    stand.file.close();
    const other = new DatabaseSync(stand.file.file);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    await refused(/Node-RED has the inbox in .+: stop it, and run this again/);
    other.close();
    assert.notEqual(await stand.move(), 'already');
  });

  it('where there is none', async () => {
    stand.file.close();
    fs.renameSync(stand.file.file, `${stand.file.file}.elsewhere`);
    await assert.rejects(
      stand.move(),
      /there is no inbox\.sqlite in .+: name the folder of the inbox with --from/,
    );
    assert.ok(!fs.existsSync(stand.file.file));
  });

  it('while messages wait beside the file, in whichever folder', async () => {
    const elsewhere = path.join(stand.file.folder, 'elsewhere');
    const ofProcess = path.join(elsewhere, `1700000000000-1-${'a'.repeat(12)}`);
    fs.mkdirSync(ofProcess, { recursive: true });
    fs.writeFileSync(path.join(stand.file.folder, 'spill-folders.json'), JSON.stringify([elsewhere]));
    const spare = new Store({ file: path.join(ofProcess, SPARE_FILE), resumed: false, isSpare: true });
    spare.transaction(() => spare.work.accept({ message: incoming({}), lease: 'no' }));
    spare.close();
    await refused(/messages wait in .+elsewhere that are not in the file yet: start Node-RED/);
    fs.rmSync(ofProcess, { recursive: true });
    assert.notEqual(await stand.move(), 'already');
  });

  it('where its file is damaged', async () => {
    stand.file.close();
    damagePage(stand.file.file, 'message');
    await refused(/the file in .+ is damaged: start Node-RED once, which salvages it/);
  });

  it('where bodies in its file are damaged', async () => {
    stand.file.close();
    damagePage(stand.file.file, 'body');
    await refused(/the file in .+ is damaged: start Node-RED once, which salvages it/);
  });

  it('where another version of the package has written its file', async () => {
    stand.file.close();
    const database = new DatabaseSync(stand.file.file);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    database.close();
    await refused(/it was written by another version of this package .+: install that version again/);
  });

  it('where the database does not answer', async () => {
    const url = stand.url.replace(/@.+\//, `:${PASSWORD}@127.0.0.1:1/`);
    await refused(/no connection to the database at 127\.0\.0\.1:1: nothing answers there/, url);
  });

  it('where the role may not make the tables', async () => {
    await refused(/its role may not make .+ of schema "rvm": have an administrator run/, await roleUrl(''));
  });

  it('where the role may not write', async () => {
    await stand.makeTables();
    const url = await roleUrl(
      'GRANT USAGE ON SCHEMA rvm TO ROLE; GRANT SELECT ON ALL TABLES IN SCHEMA rvm TO ROLE;',
    );
    await refused(/its role lacks rights on schema "rvm"/, url);
  });

  it('where a newer version of the package has made the tables', async () => {
    await stand.makeTables();
    await stand.sql(`UPDATE rvm.meta SET value = '999' WHERE name IN ('schema_version', 'readable_from')`);
    await refused(
      /the schema "rvm" is of a newer version of this package .+: install that version here, too/,
    );
  });

  /** Happens in the database at a message of the second batch. */
  async function atSecondBatch(what: string): Promise<void> {
    await stand.makeTables();
    await stand.sql(`CREATE FUNCTION happen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${what}; RETURN NEW; END $$;
      CREATE TRIGGER happen BEFORE INSERT ON rvm.body FOR EACH ROW WHEN (NEW.sequence = 250) EXECUTE FUNCTION happen()`);
  }

  it('when the database ends meanwhile, after which it goes on', async () => {
    await atSecondBatch('PERFORM pg_terminate_backend(pg_backend_pid())');
    await refused(/the database has failed: .+; run this again, and it goes on where it has ended\.$/);
    await stand.sql('DROP TRIGGER happen ON rvm.body');
    assert.equal((await stand.moved()).messages, 300);
  });

  it('where not as much is there as in the file', async () => {
    await atSecondBatch('RETURN NULL');
    await refused(/299 of 300 bodies have come into the database: .+ another schema with --schema/);
    assert.deepEqual(await stand.sql('SELECT 1 FROM rvm.work'), []);
  });

  it('before its file can have its other name: Node-RED would deliver from it once more', async function () {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) needs(this, 'chattr');
    const { folder } = stand.file;
    const letRename = (may: boolean): void => {
      if (isRoot) execFileSync('chattr', [may ? '-i' : '+i', folder]);
      else fs.chmodSync(folder, may ? 0o700 : 0o500);
    };
    try {
      await assert.rejects(
        stand.move(() => letRename(false)),
        /all of it is in the database, but .+ cannot be given another name: .+ \((EPERM|EACCES)\)\.$/,
      );
    } finally {
      letRename(true);
    }
    assert.equal(await stand.move(), 'already');
    const instance = await stand.instance();
    assert.deepEqual(await instance.call('openByEndpoint', undefined), { [ENDPOINT]: 300 });
  });
});
