import assert from 'node:assert/strict';
import type { Accepted, NewMessage } from '../../../lib/inbox/store/protocol';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { newSchema, incoming, StoreSession } from '../../support/postgres/stores';
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

  function accept(store: StoreSession, message: NewMessage): Promise<Accepted> {
    return store.call('accept', { message, lease: 'no' });
  }

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

  async function isAnswered(asked: Promise<unknown>): Promise<boolean> {
    const not = Symbol('not');
    return (await Promise.race([asked, Promise.resolve(not)])) !== not;
  }

  it('an acceptance whose wait is cancelled has failed, although the database answers it', async () => {
    const failure = await disturbed(incoming(), 'pg_cancel_backend');
    assert.match(String(failure), /the database warns/);
  });

  it('also where the role has it that it is not told of warnings', async () => {
    await one.session.client.query('SET client_min_messages TO error');
    const failure = await disturbed(incoming(), 'pg_cancel_backend');
    assert.match(String(failure), /the database warns/);
  });

  it('an acceptance waits where the server is told, while it runs, to wait for no disk', async () => {
    const pid = await pidOf(one);
    await one.session.client.query('SET synchronous_commit TO off');
    const accepted = accept(one, incoming());
    await waitsForStandby(pid);
    assert.equal(await isAnswered(accepted), false);
    await standby.run();
    await accepted;
    await standby.end('fast');
  });

  for (const disturbance of ['pg_cancel_backend', 'pg_terminate_backend'] as const) {
    it(`a repeat of what the primary alone has waits for it, too, after ${disturbance}`, async () => {
      const message = incoming();
      assert.notEqual(await disturbed(message, disturbance), undefined);
      const pid = await pidOf(other);
      const repeated = accept(other, message);
      await waitsForStandby(pid);
      assert.equal(await isAnswered(repeated), false);
      await standby.run();
      assert.equal((await repeated).outcome, 'repeat');
      await standby.end('fast');
    });
  }

  it('a settlement that was said before, and is on the disk of the primary alone, waits for it, too', async () => {
    await standby.run();
    const { deliveryId } = await accept(one, incoming());
    await standby.end('fast');
    const settled = { deliveryId, state: 'delivered', give: false } as const;
    const former = await pidOf(one);
    const failure = assert.rejects(one.call('finish', settled));
    await waitsForStandby(former);
    await primary.sql(`SELECT pg_terminate_backend(${former})`);
    await failure;
    const pid = await pidOf(other);
    const again = other.call('finish', settled);
    await Promise.race([again, waitsForStandby(pid)]);
    assert.equal(await isAnswered(again), false);
    await standby.run();
    assert.deepEqual(await again, { was: 'delivered', endpoint: incoming().endpoint });
    await standby.end('fast');
  });

  it('a ping waits as an acceptance would', async () => {
    const pid = await pidOf(other);
    const pinged = other.call('ping', undefined);
    await waitsForStandby(pid);
    assert.equal(await isAnswered(pinged), false);
    await standby.run();
    await pinged;
    await standby.end('fast');
  });
});
