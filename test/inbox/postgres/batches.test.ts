import assert from 'node:assert/strict';
import type { Accepted, NewMessage } from '../../../lib/inbox/store/port';
import * as stores from '../../support/postgres/stores';
import { accept, ENDPOINT, finish, idsOf, incoming, type StoreSession } from '../../support/postgres/stores';

describe('calls of one batch', () => {
  const postgres = stores.PostgresStand.shared();
  let store: StoreSession;
  beforeEach(async () => (store = await postgres.session()));

  const leasedOf = (accepted: readonly Accepted[]): boolean[] => accepted.map(({ leased }) => leased);

  it('accept messages that count for their alarm where they are events', async () => {
    const known = incoming();
    await store.accept([known]);
    const [, , event] = await store.accept([
      { ...known, fingerprint: 'b'.repeat(64), alarm: 'alarm', isEnd: true },
      incoming({ alarm: 'alarm', state: 'dead', isEnd: true }),
      incoming({ alarm: 'alarm' }),
    ]);
    assert.deepEqual([event?.first, event?.ended], [true, false]);
  });

  it('keep the bytes of messages, whatever they are', async () => {
    const odd = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
    const bodies = [odd, Buffer.alloc(0)];
    await store.accept(bodies.map((bytes) => incoming({ bytes })));
    const leased = await stores.lease(store, 2);
    assert.deepEqual(
      leased.map(({ bytes = [] }) => Buffer.from(bytes)),
      bodies,
    );
  });

  it('lease messages at once where none waits before them, also in their batch', async () => {
    const accepted = await store.accept([incoming(), incoming()], 'any');
    assert.deepEqual(leasedOf(accepted), [true, true]);
    assert.deepEqual(new Set(await store.call('leased', ENDPOINT)), new Set(idsOf(accepted)));
    const [waiting, behind] = await store.batch(
      ['accept', { message: incoming(), lease: 'no' }],
      ['accept', { message: incoming(), lease: 'any' }],
    );
    const later = await accept(store, {}, 'any');
    const elsewhere = await accept(store, { endpoint: ':/elsewhere' }, 'any');
    assert.deepEqual(leasedOf([waiting, behind, later, elsewhere]), [false, false, false, true]);
  });

  it('lease no message before the open events of its alarm are settled, where the order counts', async () => {
    const messages = ['a', 'b', 'a'].map((alarm) => incoming({ alarm }));
    const accepted = await store.accept(messages, 'ordered');
    assert.deepEqual(leasedOf(accepted), [true, true, false]);
    await finish(store, accepted[2]?.deliveryId ?? '');
    assert.equal((await accept(store, { alarm: 'b' }, 'ordered')).leased, false);
  });

  it('lease nothing for an instance whose epoch others have ended', async () => {
    await postgres.sql(`DELETE FROM ${postgres.table('instance')}`);
    const { outcome, leased } = await accept(store, {}, 'any');
    assert.deepEqual([outcome, leased], ['new', false]);
    assert.deepEqual(await stores.lease(store), []);
  });

  const tooLong = Array.from({ length: 5000 }, (_, index) => index.toString(36)).join('/');
  const UNFIT: [string, Partial<NewMessage>][] = [
    ['the time of its receipt is none', { received: Number.NaN }],
    ['the time of its receipt is too large', { rank: 1, received: 2 ** 80 }],
    ['its endpoint is longer than an index takes', { endpoint: tooLong }],
  ];
  for (const [why, changes] of UNFIT)
    it(`are kept out by no message that cannot be stored, for ${why}`, async () => {
      const messages = [incoming(), incoming(changes), incoming()];
      const replies = await store.replies(
        ...messages.map((message) => ['accept', { message, lease: 'no' }] as const),
      );
      assert.deepEqual(
        replies.map(({ error }) => error === undefined),
        [true, false, true],
      );
      assert.equal((await store.call('list', { state: 'all', limit: 10 })).length, 2);
    });

  it('of one event take effect in the order in which they were made', async () => {
    const { deliveryId } = await accept(store, {}, 'any');
    const settled = { deliveryId, state: 'delivered', give: false } as const;
    const given = await store.batch(
      ['lapse', { deliveryId, again: 'retry', maxAttempts: 12 }],
      ['again', deliveryId],
      ['finish', settled],
      ['finish', settled],
      ['again', deliveryId],
    );
    assert.deepEqual(given, [
      { dead: false, counted: 1 },
      2,
      { was: 'leased', endpoint: ENDPOINT },
      { was: 'delivered', endpoint: ENDPOINT },
      undefined,
    ]);
  });

  it('are told of their own fault alone, where another of them was at fault before', async () => {
    await postgres.stranger(`LOCK TABLE ${postgres.table('wish')}`);
    await store.session.client.query('SET lock_timeout TO 200');
    const replies = await store.replies(
      ['accept', { message: incoming({ received: 2 ** 80 }), lease: 'any' }],
      ['accept', { message: incoming(), lease: 'any' }],
      ['ping', undefined],
    );
    assert.deepEqual(
      replies.map(({ error }) => error === undefined),
      [false, true, false],
    );
  });

  it('give an event that ends as it was before', async () => {
    const { deliveryId } = await accept(store, {}, 'any');
    const finished = await store.call('finish', { deliveryId, state: 'dead', give: true });
    assert.equal(finished?.message?.state, 'leased');
    assert.deepEqual(Buffer.from(finished.message.bytes ?? []), incoming().bytes);
  });

  it('lease what the same batch has accepted', async () => {
    const [, events] = await store.batch(
      ['accept', { message: incoming(), lease: 'no' }],
      ['lease', { endpoint: ENDPOINT, limit: 5, health: 5, ordered: true }],
    );
    assert.equal(events.length, 1);
  });

  it('lease as many as were asked for, of class health no more than may be', async () => {
    for (const rank of [1, 0, 1, 0, 1, 0, 1, 0] as const) await accept(store, { rank });
    const limits = { endpoint: ENDPOINT, limit: 6, health: 1, ordered: true };
    assert.deepEqual(
      (await store.call('lease', limits)).map(({ rank }) => rank),
      [0, 0, 0, 0, 1],
    );
    assert.equal((await stores.lease(store, 2)).length, 2);
    assert.equal((await stores.lease(store, 2)).length, 1);
  });

  it('list bodies as far as there is room for them', async () => {
    const bytes = Buffer.alloc(17 * 1024 * 1024, 'x');
    for (const received of [1, 2, 3]) await accept(store, { received, bytes });
    const listed = await store.call('list', { state: 'open', limit: 5 });
    assert.deepEqual(
      listed.map(({ received, bytes: read, isIncomplete }) => [received, read?.byteLength, isIncomplete]),
      [
        [3, bytes.byteLength, undefined],
        [2, bytes.byteLength, undefined],
        [1, undefined, undefined],
      ],
    );
  });

  it('know nothing of an id that is none', async () => {
    for (const id of ['', 'nonsense', "'", '\0', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11']) {
      assert.equal(await store.call('stateOf', id), undefined);
      assert.equal(await finish(store, id, 'dead'), undefined);
      assert.equal(await store.call('dismiss', { deliveryId: id }), false);
    }
  });

  it('give one key to all that ask at once', async () => {
    const all = [store, await postgres.session(), await postgres.session()];
    const keys = await Promise.all(all.map((each) => each.call('viewKey', undefined)));
    assert.equal(keys[0]?.byteLength, 32);
    assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 1);
    assert.notDeepEqual(await store.call('quarantineKey', undefined), keys[0]);
  });
});
