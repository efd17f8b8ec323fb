import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { messagesIn, MovingStand, type ProgramRun, runProgram } from '../../support/inbox/moving';
import { StrictServer } from '../../support/postgres/odd-servers';
import { ENDPOINT } from '../../support/postgres/stores';
import { nightlyIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';
import { event, events, standOfEach } from '../moving/stand';

const MANY = 3000;
/** Before the program is left to come to its end. */
const KILLS = 6;

describe('rvm-inbox move', () => {
  let stand: MovingStand;
  standOfEach('program', (made) => (stand = made));

  function fill(messages: number): string[] {
    const ids = stand.file.accept(events(messages));
    stand.file.close();
    return ids;
  }

  function move(...options: string[]): Promise<ProgramRun> {
    return runProgram(['move', '--from', stand.file.folder, '--tls', 'off', ...options]);
  }

  it('says what it has moved, under which name the file is kept, and what comes next', async () => {
    fill(2);
    const { code, out, error } = await move('--to', stand.url);
    assert.deepEqual([code, error], [0, '']);
    const [moved = '', kept = '', next = ''] = out.trimEnd().split('\n');
    const { host, pathname } = new URL(stand.url);
    assert.match(moved, /^Moved .+: 2 messages, compared row by row; 2 of them wait to be delivered\.$/);
    assert.ok(moved.includes(` to ${host}${pathname}, schema rvm: 2 messages`), moved);
    assert.match(
      kept,
      /^The file is kept as .+inbox\.sqlite\.moved-.+: delete it once you need it no more\.$/,
    );
    assert.match(next, /^Now start Node-RED, choose PostgreSQL in the dialog of the inbox, and deploy\./);
    const once = await move('--to', stand.url);
    assert.equal(once.code, 0);
    assert.match(once.out, /was moved already: nothing is left to be done\./);
  });

  it('takes the connection of a variable or of a file', async () => {
    fill(1);
    const file = path.join(stand.file.folder, 'connection');
    writeFileSync(file, `${stand.url}\n`);
    assert.equal((await move('--to-file', file)).code, 0);
    fill(1);
    const args = ['move', '--from', stand.file.folder, '--tls', 'off'];
    assert.equal((await runProgram(args, { RVM_INBOX_URL: stand.url })).code, 0);
    assert.equal((await stand.there()).length, 2);
  });

  it('ends with 2 where the command line cannot be used, and with 1 where it fails, without a password', async () => {
    fill(1);
    const unreadable = await move('--to', 'mysql://node:to-be-hidden@db/alarms');
    const away = await move('--to', 'postgres://node:to-be-hidden@127.0.0.1:1/alarms');
    const noFile = await move('--to', stand.url, '--tls', 'absent.pem');
    assert.deepEqual([unreadable.code, away.code, noFile.code], [2, 1, 2]);
    for (const { out, error } of [unreadable, away, noFile]) {
      assert.equal(out, '');
      assert.match(error, /^rvm-inbox: .+\.\n$/);
      assert.ok(!error.includes('to-be-hidden'), error);
    }
  });

  /** How far it has come, as the database knows it: a sequence of the file. */
  async function copied(): Promise<number> {
    const [row] = await stand.sql(
      `SELECT (value::json ->> 'copied')::int AS copied FROM rvm.meta WHERE name LIKE 'move %'`,
    );
    return Number(row?.['copied'] ?? 0);
  }

  /** @returns true where it was killed before its end */
  async function killedBehind(sequence: number): Promise<boolean> {
    let child: ChildProcess | undefined;
    const args = ['move', '--from', stand.file.folder, '--to', stand.url, '--tls', 'off'];
    const run = runProgram(args, {}, (started) => (child = started));
    const hasCome = async (): Promise<boolean> => child?.exitCode !== null || (await copied()) >= sequence;
    await eventually(hasCome, `message ${sequence}`);
    child?.kill('SIGKILL');
    return (await run).code === null;
  }

  nightlyIt('ends right however often it is killed before, and doubles nothing', async () => {
    const ids = fill(MANY);
    await (await stand.instance()).close();
    // Slow enough to be killed in the midst of it.
    await stand.sql(`CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.03); RETURN NULL; END $$;
      CREATE TRIGGER rest AFTER INSERT ON rvm.body FOR EACH STATEMENT EXECUTE FUNCTION rest()`);
    const points = Array.from({ length: KILLS }, () => Math.ceil(Math.random() * MANY));
    const sorted = [...points.toSorted((one, other) => one - other), MANY];
    const kills = [];
    for (const point of sorted) kills.push(await killedBehind(point));
    assert.ok(kills.filter(Boolean).length >= 2, `killed at ${sorted.join(', ')}: ${kills.join(', ')}`);
    const { code, error } = await move('--to', stand.url);
    assert.equal(code, 0, error);
    const there = await stand.there();
    const thereIds = there.map((message) => message['deliveryId']);
    assert.deepEqual(thereIds, ids);
    assert.deepEqual(there, messagesIn(stand.aside()));
    const instance = await stand.instance();
    assert.deepEqual(await instance.call('openByEndpoint', undefined), { [ENDPOINT]: MANY });
  });
});

describe('rvm-inbox move to a server with TLS that asks for a password', () => {
  const PASSWORD = 'planted-database-password';
  let strict: StrictServer;
  let stand: MovingStand;

  before(async function () {
    needs(this, 'postgres', 'openssl');
    strict = await StrictServer.start(PASSWORD);
    stand = await MovingStand.make(strict.server, 'strict');
    await stand.sql('GRANT CREATE ON DATABASE strict TO alarms');
    stand.file.accept([event()]);
    stand.file.close();
  });
  after(async () => {
    await stand?.remove();
    await strict?.remove();
  });

  function move(password: string, ...options: string[]): Promise<ProgramRun> {
    const url = strict.server.url('strict', `alarms:${password}`);
    return runProgram(['move', '--from', stand.file.folder, ...options], { RVM_INBOX_URL: url });
  }

  it('trusts the authorities of a file alone where one is named, and never shows the password', async () => {
    const authorities = strict.authority.file;
    const unknown = await move(PASSWORD);
    const refused = await move('planted-wrong-password', '--tls', authorities);
    const moved = await move(PASSWORD, '--tls', authorities);
    assert.deepEqual([unknown.code, refused.code, moved.code], [1, 1, 0], moved.error);
    assert.match(unknown.error, /certificate.*for rvm-inbox move: --tls/);
    assert.match(refused.error, /refuses the login: check user and password/);
    for (const { out, error } of [unknown, refused, moved]) assert.ok(!`${out}${error}`.includes('planted'));
  });
});
