import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { newMessage } from '../../../lib/inbox/store/stored-message';
import { runProgram, type ProgramRun, messagesIn, MovingStand } from '../../support/inbox/moving';
import { SharedServer } from '../../support/postgres/shared-server';
import { StrictServer } from '../../support/postgres/odd-servers';
import { nightlyIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';
import { ENDPOINT, proven } from '../samples';

const MANY = 3000;
/** Before the program is left to come to its end. */
const KILLS = 6;

describe('rvm-inbox move', () => {
  let server: SharedServer;
  let stand: MovingStand;
  let count = 0;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    count += 1;
    stand = await MovingStand.make(server, `program${count}`);
  });
  afterEach(() => stand.remove());

  function fill(messages: number): string[] {
    const ids = stand.file.accept(Array.from({ length: messages }, () => newMessage(proven())));
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
    const lines = out.trimEnd().split('\n');
    const place = `127.0.0.1:${server.port}/${server.nameOf(stand.database)}, schema rvm`;
    assert.match(lines[0] ?? '', /^Moved ./);
    assert.ok(
      lines[0]?.endsWith(` to ${place}: 2 messages, compared row by row; 2 of them wait to be delivered.`),
      lines[0],
    );
    assert.match(
      lines[1] ?? '',
      /^The file is kept as .+inbox\.sqlite\.moved-.+: delete it once you need it no more\.$/,
    );
    assert.match(
      lines[2] ?? '',
      /^Now start Node-RED, choose PostgreSQL in the dialog of the inbox, and deploy\./,
    );
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
    assert.deepEqual(
      there.map((message) => message['deliveryId']),
      ids,
    );
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
    stand.file.accept([newMessage(proven())]);
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
