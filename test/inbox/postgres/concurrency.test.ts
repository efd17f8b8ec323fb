import assert from 'node:assert/strict';
import type { Accepted, LeasedMessage, NewMessage } from '../../../lib/inbox/store/port';
import { finish, incoming, lease, PostgresStand, type StoreSession } from '../../support/postgres/stores';

const ALARMS = 20;
const BATCH = 25;

interface Taken {
  message: NewMessage;
  accepted: Accepted;
}

describe('sessions at the same time', () => {
  const postgres = PostgresStand.shared();
  let stores: StoreSession[];
  beforeEach(async () => {
    stores = [await postgres.session(), await postgres.session(), await postgres.session()];
  });

  async function acceptAll(store: StoreSession, messages: readonly NewMessage[]): Promise<Taken[]> {
    const taken: Taken[] = [];
    for (let from = 0; from < messages.length; from += BATCH) {
      const batch = messages.slice(from, from + BATCH);
      const given = await store.accept(batch);
      taken.push(...given.map((accepted, index) => ({ message: batch[index] ?? incoming(), accepted })));
    }
    return taken;
  }

  it('accept the same messages as if one after the other', async () => {
    const originals = Array.from({ length: 300 }, (_, index) =>
      incoming({ alarm: `alarm ${index % ALARMS}`, isEnd: index % 7 === 0 }),
    );
    const others = originals.slice(0, 100).map((message) => ({ ...message, fingerprint: 'b'.repeat(64) }));
    const all = await Promise.all(
      stores.map((store, index) => acceptAll(store, shuffled([...originals, ...others], index + 1))),
    );
    const taken = all.flat();
    const count = (wanted: string): number =>
      taken.filter(({ accepted: { outcome } }) => outcome === wanted).length;
    assert.deepEqual([count('new'), count('conflict'), count('repeat')], [300, 100, 800]);
    assert.equal(new Set(taken.map(({ accepted }) => accepted.deliveryId)).size, 400);
    assertPhases(taken.filter(({ accepted }) => accepted.outcome === 'new'));
  });

  it('lease each event once, and of an alarm none before an older one is settled', async () => {
    const [first] = stores;
    const messages = Array.from({ length: 200 }, (_, index) =>
      incoming({ alarm: `alarm ${index % ALARMS}` }),
    );
    if (first !== undefined) await acceptAll(first, messages);
    const open = new Set<string>();
    const leased: number[] = [];
    const work = async (store: StoreSession): Promise<void> => {
      for (;;) {
        const events = await lease(store, 7, true);
        if (events.length === 0 && leased.length === messages.length) return;
        for (const event of events) begin(event);
        for (const event of events) await end(store, event);
      }
    };
    const alarmOf = ({ id }: LeasedMessage): string => messages.find((one) => one.id === id)?.alarm ?? '';
    const begin = (event: LeasedMessage): void => {
      assert.equal(open.has(alarmOf(event)), false, 'two events of an alarm at once');
      open.add(alarmOf(event));
      leased.push(Number(event.sequence));
    };
    const end = async (store: StoreSession, event: LeasedMessage): Promise<void> => {
      open.delete(alarmOf(event));
      await finish(store, event.deliveryId);
    };
    await Promise.all(stores.map(work));
    assert.equal(new Set(leased).size, messages.length);
  });
});

/** Of each alarm, the first alone is the first, and those behind an end are behind it. */
function assertPhases(taken: readonly Taken[]): void {
  const alarms = new Map<string, { count: number; ended: boolean }>();
  const inOrder = taken.toSorted((one, other) => one.accepted.sequence - other.accepted.sequence);
  for (const { message, accepted } of inOrder) {
    const alarm = message.alarm ?? '';
    const { count, ended } = alarms.get(alarm) ?? { count: 0, ended: false };
    assert.deepEqual([accepted.first, accepted.ended], [count === 0, ended], `${alarm}, event ${count}`);
    alarms.set(alarm, { count: count + 1, ended: ended || message.isEnd });
  }
}

/** The same for the same seed. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647);
  return items
    .map((item) => ({ item, place: next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
