import assert from 'node:assert/strict';
import { ClusterMember } from '../../../lib/inbox/postgres/instances';
import { migrate } from '../../../lib/inbox/postgres/schema';
import type { Session } from '../../../lib/inbox/postgres/session';
import { accept, PostgresStand } from '../../support/postgres/stores';

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
    const news: ConstructorParameters<typeof ClusterMember>[2] = {
      onEpochLost: () => undefined,
      onLeaseSafe: () => this.told.push('may hand over'),
      onWarning: (warning) => {
        if (warning.kind === 'epoch-lost') this.told.push(`lost after ${warning.stood}`);
        if (warning.kind === 'taken-over') this.told.push(`${warning.count} of ${warning.name}`);
      },
    };
    const clocks = { monotonic: () => this.#now.steady, wall: () => this.#now.wall };
    this.instance = new ClusterMember(schema, name, news, clocks);
  }

  get isLeaseSafe(): boolean {
    return this.instance.isLeaseSafe();
  }

  beat(): Promise<void> {
    return this.instance.beat(this.session);
  }

  /** Time goes by without a beat. */
  stand(ms: number, clock: 'both' | 'wall' = 'both'): void {
    this.#now.wall += ms;
    if (clock === 'both') this.#now.steady += ms;
  }

  /** So much time goes by with a beat every 2.5 s, and at its end. @param late milliseconds until a look is answered */
  async live(ms: number, late = 0): Promise<void> {
    for (let gone = 0; gone < ms; gone += BEAT) {
      this.stand(BEAT - late);
      await this.beat();
      const looking = this.instance.look(this.session);
      this.stand(late);
      await looking;
    }
  }
}

describe('an instance among those that share an inbox', () => {
  const postgres = PostgresStand.shared();
  let one: Played;
  let other: Played;
  beforeEach(async () => (one = await played('one')));

  async function played(name: string): Promise<Played> {
    const session = await postgres.connection();
    await migrate(session, postgres.schema);
    const instance = new Played(session, postgres.schema, name);
    await instance.beat();
    return instance;
  }

  async function assertThere(...names: string[]): Promise<void> {
    const found = await postgres.sql(`SELECT name FROM ${postgres.table('instance')} ORDER BY name`);
    assert.deepEqual(
      found.map(({ name }) => name),
      names,
    );
  }

  /** As if the database had seen the last beat of the other so long ago. */
  async function age(ms: number): Promise<void> {
    await postgres.sql(
      `UPDATE ${postgres.table('instance')} SET beat = beat - interval '${ms} milliseconds' WHERE name = 'other'`,
    );
  }

  /** Events that the other leases. */
  async function lease(...names: string[]): Promise<void> {
    const store = await postgres.session({ epoch: other.instance.epoch });
    for (const id of names) await accept(store, { id }, 'any');
  }

  const work = (): Promise<Record<string, unknown>[]> =>
    postgres.sql(
      `SELECT message.id, work.state, work.attempt, work.cut_off, work.again, work.at_flow, work.holder
        FROM ${postgres.table('work')} JOIN ${postgres.table('message')} USING (sequence) ORDER BY message.id`,
    );
  /** What waits as if no instance had ever had it. */
  const waits = { state: 'received', attempt: 1, at_flow: false, holder: null };

  it('may hand over from its first answered beat on', async () => {
    assert.ok(one.isLeaseSafe);
    assert.deepEqual(one.told, ['may hand over']);
    await assertThere('one');
  });

  it('hands nothing over eight seconds after its last answered beat, until the next', async () => {
    one.stand(FENCED_AFTER - 1);
    assert.ok(one.isLeaseSafe);
    one.stand(1);
    assert.ok(!one.isLeaseSafe);
    await one.beat();
    assert.ok(one.isLeaseSafe);
    assert.deepEqual(one.told, ['may hand over', 'may hand over']);
  });

  it('counts these seconds from the moment in which it sent the beat', async () => {
    const beat = one.beat();
    one.stand(FENCED_AFTER);
    await beat;
    assert.ok(!one.isLeaseSafe);
  });

  it('hands nothing over after the machine has slept, though the steady clock stood still', async () => {
    one.stand(FENCED_AFTER, 'wall');
    assert.ok(!one.isLeaseSafe);
    await one.beat();
    assert.ok(one.isLeaseSafe);
  });

  it('hands nothing over between the loss of its epoch and the beginning of the new one', async () => {
    await postgres.sql(`DELETE FROM ${postgres.table('instance')}`);
    const told: boolean[] = [];
    const push = one.told.push.bind(one.told);
    one.told.push = (...lines) => {
      if (lines[0]?.startsWith('lost') === true) told.push(one.isLeaseSafe);
      return push(...lines);
    };
    await one.beat();
    assert.deepEqual(told, [false]);
    assert.ok(one.isLeaseSafe);
  });

  it('is known by the epoch that it began with, though the answer to that was lost', async () => {
    const session = await postgres.connection();
    const late = new Played(session, postgres.schema, 'late');
    const transaction = session.transaction.bind(session);
    session.transaction = async (questions) => {
      await transaction(questions);
      throw new Error('the answer is lost');
    };
    await assert.rejects(late.beat(), /lost/);
    session.transaction = transaction;
    const { epoch } = late.instance;
    await late.beat();
    await assertThere('late', 'one');
    assert.equal(late.instance.epoch, epoch);
    assert.ok(late.isLeaseSafe);
  });

  it('shows itself no more once it has ended', async () => {
    one.instance.end();
    await postgres.sql(`DELETE FROM ${postgres.table('instance')}`);
    await one.beat();
    await assertThere();
    assert.deepEqual(one.told, ['may hand over']);
  });

  describe('beside another one', () => {
    beforeEach(async () => (other = await played('other')));

    it('takes over what that had leased, once it has not beaten for ten seconds', async () => {
      await lease('a', 'b');
      await one.live(BEAT);
      await age(TTL + 1000);
      await one.live(TTL - BEAT);
      await assertThere('one', 'other');
      await one.live(BEAT);
      await assertThere('one');
      assert.deepEqual(one.told, ['may hand over', '2 of other']);
      const cutOff = { ...waits, cut_off: 1, again: 'restart' };
      assert.deepEqual(await work(), [
        { id: 'a', ...cutOff },
        { id: 'b', ...cutOff },
      ]);
    });

    it('counts these seconds from the answer that showed its last beat to the last question', async () => {
      await age(60_000);
      await one.live(TTL + BEAT, 2000);
      await assertThere('one', 'other');
      await one.live(BEAT, 2000);
      await assertThere('one');
    });

    it('counts them anew where it was gone meanwhile', async () => {
      await age(60_000);
      await one.live(TTL - BEAT);
      await postgres.sql(`CREATE TABLE ${postgres.table('gone')} AS SELECT * FROM ${postgres.table('instance')};
        DELETE FROM ${postgres.table('instance')} WHERE name = 'other'`);
      await one.live(BEAT);
      await postgres.sql(
        `INSERT INTO ${postgres.table('instance')} SELECT * FROM ${postgres.table('gone')} WHERE name = 'other'`,
      );
      await one.live(TTL);
      await assertThere('one', 'other');
    });

    it('counts no attempt as cut off where the lease had ended, and the event was to come again', async () => {
      await lease('a');
      await postgres.sql(`UPDATE ${postgres.table('work')} SET at_flow = false, again = 'retry'`);
      await one.live(BEAT);
      await age(TTL + 1000);
      await one.live(TTL);
      assert.deepEqual(await work(), [{ id: 'a', ...waits, cut_off: 0, again: 'retry' }]);
    });

    it('takes over what that had leased also after the clock of the database was set back', async () => {
      await one.live(BEAT);
      await age(-3_600_000);
      await one.live(TTL);
      await assertThere('one');
    });

    for (const [what, lock] of [
      ['an event of it', () => `SELECT FROM ${postgres.table('work')} FOR UPDATE`],
      ['its row', () => `SELECT FROM ${postgres.table('instance')} WHERE name = 'other' FOR KEY SHARE`],
    ] as const)
      it(`waits for no lock of ${what} when it takes over, so that it can go on beating`, async () => {
        await lease('a');
        await age(TTL + 1);
        const unlock = await postgres.stranger(lock());
        await assert.rejects(one.live(TTL + BEAT), { code: '55P03' });
        assert.equal(one.isLeaseSafe, true);
        await unlock();
        await one.live(BEAT);
        assert.equal(one.told.at(-1), '1 of other');
        await assertThere('one');
      });

    it('takes over nothing of one that beats, however old that beat is by the clock of the database', async () => {
      for (let beats = 0; beats < 8; beats += 1) {
        await one.live(BEAT);
        await other.live(BEAT);
        await age(3_600_000);
      }
      await assertThere('one', 'other');
    });

    it('takes over nothing of one that the database has just seen beat, however long that seems here', async () => {
      await one.live(60_000);
      await assertThere('one', 'other');
    });

    it('takes over nothing after an outage in which it could not beat itself', async () => {
      await one.live(TTL - BEAT);
      await age(60_000);
      one.stand(60_000);
      await one.live(TTL);
      await assertThere('one', 'other');
      await one.live(BEAT);
      await assertThere('one');
    });

    it('lets that begin a new epoch, and say so, where it took it for dead', async () => {
      const { epoch } = other.instance;
      await one.live(BEAT);
      await age(TTL + 1000);
      await one.live(TTL);
      other.stand(15_000);
      await other.beat();
      assert.notEqual(other.instance.epoch, epoch);
      assert.deepEqual(other.told, ['may hand over', 'lost after 15000', 'may hand over']);
      await assertThere('one', 'other');
    });

    it('lets what a dead one leased late wait again at the next beat', async () => {
      await lease('a');
      await postgres.sql(`DELETE FROM ${postgres.table('instance')} WHERE name = 'other'`);
      await one.live(BEAT);
      assert.deepEqual(
        (await work()).map(({ state }) => state),
        ['received'],
      );
    });
  });
});
