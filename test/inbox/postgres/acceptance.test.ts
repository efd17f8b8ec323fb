import assert from 'node:assert/strict';
import { SharedServer } from '../../support/postgres/shared-server';
import { newSchema, incoming, StoreSession } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

const ENDPOINT = incoming().endpoint;

describe('messages that PostgreSQL accepts', () => {
  let server: SharedServer;
  let store: StoreSession;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => (store = await StoreSession.open(server.url(), { schema: newSchema() })));
  afterEach(() => store.close());

  it('come in the order of their batch', async () => {
    const accepted = await store.accept(Array.from({ length: 100 }, () => incoming()));
    const sequences = accepted.map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      sequences.toSorted((one, other) => one - other),
    );
    assert.equal(new Set(accepted.map(({ deliveryId }) => deliveryId)).size, 100);
  });

  it('are repeats and conflicts of what stands before them in their batch', async () => {
    const first = incoming();
    const other = { ...first, fingerprint: 'b'.repeat(64) };
    const [one, repeat, conflict, again] = await store.accept([first, first, other, other]);
    assert.deepEqual(
      [one, repeat, conflict, again].map((each) => each?.outcome),
      ['new', 'repeat', 'conflict', 'repeat'],
    );
    assert.equal(repeat?.deliveryId, one?.deliveryId);
    assert.equal(again?.deliveryId, conflict?.deliveryId);
    assert.equal(await store.call('stateOf', String(conflict?.deliveryId)), 'conflict');
  });

  it('know the first and the end of their alarm, also within a batch', async () => {
    const events = [incoming(), incoming({ isEnd: true }), incoming(), incoming({ alarm: 'other' })];
    const accepted = await store.accept(events.map((message) => ({ alarm: 'alarm', ...message })));
    assert.deepEqual(
      accepted.map(({ first, ended }) => ({ first, ended })),
      [
        { first: true, ended: false },
        { first: false, ended: false },
        { first: false, ended: true },
        { first: true, ended: false },
      ],
    );
    const [late] = await store.accept([incoming({ alarm: 'alarm' })]);
    assert.deepEqual([late?.first, late?.ended], [false, true]);
  });

  it('do not count for their alarm where they are no events', async () => {
    const known = incoming();
    await store.accept([known]);
    const accepted = await store.accept([
      { ...known, fingerprint: 'b'.repeat(64), alarm: 'alarm', isEnd: true },
      incoming({ alarm: 'alarm', state: 'dead', isEnd: true }),
      incoming({ alarm: 'alarm' }),
    ]);
    assert.deepEqual([accepted[2]?.first, accepted[2]?.ended], [true, false]);
  });

  it('are leased at once where none waits before them', async () => {
    const accepted = await store.accept([incoming(), incoming()], 'any');
    assert.deepEqual(
      accepted.map(({ leased }) => leased),
      [true, true],
    );
    assert.deepEqual(
      new Set(await store.call('leased', ENDPOINT)),
      new Set(accepted.map(({ deliveryId }) => deliveryId)),
    );
  });

  it('wait behind one that waits, also in their batch', async () => {
    const [waiting, behind] = await store.batch(
      ['accept', { message: incoming(), lease: 'no' }],
      ['accept', { message: incoming(), lease: 'any' }],
    );
    const [later] = await store.accept([incoming()], 'any');
    const [elsewhere] = await store.accept([incoming({ endpoint: ':/elsewhere' })], 'any');
    assert.deepEqual(
      [waiting, behind, later, elsewhere].map((each) => each?.leased),
      [false, false, false, true],
    );
  });

  it('wait for the open events of their alarm where the order counts', async () => {
    const accepted = await store.accept(
      [incoming({ alarm: 'a' }), incoming({ alarm: 'b' }), incoming({ alarm: 'a' })],
      'ordered',
    );
    assert.deepEqual(
      accepted.map(({ leased }) => leased),
      [true, true, false],
    );
    await store.call('finish', {
      deliveryId: String(accepted[2]?.deliveryId),
      state: 'delivered',
      give: false,
    });
    const [behind] = await store.accept([incoming({ alarm: 'b' })], 'ordered');
    assert.equal(behind?.leased, false);
  });

  it('are leased by nobody whose epoch others have ended', async () => {
    await server.sql(`DELETE FROM "${store.schema}".instance`);
    const [accepted] = await store.accept([incoming()], 'any');
    assert.deepEqual([accepted?.outcome, accepted?.leased], ['new', false]);
    assert.deepEqual(
      await store.call('lease', { endpoint: ENDPOINT, limit: 10, health: 10, ordered: false }),
      [],
    );
  });

  it('keep all their texts, and are told apart by them', async () => {
    const texts = ['\0', '\0\0', '\u0001', '\u00010', '\u00011', '\'"\\', '{}', 'é', '😀', ' '];
    const messages = texts.map((text) =>
      incoming({ id: text, station: `s${text}`, alarm: text, facts: JSON.stringify(text) + text }),
    );
    const accepted = await store.accept(messages);
    assert.deepEqual(
      new Set(accepted.map(({ outcome, first }) => `${outcome} ${first}`)),
      new Set(['new true']),
    );
    const listed = await store.call('list', { state: 'all', limit: 100 });
    const wanted = messages.map(({ id, station, facts }) => ({ id, station, facts }));
    assert.deepEqual(
      new Set(listed.map(({ id, station, facts }) => JSON.stringify({ id, station, facts }))),
      new Set(wanted.map((each) => JSON.stringify(each))),
    );
    for (const { id, station } of messages) assert.equal(await store.call('isKnown', { station, id }), true);
  });

  it('may have an alarm that is longer than an index takes', async () => {
    const alarm = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join();
    const accepted = await store.accept([
      incoming({ alarm }),
      incoming({ alarm }),
      incoming({ alarm: `${alarm}!` }),
    ]);
    assert.deepEqual(
      accepted.map(({ first }) => first),
      [true, false, true],
    );
  });

  it('are told apart by station and id, wherever the one ends and the other begins', async () => {
    const accepted = await store.accept([
      incoming({ station: 's', id: 'a\n1b' }),
      incoming({ station: 's\n1a', id: 'b', fingerprint: 'b'.repeat(64) }),
    ]);
    assert.deepEqual(
      accepted.map(({ outcome }) => outcome),
      ['new', 'new'],
    );
  });

  it('are kept out by none whose endpoint is longer than an index takes', async () => {
    const endpoint = Array.from({ length: 5000 }, (_, index) => index.toString(36)).join('/');
    const replies = await store.replies(
      ['accept', { message: incoming({ endpoint }), lease: 'any' }],
      ['accept', { message: incoming(), lease: 'any' }],
    );
    assert.deepEqual(
      replies.map(({ error }) => error === undefined),
      [false, true],
    );
  });

  it('keep their bytes, whatever they are', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
    await store.accept([incoming({ bytes }), incoming({ bytes: Buffer.alloc(0) })]);
    const leased = await store.call('lease', { endpoint: ENDPOINT, limit: 2, health: 2, ordered: true });
    assert.deepEqual(
      leased.map((message) => Buffer.from(message.bytes ?? []).equals(bytes)),
      [true, false],
    );
    assert.equal(leased[1]?.bytes?.byteLength, 0);
  });

  it('are kept out by none that cannot be stored', async () => {
    const replies = await store.replies(
      ['accept', { message: incoming(), lease: 'no' }],
      ['accept', { message: incoming({ received: Number.NaN }), lease: 'no' }],
      ['accept', { message: incoming({ rank: 1, received: 2 ** 80 }), lease: 'no' }],
      ['accept', { message: incoming(), lease: 'no' }],
    );
    assert.deepEqual(
      replies.map(({ error }) => error === undefined),
      [true, false, false, true],
    );
    assert.equal((await store.call('list', { state: 'all', limit: 10 })).length, 2);
  });
});
