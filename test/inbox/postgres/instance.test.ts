import assert from 'node:assert/strict';
import { ClusterMember } from '../../../lib/inbox/postgres/instance/instance';
import { InstanceTable } from '../../../lib/inbox/postgres/instance/instance-table';
import { migrate } from '../../../lib/inbox/postgres/schema';
import type { Session } from '../../../lib/inbox/postgres/session';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, connected, incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const BEAT = 2500;
const FENCED_AFTER = 8000;
const TTL = 10_000;

/** An instance whose clocks go on only when they are told to, and which beats when it is told to. */
class Played {
  readonly instance: ClusterMember;
  readonly told: string[] = [];
  #now = { steady: 1_000_000, wall: 2_000_000 };

  constructor(
    readonly session: Session,
    schema: string,
    name: string,
  ) {
    this.instance = new ClusterMember({
      table: new InstanceTable(schema),
      name,
      clocks: { steady: () => this.#now.steady, wall: () => this.#now.wall },
      news: {
        onEpochLost: (stood) => this.told.push(`lost after ${stood}`),
        onMayHandOver: () => this.told.push('may hand over'),
        onTakenOver: (other, count) => this.told.push(`${count} of ${other}`),
      },
    });
  }

  beat(): Promise<void> {
    return this.instance.beat(this.session);
  }

  /** Time goes by without a beat. */
  stand(ms: number, clock: 'both' | 'wall' = 'both'): void {
    this.#now.wall += ms;
    if (clock === 'both') this.#now.steady += ms;
  }

  /** So much time goes by with a beat every 2.5 s, and at its end. */
  async live(ms: number): Promise<void> {
    for (let gone = 0; gone < ms; gone += BEAT) {
      this.stand(BEAT);
      await this.beat();
      await this.instance.look(this.session);
    }
  }
}

describe('an instance among those that share an inbox', () => {
  let server: SharedServer;
  let schema: string;
  const sessions: Session[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(sessions.splice(0).map(({ client }) => client.end()));
  });

  async function played(name: string): Promise<Played> {
    const session = await connected(server.url());
    sessions.push(session);
    await migrate(session, schema);
    const instance = new Played(session, schema, name);
    await instance.beat();
    return instance;
  }

  /** Those of the table, by name. */
  async function rows(): Promise<unknown[]> {
    const found = await server.sql(`SELECT name FROM "${schema}".instance ORDER BY name`);
    return found.map(({ name }) => name);
  }

  /** As if the database had seen its last beat so long ago. */
  async function age(epoch: string, ms: number): Promise<void> {
    await server.sql(
      `UPDATE "${schema}".instance SET beat = beat - interval '${ms} milliseconds' WHERE epoch = '${epoch}'`,
    );
  }

  /** Events that it leases; the store session acts under its epoch. */
  async function lease(epoch: string, ...names: string[]): Promise<StoreSession> {
    const store = await StoreSession.open(server.url(), { schema, epoch });
    sessions.push(store.session);
    for (const id of names) await store.call('accept', { message: incoming({ id }), lease: 'any' });
    return store;
  }

  async function work(): Promise<Record<string, unknown>[]> {
    return server.sql(
      `SELECT message.id, work.state, work.attempt, work.cut_off, work.again, work.at_flow, work.holder
        FROM "${schema}".work JOIN "${schema}".message USING (sequence) ORDER BY message.id`,
    );
  }

  it('may hand over from its first answered beat on', async () => {
    const { instance, told } = await played('one');
    assert.ok(instance.mayHandOver());
    assert.deepEqual(told, ['may hand over']);
    assert.deepEqual(await rows(), ['one']);
  });

  it('hands nothing over eight seconds after its last answered beat, until the next', async () => {
    const one = await played('one');
    one.stand(FENCED_AFTER - 1);
    assert.ok(one.instance.mayHandOver());
    one.stand(1);
    assert.ok(!one.instance.mayHandOver());
    await one.beat();
    assert.ok(one.instance.mayHandOver());
    assert.deepEqual(one.told, ['may hand over', 'may hand over']);
  });

  it('counts these seconds from the moment in which it sent the beat', async () => {
    const one = await played('one');
    const beat = one.beat();
    one.stand(FENCED_AFTER);
    await beat;
    assert.ok(!one.instance.mayHandOver());
  });

  it('hands nothing over after the machine has slept, though the steady clock stood still', async () => {
    const one = await played('one');
    one.stand(FENCED_AFTER, 'wall');
    assert.ok(!one.instance.mayHandOver());
    await one.beat();
    assert.ok(one.instance.mayHandOver());
  });

  it('takes over what another one had leased, once that has not beaten for ten seconds', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await lease(other.instance.epoch, 'a', 'b');
    await one.live(BEAT);
    await age(other.instance.epoch, TTL + 1000);
    await one.live(TTL - BEAT);
    assert.deepEqual(await rows(), ['one', 'other']);
    await one.live(BEAT);
    assert.deepEqual(await rows(), ['one']);
    assert.deepEqual(one.told, ['may hand over', '2 of other']);
    const waits = {
      state: 'received',
      attempt: 1,
      cut_off: 1,
      again: 'restart',
      at_flow: false,
      holder: null,
    };
    assert.deepEqual(await work(), [
      { id: 'a', ...waits },
      { id: 'b', ...waits },
    ]);
  });

  it('waits for no lock when it takes over, so that it can go on beating', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await one.live(BEAT);
    await age(other.instance.epoch, TTL + 1000);
    await one.live(TTL - BEAT);
    const session = await connected(server.url());
    sessions.push(session);
    await session.client.query(
      `BEGIN; SELECT 1 FROM "${schema}".instance WHERE name = 'other' FOR KEY SHARE`,
    );
    await assert.rejects(one.live(BEAT), { code: '55P03' });
    await session.client.query('COMMIT');
    await one.live(BEAT);
    assert.deepEqual(await rows(), ['one']);
  });

  it('counts no attempt as cut off where the lease had ended, and the event was to come again', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await lease(other.instance.epoch, 'a');
    await server.sql(`UPDATE "${schema}".work SET at_flow = false, again = 'retry'`);
    await one.live(BEAT);
    await age(other.instance.epoch, TTL + 1000);
    await one.live(TTL);
    assert.deepEqual(await work(), [
      { id: 'a', state: 'received', attempt: 1, cut_off: 0, again: 'retry', at_flow: false, holder: null },
    ]);
  });

  it('takes over what another one had leased also after the clock of the database was set back', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await one.live(BEAT);
    await age(other.instance.epoch, -3_600_000);
    await one.live(TTL);
    assert.deepEqual(await rows(), ['one']);
  });

  it('goes on beating while it cannot take over what somebody has locked', async () => {
    const one = await played('one');
    const other = await played('other');
    await lease(other.instance.epoch, 'a');
    await age(other.instance.epoch, TTL + 1);
    const locking = await connected(server.url());
    sessions.push(locking);
    await locking.client.query(`BEGIN; SELECT FROM "${schema}".work FOR UPDATE`);
    await assert.rejects(one.live(TTL + BEAT), { code: '55P03' });
    assert.equal(one.instance.mayHandOver(), true);
    await locking.client.query('COMMIT');
    await one.live(BEAT);
    assert.deepEqual(one.told.at(-1), '1 of other');
  });

  it('takes over nothing of one that beats, however old that beat is by the clock of the database', async () => {
    const [one, other] = [await played('one'), await played('other')];
    for (let beats = 0; beats < 8; beats += 1) {
      await one.live(BEAT);
      await other.live(BEAT);
      await age(other.instance.epoch, 3_600_000);
    }
    assert.deepEqual(await rows(), ['one', 'other']);
  });

  it('takes over nothing of one that the database has just seen beat, however long that seems here', async () => {
    const [one] = [await played('one'), await played('other')];
    await one.live(60_000);
    assert.deepEqual(await rows(), ['one', 'other']);
  });

  it('takes over nothing after an outage in which it could not beat itself', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await one.live(TTL - BEAT);
    await age(other.instance.epoch, 60_000);
    one.stand(60_000);
    await one.live(TTL);
    assert.deepEqual(await rows(), ['one', 'other']);
    await one.live(BEAT);
    assert.deepEqual(await rows(), ['one']);
  });

  it('begins a new epoch, and says so, where others took it for dead', async () => {
    const [one, other] = [await played('one'), await played('other')];
    const { epoch } = other.instance;
    await one.live(BEAT);
    await age(epoch, TTL + 1000);
    await one.live(TTL);
    other.stand(15_000);
    await other.beat();
    assert.notEqual(other.instance.epoch, epoch);
    assert.deepEqual(other.told, ['may hand over', 'lost after 15000', 'may hand over']);
    assert.deepEqual(await rows(), ['one', 'other']);
  });

  it('hands nothing over between the loss of its epoch and the beginning of the new one', async () => {
    const one = await played('one');
    await server.sql(`DELETE FROM "${schema}".instance`);
    const told: boolean[] = [];
    const push = one.told.push.bind(one.told);
    one.told.push = (...lines) => {
      if (lines[0]?.startsWith('lost') === true) told.push(one.instance.mayHandOver());
      return push(...lines);
    };
    await one.beat();
    assert.deepEqual(told, [false]);
    assert.ok(one.instance.mayHandOver());
  });

  it('lets what a dead one leased late wait again at the next beat', async () => {
    const [one, other] = [await played('one'), await played('other')];
    await lease(other.instance.epoch, 'a');
    await server.sql(`DELETE FROM "${schema}".instance WHERE name = 'other'`);
    await one.live(BEAT);
    const states = (await work()).map(({ state }) => state);
    assert.deepEqual(states, ['received']);
  });

  it('is known by the epoch that it began with, though the answer to that was lost', async () => {
    const one = await played('one');
    const table = new InstanceTable(schema);
    await table.begin(one.session, one.instance.epoch, { name: 'one', ttl: TTL });
    assert.deepEqual(await rows(), ['one']);
  });

  it('shows itself no more once it has ended', async () => {
    const one = await played('one');
    one.instance.end();
    await server.sql(`DELETE FROM "${schema}".instance`);
    await one.beat();
    assert.deepEqual(await rows(), []);
    assert.deepEqual(one.told, ['may hand over']);
  });
});
