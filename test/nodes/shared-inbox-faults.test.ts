import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { SCHEMA_VERSION } from '../../lib/inbox/postgres/schema';
import { act } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, sharedFlow, sharedInbox } from '../support/node-red/flows';
import { NodeRed } from '../support/node-red/node-red';
import { OldServer, StrictServer } from '../support/postgres/odd-servers';
import { needs } from '../support/suite/programs';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';
import { arrived, factsOf, shows } from '../support/node-red/alarms-through';

const PASSWORD = 'planted-database-password';
const WRONG = 'planted-wrong-password';
const UNSET = '${RVM_TEST_CONNECTION}';

interface Fault {
  inbox?: Record<string, unknown>;
  status?: string;
  /** What is wrong from the beginning, and what puts it right where it is; else another connection is deployed. */
  spoil?: string;
  cure?: string;
}

describe('an inbox in PostgreSQL that cannot be used', () => {
  let strict: StrictServer;
  let old: OldServer;
  let database: string;
  let databases = 0;
  before(async function () {
    needs(this, 'postgres', 'openssl');
    strict = await StrictServer.start(PASSWORD);
    old = await OldServer.start({ version: '140012', name: '14.12' });
  });
  const nodeRed = NodeRed.ofGroup();
  beforeEach(async () => {
    databases += 1;
    database = `of_test_${databases}`;
    await strict.server.database(database);
    await strict.server.sql(`GRANT CREATE ON DATABASE ${database} TO alarms`);
  });
  after(async () => {
    await old?.close();
    await strict?.remove();
  });

  const login = (password: string): string => strict.server.url(database, `alarms:${password}`);
  const right = (): string => login(PASSWORD);

  const at = (place: string) => (): string => `postgres://alarms:${PASSWORD}@${place}`;
  const FAULTS: [title: string, connection: () => string, line: RegExp, fault?: Fault][] = [
    [
      'its connection cannot be read',
      () => login(`${PASSWORD}/with/slashes`),
      /connection of the inbox cannot be used: .*%2F/,
    ],
    [
      'a variable is not set',
      () => UNSET,
      /environment variable RVM_TEST_CONNECTION is not set: set it/,
      { status: 'RVM_TEST_CONNECTION is not set' },
    ],
    ['its engine is none that is known', right, /must be sqlite or postgres/, { inbox: { engine: 'mysql' } }],
    [
      'its TLS node is missing',
      right,
      /TLS node of the inbox is missing or disabled, or not deployed yet: deploy/,
      { inbox: { tls: 'gone' } },
    ],
    [
      'its host is not known',
      at('nowhere.invalid/alarms'),
      /nowhere\.invalid:5432: the name of its host .*(ENOTFOUND|EAI_AGAIN)/,
    ],
    [
      'nothing answers there',
      at('127.0.0.1:1/alarms'),
      /127\.0\.0\.1:1: nothing answers there: see that PostgreSQL runs.*ECONNREFUSED/,
    ],
    ['its login is refused', () => login(WRONG), /refuses the login: check user and password .*28P01/],
    [
      'there is no such database',
      () => strict.server.url('missing', `alarms:${PASSWORD}`),
      /has no database of this name: create it.*3D000/,
    ],
    [
      'nothing proves the certificate of the server',
      right,
      /certificate of the database is not accepted.*authority of your own/,
      { inbox: { tls: 'verify' } },
    ],
    [
      'the server is older than 15',
      () => at(`127.0.0.1:${old.port}/alarms`)(),
      /is PostgreSQL 14\.12: version 15 or newer is needed/,
    ],
    [
      'its role lacks rights',
      right,
      /role may not make .*tables of schema .*run what "rvm-inbox sql" prints/,
      { spoil: 'REVOKE CREATE ON DATABASE % FROM alarms', cure: 'GRANT CREATE ON DATABASE % TO alarms' },
    ],
    [
      'the server is read-only',
      right,
      /set read-only.*set it so that it can be written/,
      {
        spoil: 'ALTER DATABASE % SET default_transaction_read_only = on',
        cure: 'ALTER DATABASE % RESET default_transaction_read_only',
      },
    ],
  ];

  for (const [title, connection, line, { spoil, inbox = {}, status, cure } = {}] of FAULTS)
    it(`for ${title}, says so, and loses no alarm`, async () => {
      if (spoil !== undefined) await strict.server.sql(spoil.replace('%', database));
      const [fromLog, fromSeen] = [nodeRed.log.length, nodeRed.seen.length];
      await nodeRed.deploy(sharedFlow(connection(), { inbox }));
      await nodeRed.logged(line, fromLog);
      await shows(nodeRed, status ?? 'status.notDurable', 'webhook', fromSeen);
      const message = alarmMessage();
      assert.equal(await answerTo(nodeRed.url + PATH, message, PHRASE), 'cut');
      await assertNoPassword();

      if (cure === undefined) await nodeRed.deploy(sharedFlow(right()));
      else await strict.server.sql(cure.replace('%', database));
      await comesIn(message);
      await arrived(nodeRed, message);
      const ids = nodeRed.at('alarms').map((msg) => factsOf(msg).messageId);
      assert.equal(ids.filter((id) => id === message['messageId']).length, 1);
    });

  async function comesIn(message = alarmMessage()): Promise<void> {
    assert.equal((await sendUntilAnswered(nodeRed.url + PATH, message, PHRASE)).at(-1), 200);
  }

  it('for its schema is newer than what this version reads, says so, and loses no alarm', async () => {
    await nodeRed.deploy(sharedFlow(right()));
    const message = alarmMessage();
    await comesIn();
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
    await comesIn(message);
  });

  it('of which another node has a different login is that of the other, and both say so', async () => {
    const from = nodeRed.log.length;
    const second = sharedInbox(login(WRONG), { id: 'second' });
    await nodeRed.deploy(sharedFlow(right(), {}, second));
    await nodeRed.logged(/Another inbox of the same database and schema has other settings/, from);
    await comesIn();
  });

  it('can be once a TLS node has the authority of the server', async () => {
    const tls = { id: 'tls', type: 'tls-config', name: '', cert: '', key: '', ca: strict.authority.file };
    await nodeRed.deploy(sharedFlow(right(), { inbox: { tls: 'tls' } }, { ...tls, verifyservercert: true }));
    await comesIn();
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
