import assert from 'node:assert/strict';
import type { DurableInbox } from '../../../lib/inbox/durable-inbox';
import { SETTINGS } from '../../../lib/inbox/postgres/call-plans';
import { TcpGate } from '../../support/network/servers';
import { accept, ENDPOINT, PostgresStand, type StoreSession } from '../../support/postgres/stores';
import { slowIt } from '../../support/suite/lanes';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

/** The instance has another connection, and its former one is still at work on what it was asked there. */
describe('a batch whose answer nobody waits for any more', () => {
  const postgres = PostgresStand.shared();
  let former: StoreSession;
  let present: StoreSession;
  beforeEach(async () => {
    former = await postgres.session();
    present = await postgres.session({ epoch: former.epoch });
  });

  async function waitingForLocks(count: number): Promise<void> {
    const wait = async (): Promise<boolean> => {
      const rows = await postgres.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return rows.length >= count;
    };
    await eventually(wait, `${count} waits for locks`);
  }

  it('is over before what the instance has leased is looked for', async () => {
    const { deliveryId } = await accept(former);
    const unlock = await postgres.stranger(`LOCK TABLE ${postgres.table('wish')}`);
    const leasing = former.batch(
      ['lease', { endpoint: ENDPOINT, limit: 1, health: 1, ordered: true }],
      ['ping', undefined],
    );
    await waitingForLocks(1);
    const leased = present.call('leased', ENDPOINT);
    await Promise.race([leased, waitingForLocks(2)]);
    await unlock();
    await leasing;
    assert.deepEqual(await leased, [deliveryId]);
  });

  it('keeps nothing locked for long where the rest of it never comes', async () => {
    const { client } = former.session;
    await client.query('BEGIN');
    await former.session.run(SETTINGS);
    const { rows } = await client.query('SHOW idle_in_transaction_session_timeout');
    assert.deepEqual(rows, [{ idle_in_transaction_session_timeout: '10s' }]);
    await client.query('ROLLBACK');
  });
});

describe('an acceptance whose answer is lost', () => {
  const postgres = PostgresStand.shared();
  let gate: TcpGate;
  let inbox: DurableInbox;
  let taker: Taker;
  beforeEach(async () => {
    const { server } = postgres;
    gate = await TcpGate.start(server.port);
    const url = server.url().replace(`:${server.port}`, `:${gate.port}`);
    inbox = await postgres.inbox({ url, lookAgain: 100 });
    taker = new Taker(inbox, { handledWhen: 'settled' });
    // Behind all that the opening has asked.
    for (const messageId of ['first', 'second']) await inbox.accept(proven({}, { messageId }));
    await taker.came(2);
    taker.deliveries.length = 0;
  });
  afterEach(() => gate.close());

  async function isStored(messageId: string): Promise<void> {
    const sql = `SELECT FROM ${postgres.table('message')} WHERE id = '${messageId}'`;
    await eventually(async () => (await postgres.sql(sql)).length === 1, 'the message in the database');
  }

  const marks = (): unknown[] => taker.deliveries.map(({ attempt, again }) => [attempt, again]);

  it('is answered as if it was not where it is sent again, and the flow gets the event once and unmarked', async () => {
    gate.loseAnswers();
    const accepting = inbox.accept(proven({}, { messageId: 'one' }));
    await isStored('one');
    gate.end();
    const { outcome, deliveryId } = await accepting;
    assert.equal(outcome, 'new');
    await eventually(() => taker.ids.length > 0, 'the event');
    // What was leased and is not held is given back by now.
    await inbox.accept(proven({}, { messageId: 'two' }));
    await eventually(() => taker.ids.includes('two'), 'the next event');
    assert.equal(taker.deliveries[0]?.deliveryId, deliveryId);
    assert.deepEqual(marks(), [
      [1, undefined],
      [1, undefined],
    ]);
  });

  it('tells of a conflict, and of a message that is of no use', async () => {
    gate.loseAnswers();
    const conflict = inbox.accept(proven({ cameraName: 'other' }, { messageId: 'first' }));
    const { envelope: _envelope, ...record } = proven();
    const stale = inbox.accept({ ...record, kind: 'stale', reason: 'too-old', messageId: 'old' });
    await isStored('old');
    gate.end();
    assert.deepEqual([(await conflict).outcome, (await stale).outcome], ['conflict', 'new']);
  });

  slowIt('leaves an event that no flow had unmarked where it is not sent again in time', async () => {
    gate.loseAnswers();
    const message = proven({}, { messageId: 'one' });
    const accepting = assert.rejects(inbox.accept(message), { code: 'STORE_FAILED' });
    await isStored('one');
    gate.cut();
    gate.end();
    await accepting;
    gate.mend();
    await eventually(() => taker.ids.length > 0, 'the event');
    assert.equal((await inbox.accept(message)).outcome, 'repeat');
    assert.deepEqual(marks(), [[1, undefined]]);
  });
});
