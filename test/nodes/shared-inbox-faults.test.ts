import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { SCHEMA_VERSION } from '../../lib/inbox/postgres/schema';
import type { WebhookFacts } from '../../lib/message/event-message';
import { act } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, sharedFlow } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { OldServer, StrictServer } from '../support/postgres/odd-servers';
import { needs } from '../support/suite/programs';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';

const PASSWORD = 'planted-database-password';
const WRONG = 'planted-wrong-password';
const UNSET = '${RVM_TEST_CONNECTION}';

interface Fault {
  title: string;
  /** What is wrong, from the beginning. */
  spoil?: string;
  connection: () => string;
  inbox?: Record<string, unknown>;
  status?: string;
  /** What the log says. */
  line: RegExp;
  /** What puts it right where it is. Without it, another connection is deployed. */
  cure?: string;
}

describe('an inbox in PostgreSQL that cannot be used', () => {
  let strict: StrictServer;
  let old: OldServer;
  let nodeRed: NodeRed;
  let database: string;
  let databases = 0;

  before(async function () {
    needs(this, 'postgres', 'openssl');
    strict = await StrictServer.start(PASSWORD);
    old = await OldServer.start({ version: '140012', name: '14.12' });
    nodeRed = await NodeRed.start();
  });
  beforeEach(async () => {
    databases += 1;
    database = `of_test_${databases}`;
    await strict.server.database(database);
    await strict.server.sql(`GRANT CREATE ON DATABASE ${database} TO alarms`);
  });
  after(async () => {
    await nodeRed?.stopAndRemove();
    await old?.close();
    await strict?.remove();
  });

  const login = (password: string): string => strict.server.url(database, `alarms:${password}`);
  const right = (): string => login(PASSWORD);

  const FAULTS: Fault[] = [
    {
      title: 'for its connection cannot be read',
      connection: () => login(`${PASSWORD}/with/slashes`),
      line: /connection of the inbox cannot be used: .*%2F/,
    },
    {
      title: 'for a variable is not set',
      connection: () => UNSET,
      status: 'RVM_TEST_CONNECTION is not set',
      line: /environment variable RVM_TEST_CONNECTION is not set: set it/,
    },
    {
      title: 'for its engine is none that is known',
      connection: right,
      inbox: { engine: 'mysql' },
      line: /must be sqlite or postgres/,
    },
    {
      title: 'for its TLS node is missing',
      connection: right,
      inbox: { tls: 'gone' },
      line: /TLS node of the inbox is missing or disabled, or not deployed yet: deploy/,
    },
    {
      title: 'for its host is not known',
      connection: () => `postgres://alarms:${PASSWORD}@nowhere.invalid/${database}`,
      line: /nowhere\.invalid:5432: the name of its host .*(ENOTFOUND|EAI_AGAIN)/,
    },
    {
      title: 'for nothing answers there',
      connection: () => right().replace(/:\d+\/of_test/, ':1/of_test'),
      line: /127\.0\.0\.1:1: nothing answers there: see that PostgreSQL runs.*ECONNREFUSED/,
    },
    {
      title: 'for its login is refused',
      connection: () => login(WRONG),
      line: /refuses the login: check user and password .*28P01/,
    },
    {
      title: 'for there is no such database',
      connection: () => strict.server.url('missing', `alarms:${PASSWORD}`),
      line: /has no database of this name: create it.*3D000/,
    },
    {
      title: 'for nothing proves the certificate of the server',
      connection: right,
      inbox: { tls: 'verify' },
      line: /certificate of the database is not accepted.*authority of your own/,
    },
    {
      title: 'for the server is older than 15',
      connection: () => `postgres://alarms:${PASSWORD}@127.0.0.1:${old.port}/alarms`,
      line: /is PostgreSQL 14\.12: version 15 or newer is needed/,
    },
    {
      title: 'for its role lacks rights',
      spoil: 'REVOKE CREATE ON DATABASE % FROM alarms',
      connection: right,
      line: /role may not make .*tables of schema .*run what "rvm-inbox sql" prints/,
      cure: 'GRANT CREATE ON DATABASE % TO alarms',
    },
    {
      title: 'for the server is read-only',
      spoil: 'ALTER DATABASE % SET default_transaction_read_only = on',
      connection: right,
      line: /set read-only.*set it so that it can be written/,
      cure: 'ALTER DATABASE % RESET default_transaction_read_only',
    },
  ];

  for (const { title, spoil = '', connection, inbox = {}, status, line, cure } of FAULTS) {
    it(`${title}, says so, and loses no alarm`, async () => {
      if (spoil !== '') await strict.server.sql(spoil.replace('%', database));
      const [fromLog, fromSeen] = [nodeRed.log.length, nodeRed.seen.length];
      await nodeRed.deploy(sharedFlow(connection(), { inbox }));
      await nodeRed.logged(line, fromLog);
      const wanted = status ?? 'status.notDurable';
      await nodeRed.until(() => nodeRed.statuses('webhook', fromSeen).at(-1) === wanted, `status ${wanted}`);
      const message = alarmMessage();
      assert.equal(await answerTo(nodeRed.url + PATH, message, PHRASE), 'cut');
      await assertNoPassword();

      if (cure === undefined) await nodeRed.deploy(sharedFlow(right()));
      else await strict.server.sql(cure.replace('%', database));
      const answers = await sendUntilAnswered(nodeRed.url + PATH, message, PHRASE);
      assert.equal(answers.at(-1), 200);
      const isIt = (msg: { webhook?: Partial<WebhookFacts> }): boolean =>
        msg.webhook?.messageId === message.messageId;
      await nodeRed.message('alarms', isIt);
      assert.equal(nodeRed.at('alarms').filter(isIt).length, 1);
    });
  }

  it('for its schema is newer than what this version reads, says so, and loses no alarm', async () => {
    await nodeRed.deploy(sharedFlow(right()));
    const message = alarmMessage();
    await sendUntilAnswered(nodeRed.url + PATH, alarmMessage(), PHRASE);
    const set = (version: number): Promise<unknown> =>
      strict.server.sql(
        `UPDATE rvm.meta SET value = '${version}' WHERE name IN ('schema_version', 'readable_from')`,
        database,
      );
    await set(SCHEMA_VERSION + 1000);
    const from = nodeRed.log.length;
    // Where a connection is made anew it is looked at.
    await nodeRed.deploy(sharedFlow(right(), { inbox: { instanceName: 'another' } }));
    await nodeRed.logged(/newer.*(update|install)/i, from);
    assert.equal(await answerTo(nodeRed.url + PATH, message, PHRASE), 'cut');
    await assertNoPassword();
    await set(SCHEMA_VERSION);
    assert.equal((await sendUntilAnswered(nodeRed.url + PATH, message, PHRASE)).at(-1), 200);
  });

  it('of which another node has a different login is that of the other, and both say so', async () => {
    const from = nodeRed.log.length;
    const further = {
      id: 'second',
      type: 'rvm-inbox',
      name: '',
      engine: 'postgres',
      schema: 'rvm',
      tls: 'off',
    };
    await nodeRed.deploy(sharedFlow(right(), {}, { ...further, credentials: { connection: login(WRONG) } }));
    await nodeRed.logged(/Another inbox of the same database and schema has other settings/, from);
    assert.equal((await sendUntilAnswered(nodeRed.url + PATH, alarmMessage(), PHRASE)).at(-1), 200);
  });

  it('can be once a TLS node has the authority of the server', async () => {
    const tls = { id: 'tls', type: 'tls-config', name: '', cert: '', key: '', ca: strict.authority.file };
    await nodeRed.deploy(sharedFlow(right(), { inbox: { tls: 'tls' } }, { ...tls, verifyservercert: true }));
    assert.equal((await sendUntilAnswered(nodeRed.url + PATH, alarmMessage(), PHRASE)).at(-1), 200);
    const { body } = await act(nodeRed, 'inbox-test', { inbox: 'inbox' });
    assert.match(String(body.tls), /^TLSv1\.3/);
  });

  it('is not asked for by a draft where a variable or a key that is stored would go there', async () => {
    const draft = { connection: UNSET, schema: 'rvm', tls: 'off', instanceName: '' };
    const { status, body } = await act(nodeRed, 'inbox-test', { draft });
    assert.equal(status, 422);
    assert.match(String(body.message), /read by deployed nodes only/);
  });

  /** Neither in the log, nor in what the flow and the editor are told, nor in a flow that is exported. */
  async function assertNoPassword(): Promise<void> {
    const asked = ['flows', 'rvm/overview', 'credentials/rvm-inbox/inbox'].map(async (question) =>
      (await fetch(`${nodeRed.url}/${question}`)).text(),
    );
    const tested = await act(nodeRed, 'inbox-test', { inbox: 'inbox' });
    const told = [
      nodeRed.log,
      JSON.stringify(nodeRed.seen),
      fs.readFileSync(path.join(nodeRed.userDir, 'flows.json'), 'utf8'),
      JSON.stringify(tested.body),
      ...(await Promise.all(asked)),
    ];
    for (const text of told) assert.doesNotMatch(text, /planted-(database|wrong)-password/);
  }
});
