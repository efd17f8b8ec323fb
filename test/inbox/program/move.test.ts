import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { contentsOf, MovingStand, type ProgramRun, runProgram } from '../../support/inbox/moving';
import { StrictServer } from '../../support/postgres/odd-servers';
import { few, slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { event, events, MANY, standOfEach } from '../moving/stand';

const KILLER = path.join(__dirname, '../../support/inbox/kill-at-step.js');

/** Of `MANY`. */
const WAITING = 210;

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
    assert.match(moved, /^Moved .+: 2 messages, counted on both sides; 2 of them wait to be delivered\.$/);
    assert.ok(moved.includes(` to ${host}${pathname}, schema rvm: 2 messages`), moved);
    assert.match(
      kept,
      /^The file is kept as .+inbox\.sqlite\.moved-.+: delete it once you need it no more\.$/,
    );
    assert.match(
      next,
      /^Now start Node-RED with --safe, choose PostgreSQL in the dialog of the inbox, and deploy:/,
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
    const args = ['move', '--from', stand.file.folder, '--tls', 'off', '--schema', 'other'];
    assert.equal((await runProgram(args, { RVM_INBOX_URL: stand.url })).code, 0);
    const counts = await stand.sql(
      'SELECT count(*)::int FROM rvm.message UNION ALL SELECT count(*)::int FROM other.message',
    );
    assert.deepEqual(counts, [{ count: 1 }, { count: 1 }]);
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

  slowIt('ends right at whichever steps it is killed before, and doubles nothing', async () => {
    stand.file.ask('markDelivered', stand.file.accept(events(MANY)).slice(WAITING));
    stand.file.ask('putSlots', { owner: 'alarms:', writes: [{ name: 'a', value: '1' }] });
    stand.file.close();
    await stand.makeTables();
    const args = ['move', '--from', stand.file.folder, '--to', stand.url, '--tls', 'off'];
    let kills = 0;
    for (let step = 1; ; step += few(1, 5, 1)) {
      const killed = { NODE_OPTIONS: `--require "${KILLER}"`, KILL_AT: `${step}` };
      const { code, error } = await runProgram(args, killed);
      if (code === 0) break;
      assert.equal(code, null, error);
      kills += 1;
      const isTaken = (await stand.sql('SELECT FROM rvm.work')).length > 0;
      assert.ok(isTaken || stand.isThere(), `nobody has it: killed before step ${step}`);
    }
    assert.ok(kills > 5, `${kills}`);
    assert.deepEqual(await stand.contents(), contentsOf(stand.aside()));
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
