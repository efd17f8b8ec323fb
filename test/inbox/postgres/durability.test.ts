import assert from 'node:assert/strict';
import type { NewMessage } from '../../../lib/inbox/store/port';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { accept, ENDPOINT, finish, incoming, newSchema, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

/** How a backend is disturbed that waits for the standby. */
type Disturbance = 'pg_cancel_backend' | 'pg_terminate_backend';

describe('with a synchronous standby that is away', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let one: StoreSession;
  let other: StoreSession;

  before(async function () {
    needs(this, 'postgres', 'pg_basebackup');
    primary = await PostgresServer.start({ settings: { synchronous_standby_names: "'standby'" } });
    standby = await PostgresServer.start({ standbyOf: { primary, name: 'standby' } });
  });
  after(async () => {
    await standby?.remove();
    await primary?.remove();
  });
  beforeEach(async () => {
    const schema = newSchema();
    one = await StoreSession.open(primary.url(), { schema });
    other = await StoreSession.open(primary.url(), { schema });
    // One that is ended says so.
    one.session.client.on('error', () => undefined);
    await standby.end('fast');
  });
  afterEach(async () => {
    await standby.run();
    await Promise.all([one.close(), other.close()]);
  });

  async function pidOf({ session }: StoreSession): Promise<number> {
    const { rows } = await session.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return rows[0]?.pid ?? 0;
  }

  async function waitsForStandby(pid: number): Promise<void> {
    const waits = async (): Promise<boolean> => {
      const rows = await primary.sql(`SELECT wait_event FROM pg_stat_activity WHERE pid = ${pid}`);
      return rows[0]?.['wait_event'] === 'SyncRep';
    };
    await eventually(waits, 'the wait for the standby');
  }

  /** An acceptance of `one` that is on the disk of the primary alone. @returns its error */
  async function disturbed(message: NewMessage, disturbance: Disturbance): Promise<unknown> {
    const pid = await pidOf(one);
    const failure = accept(one, message).then(
      () => undefined,
      (error: unknown) => error,
    );
    await waitsForStandby(pid);
    await primary.sql(`SELECT ${disturbance}(${pid})`);
    return failure;
  }

  /** What is asked of one is answered once the standby is back, and not before. @returns the answer */
  async function answeredWithStandby<Answer>(
    store: StoreSession,
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const pid = await pidOf(store);
    const asked = ask();
    await Promise.race([asked, waitsForStandby(pid)]);
    const not = Symbol('not');
    assert.equal(await Promise.race([asked, Promise.resolve(not)]), not);
    await standby.run();
    const answer = await asked;
    await standby.end('fast');
    return answer;
  }

  for (const [how, statement] of [
    ['although the database answers it', 'SELECT 1'],
    ['also where the role has it that it is not told of warnings', 'SET client_min_messages TO error'],
  ] as const)
    it(`an acceptance whose wait is cancelled has failed, ${how}`, async () => {
      await one.session.client.query(statement);
      const failure = await disturbed(incoming(), 'pg_cancel_backend');
      assert.match(String(failure), /the database warns/);
    });

  it('an acceptance waits where the server is told, while it runs, to wait for no disk', async () => {
    await one.session.client.query('SET synchronous_commit TO off');
    await answeredWithStandby(one, () => accept(one));
  });

  for (const disturbance of ['pg_cancel_backend', 'pg_terminate_backend'] as const) {
    it(`a repeat of what the primary alone has waits for it, too, after ${disturbance}`, async () => {
      const message = incoming();
      assert.notEqual(await disturbed(message, disturbance), undefined);
      const { outcome } = await answeredWithStandby(other, () => accept(other, message));
      assert.equal(outcome, 'repeat');
    });
  }

  it('a settlement that was said before, and is on the disk of the primary alone, waits for it, too', async () => {
    await standby.run();
    const { deliveryId } = await accept(one);
    await standby.end('fast');
    const former = await pidOf(one);
    const failure = assert.rejects(finish(one, deliveryId));
    await waitsForStandby(former);
    await primary.sql(`SELECT pg_terminate_backend(${former})`);
    await failure;
    const again = await answeredWithStandby(other, () => finish(other, deliveryId));
    assert.deepEqual(again, { was: 'delivered', endpoint: ENDPOINT });
  });

  it('a ping waits as an acceptance would', () =>
    answeredWithStandby(other, () => other.call('ping', undefined)));
});
