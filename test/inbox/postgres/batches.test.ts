import assert from 'node:assert/strict';
import { Client } from 'pg';
import { tablesOf } from '../../../lib/inbox/postgres/calls/tables';
import type { LeasedMessage } from '../../../lib/inbox/store/protocol';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const ENDPOINT = incoming().endpoint;

describe('calls of one batch', () => {
  let server: SharedServer;
  let store: StoreSession;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => (store = await StoreSession.open(server.url(), { schema: newSchema() })));
  afterEach(() => store.close());

  async function leased(): Promise<string> {
    const { deliveryId } = await store.call('accept', { message: incoming(), lease: 'any' });
    return deliveryId;
  }

  it('of one event take effect in the order in which they were made', async () => {
    const deliveryId = await leased();
    const finish = { deliveryId, state: 'delivered', give: false } as const;
    const given = await store.batch(
      ['lapse', { deliveryId, again: 'retry', maxAttempts: 12 }],
      ['again', deliveryId],
      ['finish', finish],
      ['finish', finish],
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
    const locking = new Client(server.url());
    await locking.connect();
    await locking.query(`BEGIN; LOCK TABLE ${tablesOf(store.schema).wish}`);
    await store.session.client.query('SET lock_timeout TO 200');
    const replies = await store.replies(
      ['accept', { message: incoming({ received: 2 ** 80 }), lease: 'any' }],
      ['accept', { message: incoming(), lease: 'any' }],
      ['ping', undefined],
    );
    await locking.end();
    assert.deepEqual(
      replies.map(({ error }) => error === undefined),
      [false, true, false],
    );
  });

  it('give an event that ends as it was before', async () => {
    const deliveryId = await leased();
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
    for (let made = 0; made < 4; made += 1) {
      await store.call('accept', { message: incoming({ rank: 1 }), lease: 'no' });
      await store.call('accept', { message: incoming(), lease: 'no' });
    }
    const lease = (limit: number, health: number): Promise<LeasedMessage[]> =>
      store.call('lease', { endpoint: ENDPOINT, limit, health, ordered: true });
    assert.deepEqual(
      (await lease(6, 1)).map(({ rank }) => rank),
      [0, 0, 0, 0, 1],
    );
    assert.equal((await lease(2, 2)).length, 2);
    assert.equal((await lease(2, 2)).length, 1);
  });

  it('list bodies as far as there is room for them', async () => {
    const bytes = Buffer.alloc(17 * 1024 * 1024, 'x');
    for (const received of [1, 2, 3])
      await store.call('accept', { message: incoming({ received, bytes }), lease: 'no' });
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
      assert.equal(await store.call('finish', { deliveryId: id, state: 'dead', give: true }), undefined);
      assert.equal(await store.call('dismiss', { deliveryId: id }), false);
    }
  });

  it('give one key to all that ask at once', async () => {
    const others = await Promise.all(
      [1, 2].map(() => StoreSession.open(server.url(), { schema: store.schema })),
    );
    const keys = await Promise.all([store, ...others].map((each) => each.call('viewKey', undefined)));
    for (const each of others) await each.close();
    assert.equal(keys[0]?.byteLength, 32);
    assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 1);
    assert.notDeepEqual(await store.call('quarantineKey', undefined), keys[0]);
  });
});
