import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { messageKey, lockSql, tablesOf } from '../../../lib/inbox/postgres/tables';
import { messagesIn, type MovingStand } from '../../support/inbox/moving';
import * as stores from '../../support/postgres/stores';
import { accept, connected, ENDPOINT, finish, idsOf, type StoreSession } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { event, standOfEach } from './stand';

describe('moving an inbox to where another one is', () => {
  let stand: MovingStand;
  let instance: StoreSession;
  standOfEach('used', async (made) => {
    stand = made;
    instance = await stand.instance();
  });

  const leased = () => stores.lease(instance, 100, true);

  async function waitingForLocks(): Promise<number> {
    const rows = await stand.sql(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
    return rows.length;
  }

  it('adds its messages behind those that are there, and changes none of these', async () => {
    for (let index = 0; index < 3; index += 1) await accept(instance, event());
    const before = await stand.there();
    stand.file.accept([event(), event()]);
    const { same, known, aside } = await stand.moved();
    assert.deepEqual([same, known], [2, 0]);
    assert.deepEqual(await stand.there(), [...before, ...messagesIn(aside)]);
  });

  it('adds no message that is just being accepted there, however the database isolates transactions by default', async () => {
    const name = new URL(stand.url).pathname.slice(1);
    await stand.sql(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
    const message = event();
    stand.file.accept([message]);
    const other = await connected(stand.url);
    await other.client.query('BEGIN');
    await other.client.query(lockSql(tablesOf('rvm')), [
      [messageKey(message.station, message.named, message.id)],
    ]);
    const accepted = accept(instance, message);
    await eventually(async () => (await waitingForLocks()) === 1, 'the acceptance waits');
    const moved = stand.moved();
    await eventually(async () => (await waitingForLocks()) === 2, 'the move waits behind it');
    await other.client.end();
    await accepted;
    const { same, known } = await moved;
    assert.deepEqual([same, known], [0, 1]);
  });

  it('adds no message that was sent there, too', async () => {
    const message = event();
    const { deliveryId } = await accept(instance, message);
    stand.file.accept([message, event()]);
    const { same, known, waiting } = await stand.moved();
    assert.deepEqual([same, known, waiting], [1, 1, 1]);
    const taken = await leased();
    assert.equal(taken.length, 2);
    assert.equal(taken[0]?.deliveryId, deliveryId);
  });

  it('keeps a message of an id that has other content there beside it, and delivers both', async () => {
    const message = event();
    await accept(instance, message);
    const other = { ...message, fingerprint: 'other content' };
    const [deliveryId] = stand.file.accept([other, { ...message, fingerprint: 'a third' }]);
    const { same, waiting } = await stand.moved();
    assert.deepEqual([same, waiting], [2, 1]);
    assert.deepEqual(
      (await stand.there()).map((there) => [there['copy'], there['state']]),
      [
        [0, 'received'],
        [1, 'received'],
        [2, 'conflict'],
      ],
    );
    const repeat = await accept(instance, other);
    assert.deepEqual([repeat.outcome, repeat.deliveryId], ['repeat', deliveryId]);
  });

  it('keeps a message that came there while it was moved as the only one', async () => {
    const message = event();
    stand.file.accept([message]);
    let accepting: ReturnType<typeof accept> | undefined;
    const moved = await stand.move((step) => {
      if (step === 'copied') accepting ??= accept(instance, message);
    });
    assert.ok(moved !== 'already' && moved.same === 1);
    const [{ deliveryId } = assert.fail(), ...others] = await leased();
    assert.deepEqual([(await accepting)?.deliveryId, others], [deliveryId, []]);
  });

  it('tells the instances there what waits', async () => {
    const heard = new Set<unknown>();
    const { client } = instance.session;
    client.on('notification', ({ payload }) => heard.add(payload));
    await client.query('LISTEN "rvm rvm"');
    stand.file.accept([event(), event({ endpoint: ':/other' }), event()]);
    await stand.moved();
    await client.query('SELECT 1');
    assert.deepEqual(heard, new Set([':/other', ENDPOINT]));
  });

  it('takes the keys that are there, and says so', async () => {
    const there = Buffer.from(await instance.call('viewKey', undefined));
    stand.file.ask('viewKey', undefined);
    const quarantineKey = Buffer.from(stand.file.ask('quarantineKey', undefined));
    const { ownKeys } = await stand.moved();
    assert.deepEqual(ownKeys, ['view-key']);
    assert.deepEqual(Buffer.from(await instance.call('viewKey', undefined)), there);
    assert.deepEqual(Buffer.from(await instance.call('quarantineKey', undefined)), quarantineKey);
  });

  it('leaves a node the endpoint that it has there', async () => {
    await instance.call('claimEndpoint', { endpoint: ':/new', node: 'moved' });
    stand.file.ask('claimEndpoint', { endpoint: ':/former', node: 'moved' });
    stand.file.ask('claimEndpoint', { endpoint: ':/same', node: 'stayed' });
    await stand.moved();
    assert.deepEqual(await stand.sql('SELECT node, endpoint, is_current FROM rvm.endpoint ORDER BY 1, 2'), [
      { node: 'moved', endpoint: ':/former', is_current: false },
      { node: 'moved', endpoint: ':/new', is_current: true },
      { node: 'stayed', endpoint: ':/same', is_current: true },
    ]);
  });

  it('does not mistake for a difference what an inbox there has made of messages of the past', async () => {
    const [letter = ''] = stand.file.accept([event({ state: 'dead' }), event(), event()]);
    let dismissing: Promise<boolean> | undefined;
    const moved = await stand.move((step) => {
      if (step === 'copied') dismissing ??= instance.call('dismiss', { deliveryId: letter });
    });
    assert.equal(await dismissing, true);
    assert.ok(moved !== 'already');
    assert.deepEqual([moved.same + moved.overtaken, moved.waiting], [3, 2]);
  });

  it('moves what came to a new file, and leaves what was moved before as it is', async () => {
    const [first = ''] = stand.file.accept([event()]);
    const { aside } = await stand.moved();
    await leased();
    await finish(instance, first);
    const [second] = stand.file.accept([event()]);
    const again = await stand.moved();
    assert.deepEqual([again.same, again.known, again.waiting], [1, 0, 1]);
    assert.notEqual(again.aside, aside);
    assert.deepEqual(idsOf(await leased()), [second]);
  });

  it('adds only what is new of a file that was put back and used once more', async () => {
    const [first = ''] = stand.file.accept([event()]);
    const { aside } = await stand.moved();
    await leased();
    await finish(instance, first);
    renameSync(aside, stand.file.file);
    stand.file.accept([event()]);
    const { same, known, waiting } = await stand.moved();
    assert.deepEqual([same, known, waiting], [1, 1, 1]);
    assert.equal(await instance.call('stateOf', first), 'delivered');
  });
});
