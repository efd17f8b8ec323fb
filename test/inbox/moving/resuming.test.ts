import assert from 'node:assert/strict';
import { readdirSync, renameSync } from 'node:fs';
import { messagesIn, type MovingStand } from '../../support/inbox/moving';
import { finish, lease } from '../../support/postgres/stores';
import { events, LEASE, MANY, standOfEach } from './stand';

describe('a move that was ended before its end', () => {
  let stand: MovingStand;
  standOfEach('resumed', (made) => (stand = made));

  /** Ends it after so many batches of a step. */
  async function endedAfter(step: 'copied' | 'compared', batches: number): Promise<void> {
    let left = batches;
    const ended = stand.move((at) => {
      if (at === step) left -= 1;
      if (left === 0) throw new Error('ended here');
    });
    await assert.rejects(ended, /ended here/);
  }

  it('delivers nothing there, and all of it is in the file', async () => {
    stand.file.accept(events(MANY));
    await endedAfter('copied', 2);
    const instance = await stand.instance();
    assert.deepEqual(await lease(instance), []);
    assert.deepEqual(await instance.call('openByEndpoint', undefined), {});
    assert.equal(stand.file.ask('lease', { ...LEASE, limit: MANY }).length, MANY);
  });

  it('is shown there as what waits, and cannot be delivered, revived or discarded', async () => {
    const [waiting = '', exhausted = ''] = stand.file.accept(events(MANY));
    stand.file.ask('lease', { ...LEASE, limit: 2 });
    stand.file.ask('lapse', { deliveryId: exhausted, again: 'lease', maxAttempts: 1 });
    await endedAfter('copied', 1);
    const instance = await stand.instance();
    for (const deliveryId of [waiting, exhausted]) {
      const [row] = await instance.call('list', { state: 'all', deliveryId, limit: 1 });
      assert.equal(row?.state, 'received');
      assert.equal(await instance.call('revive', { deliveryId }), undefined);
      assert.equal(await instance.call('dismiss', { deliveryId }), false);
    }
    assert.deepEqual(await lease(instance), []);
  });

  it('goes on where it ended', async () => {
    stand.file.accept(events(MANY));
    await endedAfter('copied', 2);
    const counts: number[] = [];
    const moved = await stand.move((step, copied) => step === 'copied' && counts.push(copied));
    assert.ok(moved !== 'already');
    assert.deepEqual(counts, [MANY]);
    assert.deepEqual(await stand.there(), messagesIn(moved.aside));
  });

  it('compares once more all that it has compared', async () => {
    stand.file.accept(events(MANY));
    await endedAfter('compared', 1);
    const { same, waiting, aside } = await stand.moved();
    assert.deepEqual([same, waiting], [MANY, MANY]);
    assert.deepEqual(await stand.there(), messagesIn(aside));
  });

  it('keeps what it has brought although the inbox there tidies', async () => {
    stand.file.accept(events(MANY));
    await endedAfter('copied', 2);
    const instance = await stand.instance();
    while (await instance.call('tidy', { keys: -1, bodies: -1 }));
    const { same } = await stand.moved();
    assert.equal(same, MANY);
  });

  it('notices that Node-RED has used the file since, and brings what became of it', async () => {
    const ids = stand.file.accept(events(MANY));
    await endedAfter('copied', 2);
    stand.file.ask('markDelivered', ids.slice(0, 100));
    stand.file.ask('lease', { ...LEASE, limit: 10 });
    stand.file.accept(events(5));
    const { same, waiting, aside } = await stand.moved();
    assert.deepEqual([same, waiting], [MANY + 5, MANY - 95]);
    const former = messagesIn(aside).map((message) =>
      message['state'] === 'leased'
        ? { ...message, state: 'received', again: 'restart', cutOff: 1 }
        : message,
    );
    assert.deepEqual(await stand.there(), former);
  });

  it('leaves nothing there of what the file keeps no more', async () => {
    const ids = stand.file.accept(events(MANY));
    await endedAfter('copied', 2);
    stand.file.ask('markDelivered', ids.slice(0, 100));
    stand.file.now += 1000;
    while (stand.file.ask('tidy', { keys: 500, bodies: 500 }));
    const { same, aside } = await stand.moved();
    assert.equal(same, MANY - 100);
    assert.deepEqual(await stand.there(), messagesIn(aside));
    const [bodies] = await stand.sql('SELECT count(*)::int AS count FROM rvm.body');
    assert.equal(bodies?.['count'], MANY - 100);
  });

  it('only gives the file its other name where the database has taken over already', async () => {
    stand.file.accept(events(3));
    const { aside } = await stand.moved();
    renameSync(aside, stand.file.file);
    const instance = await stand.instance();
    const [{ deliveryId } = assert.fail()] = await lease(instance, 1);
    await finish(instance, deliveryId);
    assert.equal(await stand.move(), 'already');
    assert.equal((await lease(instance)).length, 2);
    assert.ok(!readdirSync(stand.file.folder).includes('inbox.sqlite'));
  });

  it('has nothing more to do once the file has its other name', async () => {
    stand.file.accept(events(3));
    await stand.moved();
    assert.equal(await stand.move(), 'already');
  });
});
