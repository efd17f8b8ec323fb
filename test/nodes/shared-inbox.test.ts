import assert from 'node:assert/strict';
import type { Overview, SidebarRow } from '../../nodes/rvm-sidebar/overview';
import {
  arrived,
  factsOf,
  overviewOf as overview,
  problemOf,
  settleById,
  shows,
  type Facts,
} from '../support/node-red/alarms-through';
import { act } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, webhookFlow, sharedFlow } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { PostgresServer } from '../support/postgres/postgres-server';
import { incoming, StoreSession } from '../support/postgres/stores';
import { SharedServer } from '../support/postgres/shared-server';
import { slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';

const LOADED = `httpAdminMiddleware: (req, res, next) =>
    req.path === '/loaded' ? res.json(Object.keys(require.cache)) : next(),`;

async function through(nodeRed: NodeRed, message = alarmMessage()): Promise<Facts> {
  assert.equal((await sendUntilAnswered(nodeRed.url + PATH, message, PHRASE)).at(-1), 200);
  return factsOf(await arrived(nodeRed, message));
}

describe('a webhook in with an inbox in PostgreSQL', () => {
  const variables = {
    RVM_TEST_DATABASE: '',
    RVM_TEST_SCHEMA: 'of variables',
    RVM_TEST_NAME: 'from the environment',
  };
  let server: PostgresServer;
  before(async function () {
    needs(this, 'postgres');
    server = await PostgresServer.start();
  });
  const nodeRed = NodeRed.ofGroup(async () => {
    const env = { ...variables, RVM_TEST_DATABASE: await server.database('careless') };
    await server.sql('ALTER DATABASE careless SET synchronous_commit = off');
    return { settings: LOADED, env };
  });
  after(() => server?.remove());

  it('loads what speaks to PostgreSQL once a node needs it, and not with the types', async () => {
    const isLoaded = async (): Promise<boolean> => {
      const files = (await (await fetch(`${nodeRed.url}/loaded`)).json()) as string[];
      return files.some((file) => /\/node_modules\/pg\/lib\//.test(file));
    };
    await nodeRed.deploy(webhookFlow());
    assert.equal(await isLoaded(), false);
    await nodeRed.deploy(sharedFlow(server.url()));
    assert.equal(await isLoaded(), true);
  });

  it('hands an alarm to the flow once it is in the database', async () => {
    await through(nodeRed);
    const rows = await server.sql('SELECT count(*)::int AS count FROM rvm.message');
    assert.deepEqual(rows, [{ count: 1 }]);
  });

  it('leaves alarms unanswered while the database is away, says so, and takes them when it is back', async () => {
    const from = nodeRed.log.length;
    await server.end('fast');
    await nodeRed.logged(/\/postgres, schema rvm cannot store: .*Alarms are left unanswered meanwhile/, from);
    await shows(nodeRed, 'status.notDurable');
    const message = alarmMessage();
    assert.equal(await answerTo(nodeRed.url + PATH, message, PHRASE), 'cut');
    await server.run();
    await through(nodeRed, message);
    await nodeRed.logged(/\/postgres, schema rvm can store again/, from);
    await shows(nodeRed, /^last /);
  });

  it('uses another schema once one is deployed, and tells what it has left in the former one', async () => {
    const settled = { handledWhen: 'settled', redeliverAfter: 60 };
    await nodeRed.deploy(sharedFlow(server.url(), { webhook: settled }));
    await through(nodeRed);
    const from = nodeRed.log.length;
    await nodeRed.deploy(sharedFlow(server.url(), { inbox: { schema: 'further' } }));
    await nodeRed.logged(
      /1 event in .*schema rvm is not settled, and no webhook in node of this Node-RED/,
      from,
    );
    await through(nodeRed);
    const rows = await server.sql('SELECT count(*)::int AS count FROM further.message');
    assert.deepEqual(rows, [{ count: 1 }]);
  });

  it('tells how many events were assigned, those among them that came at another Node-RED a moment before', async () => {
    await nodeRed.deploy(sharedFlow(server.url(), { inbox: { schema: 'assigned' } }));
    await through(nodeRed);
    const other = await StoreSession.open(server.url(), { schema: 'assigned' });
    const endpoint = ':/gone';
    try {
      await other.call('accept', { message: incoming({ id: 'first', endpoint }), lease: 'no' });
      await eventually(async () => (await overview(nodeRed)).abandoned.length > 0, 'the event');
      const [row] = (await overview(nodeRed)).abandoned;
      const [taker] = row?.takers ?? [];
      await other.accept(['second', 'third'].map((id) => incoming({ id, endpoint })));
      const asked = { inbox: row?.inbox, endpointId: endpoint, to: taker?.endpointId };
      assert.deepEqual((await act(nodeRed, 'abandoned-events', asked)).body, { assigned: 3 });
    } finally {
      await other.close();
    }
  });

  it('has settings that are variables', async () => {
    const inbox = { schema: '${RVM_TEST_SCHEMA}', instanceName: '${RVM_TEST_NAME}' };
    await nodeRed.deploy(sharedFlow('${RVM_TEST_DATABASE}', { inbox }));
    await through(nodeRed);
    const rows = await server.sql('SELECT name FROM "of variables".instance', 'careless');
    assert.deepEqual(rows, [{ name: 'from the environment' }]);
  });

  it('is warned of where its server is not set up to keep what it acknowledges', () =>
    nodeRed.logged(/schema of variables: synchronous_commit is off at the server/));
});

describe('two Node-RED with one inbox in PostgreSQL', () => {
  let server: SharedServer;
  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  const [one, other] = [NodeRed.ofGroup(), NodeRed.ofGroup()];
  before(async () => {
    await one.deploy(flow('north'));
    await eventually(async () => (await instances()).length === 1, 'the first instance');
    await other.deploy(flow('south'));
    await eventually(async () => (await instances()).length === 2, 'both instances');
  });
  after(() => server?.remove());

  /** One attempt, so that what nobody settles is a dead letter after a few seconds. */
  function flow(instanceName: string): FlowNode[] {
    const webhook = { handledWhen: 'settled', redeliverAfter: 3, maxAttempts: 1 };
    const further = [settleById(), ...entrance('order', 'settle'), probe('settled')];
    return sharedFlow(server.url(), { inbox: { instanceName }, webhook }, ...further);
  }

  async function instances(nodeRed = one): Promise<Overview['sharing'][number]['instances']> {
    return (await overview(nodeRed)).sharing.flatMap((sharing) => sharing.instances);
  }

  const deadLetter = async (nodeRed: NodeRed, deliveryId: unknown): Promise<SidebarRow | undefined> =>
    (await overview(nodeRed)).dead.find((row) => row.deliveryId === deliveryId);

  it('are listed in the sidebar of each, with their names, their beats and what they hold', async () => {
    const { sharing } = await overview(other);
    assert.equal(sharing[0]?.inbox, `127.0.0.1:${server.port}/${server.name}, schema rvm`);
    const rows = await instances(other);
    assert.deepEqual(
      rows.map(({ name, isSelf }) => `${name} ${isSelf}`),
      ['north false', 'south true'],
    );
    assert.ok(rows.every(({ sinceBeat }) => sinceBeat < 10_000));
    await through(one);
    const held = async () => (await instances(other)).find(({ isSelf }) => !isSelf)?.held;
    await eventually(async () => (await held()) === 1, 'what the first one holds');
  });

  it('settle what the other one has', async () => {
    const { deliveryId } = await through(one);
    await inject(other, 'order', { id: deliveryId });
    await other.message('settled', (msg) => msg.id === deliveryId);
    const isSettled = async (): Promise<boolean> =>
      (await overview(one)).events.some((row) => row.deliveryId === deliveryId && row.state === 'delivered');
    await eventually(isSettled, 'the end of the event at the first one');
  });

  slowIt('deliver again, and discard, what is a dead letter of the other one', async () => {
    const { deliveryId } = await through(one);
    await eventually(async () => (await deadLetter(other, deliveryId)) !== undefined, 'the dead letter');
    const seen = (): Facts[] => [one, other].flatMap((each) => each.at('alarms').map(factsOf));
    const count = (): number => seen().filter((facts) => facts.deliveryId === deliveryId).length;
    assert.equal(count(), 1);
    assert.equal((await act(other, 'dead-letters', { deliveryId, action: 'retry' })).status, 200);
    await eventually(() => count() === 2, 'the event once more');
    await eventually(async () => (await deadLetter(one, deliveryId)) !== undefined, 'it once more');
    assert.equal((await act(other, 'dead-letters', { deliveryId, action: 'discard' })).status, 200);
    assert.equal(await deadLetter(one, deliveryId), undefined);
  });

  slowIt('tell that one of them stood still, and what became of its events', async () => {
    const { deliveryId } = await through(other);
    const from = other.log.length;
    process.kill(other.pid, 'SIGSTOP');
    try {
      await one.message('alarms', (msg) => factsOf(msg).deliveryId === deliveryId);
    } finally {
      process.kill(other.pid, 'SIGCONT');
    }
    await other.logged(
      /This Node-RED gave no sign of life for \d+\.\d s, so other instances took over/,
      from,
    );
    assert.equal((await through(other)).attempt, 1);
  });

  slowIt('tell of one that is dead, whose events the other one gets', async () => {
    const { deliveryId } = await through(other);
    const from = one.log.length;
    await other.stop('SIGKILL');
    const again = await one.message('alarms', (msg) => factsOf(msg).deliveryId === deliveryId);
    assert.equal(factsOf(again).attempt, 2);
    await one.message('problems', (msg) => problemOf(msg).reason === 'restart');
    await one.logged(/The instance south of .* gives no sign of life any more.*get now: [1-9]/, from);
    await eventually(async () => (await instances()).length === 1, 'the end of its row');
  });
});
