import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { schemaSql } from '../../../lib/inbox/postgres/schema';
import type { StoredMessage } from '../../../lib/inbox/store/port';
import { newMessage } from '../../../lib/inbox/store/stored-message';
import type { MovingStand } from '../../support/inbox/moving';
import { accept, ENDPOINT, finish, idsOf, lease, type StoreSession } from '../../support/postgres/stores';
import { proven, waitingRecord } from '../samples';
import { DAY, event, events, LEASE, standOfEach } from './stand';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('an inbox that was moved', () => {
  let stand: MovingStand;
  standOfEach('moved', (made) => (stand = made));

  /** @returns an instance there */
  async function movedThere(): Promise<StoreSession> {
    await stand.moved();
    return stand.instance();
  }

  /** One message of each kind and state that a file may hold, none leased. */
  function fillWithAll(): void {
    const { file } = stand;
    const [, leased = '', settled = '', rejected = '', exhausted = '', dismissed = ''] = file.accept(
      events(6),
    );
    const taken = file.ask('lease', { ...LEASE, limit: 6 });
    assert.equal(taken.length, 6);
    file.ask('giveBack', { unsent: [], cutOff: [leased] });
    file.ask('finish', { deliveryId: settled, state: 'delivered', give: false });
    file.ask('finish', { deliveryId: rejected, state: 'dead', give: false });
    for (const deliveryId of [exhausted, dismissed])
      file.ask('lapse', { deliveryId, again: 'lease', maxAttempts: 1 });
    file.ask('dismiss', { deliveryId: dismissed });
    file.ask('giveBack', { unsent: idsOf(taken), cutOff: [] });
    const first = event({ id: 'same' });
    file.accept([first, { ...first, fingerprint: 'other content' }, { ...first, fingerprint: 'once more' }]);
    const alarm = 'of several';
    file.accept([
      event({ alarm }),
      event({ alarm, isEnd: true }),
      event({ alarm, rank: 1 }),
      event({ state: 'stale' }),
      event({ state: 'dead', named: false }),
      event({ state: 'other' }),
    ]);
  }

  it('has each message as it was, in the same order', async () => {
    fillWithAll();
    await stand.moved();
    const { messages } = await stand.contents();
    assert.equal(new Set(messages.map(({ state }) => state)).size, 6);
  });

  it('has what became of each, and what people found of it', async () => {
    fillWithAll();
    const query = { state: 'all', history: true, limit: 100 } as const;
    const [settled] = stand.file.ask('list', { ...query, state: 'settled' });
    const deliveryId = settled?.deliveryId ?? '';
    const step = { time: 1, step: 'verdict', verdict: 'false', note: 'a \u0000 cat', by: 'Anna' } as const;
    stand.file.ask('note', { deliveryId, step });
    const historiesOf = (rows: readonly StoredMessage[]): unknown[] =>
      rows.map((row) => [row.deliveryId, row.course, row.verdict, row.steps]);
    const before = historiesOf(stand.file.ask('list', query));
    const instance = await movedThere();
    assert.deepEqual(historiesOf(await instance.call('list', query)), before);
    const [found] = await instance.call('list', { ...query, deliveryId });
    assert.deepEqual(found?.steps, [{ place: 1, ...step }]);
  });

  it('says how much there is of what', async () => {
    fillWithAll();
    const { aside, ...counts } = await stand.moved();
    assert.ok(existsSync(aside));
    const rest = { endpoints: 0, quarantined: 0, slots: 0 };
    assert.deepEqual(counts, { messages: 15, bodies: 15, steps: 7, waiting: 6, dead: 1, ...rest });
  });

  it('delivers what waited, in its order and under its ids, and knows when it is settled', async () => {
    const alarm = 'a';
    const ids = stand.file.accept([event({ rank: 1 }), event({ alarm }), event({ alarm }), event()]);
    const instance = await movedThere();
    assert.deepEqual(idsOf(await lease(instance, 100, true)), [ids[1], ids[3], ids[0]]);
    await finish(instance, ids[1] ?? '');
    assert.deepEqual(idsOf(await lease(instance, 100, true)), [ids[2]]);
    assert.equal(await instance.call('stateOf', ids[1] ?? ''), 'delivered');
  });

  it('delivers once more what a flow had, which says so and counts no attempt for it', async () => {
    const [cutOff = '', counted = ''] = stand.file.accept([event(), event()]);
    stand.file.ask('lease', LEASE);
    stand.file.ask('lapse', { deliveryId: counted, again: 'retry', maxAttempts: 3 });
    const instance = await movedThere();
    const taken = await lease(instance, 100, true);
    assert.deepEqual(
      taken.map(({ deliveryId, attempt, again }) => [deliveryId, attempt, again]),
      [
        [cutOff, 2, 'restart'],
        [counted, 2, 'retry'],
      ],
    );
    const lapsed = { again: 'lease', maxAttempts: 3 } as const;
    assert.equal((await instance.call('lapse', { deliveryId: cutOff, ...lapsed }))?.counted, 1);
    assert.equal((await instance.call('lapse', { deliveryId: counted, ...lapsed }))?.counted, 2);
  });

  it('knows a repeat, a conflict, and what was before in an alarm', async () => {
    const settled = event();
    const waiting = event({ alarm: 'a', isEnd: true });
    const [settledId = '', waitingId] = stand.file.accept([settled, waiting]);
    stand.file.ask('markDelivered', [settledId]);
    const instance = await movedThere();
    const repeats = [await accept(instance, settled), await accept(instance, waiting)];
    assert.ok(repeats.every(({ outcome }) => outcome === 'repeat'));
    assert.deepEqual(idsOf(repeats), [settledId, waitingId]);
    const conflict = await accept(instance, { ...settled, fingerprint: 'other content' });
    assert.equal(conflict.outcome, 'conflict');
    const { first, ended } = await accept(instance, { alarm: 'a' });
    assert.deepEqual([first, ended], [false, true]);
  });

  it('can have a dead letter again that was given up, with all its attempts', async () => {
    const [deliveryId = ''] = stand.file.accept([event()]);
    stand.file.ask('lease', LEASE);
    stand.file.ask('lapse', { deliveryId, again: 'lease', maxAttempts: 1 });
    const instance = await movedThere();
    assert.deepEqual(await lease(instance), []);
    assert.equal(await instance.call('revive', { deliveryId }), ENDPOINT);
    const [{ attempt, again } = assert.fail()] = await lease(instance, 100, true);
    assert.deepEqual([attempt, again], [2, 'retry']);
  });

  it('has the ids and alarms that no text of PostgreSQL may hold', async () => {
    const odd = ['\0', '\u0001', '\u00010', 'a\0b', 'half \ud83d', ''];
    const messages = odd.map((text) => event({ id: text, alarm: `${text}!`, station: `north${text}` }));
    stand.file.accept(messages);
    const instance = await movedThere();
    for (const message of messages) {
      const { outcome } = await accept(instance, message);
      assert.equal(outcome, 'repeat', JSON.stringify(message.id));
    }
  });

  it('has what was spilled first under the ids of then, in which no sequence stands', async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const deliveryId of ids) stand.file.ask('bring', { record: waitingRecord(event(), deliveryId) });
    stand.file.ask('markDelivered', ids.slice(1));
    const { messages, waiting } = await stand.moved();
    assert.deepEqual([messages, waiting], [2, 1]);
    const instance = await stand.instance();
    const [{ deliveryId } = assert.fail()] = await lease(instance, 100, true);
    assert.deepEqual([deliveryId, await instance.call('stateOf', ids[1] ?? '')], [ids[0], 'delivered']);
  });

  it('has bodies as large as they come, byte by byte', async () => {
    const bodies = Array.from({ length: 12 }, (_, index) => randomBytes(1024 * 1024 - index));
    stand.file.accept(bodies.map((bytes) => event({ bytes })));
    assert.equal((await stand.moved()).bodies, 12);
  });

  it('has messages of which the bodies are kept no more', async () => {
    const [deliveryId = ''] = stand.file.accept([event()]);
    stand.file.ask('markDelivered', [deliveryId]);
    stand.file.now += DAY;
    stand.file.ask('tidy', { keys: 7 * DAY, bodies: DAY / 2 });
    const { messages, bodies } = await stand.moved();
    assert.deepEqual([messages, bodies], [1, 0]);
  });

  it('ages on where the file had come to', async () => {
    const old = stand.file.accept([event()]);
    stand.file.now += 5 * DAY;
    const young = stand.file.accept([event()]);
    stand.file.ask('markDelivered', [...old, ...young]);
    stand.file.ask('tidy', { keys: 30 * DAY, bodies: 30 * DAY });
    await stand.moved();
    let now = 0;
    const instance = await stand.instance(() => now);
    const kept = async (): Promise<unknown[]> => {
      while (await instance.call('tidy', { keys: 7 * DAY, bodies: 7 * DAY }));
      const rows = await stand.sql('SELECT delivery_id FROM rvm.message ORDER BY sequence');
      return rows.map((row) => row['delivery_id']);
    };
    assert.deepEqual(await kept(), [...old, ...young]);
    now += 1.5 * DAY;
    assert.deepEqual(await kept(), [...old, ...young]);
    now += DAY;
    assert.deepEqual(await kept(), young);
  });

  it('says of events that may have been delivered already that they may repeat', async () => {
    const { facts } = newMessage(proven());
    stand.file.accept([event({ facts })]);
    stand.file.close();
    const database = new DatabaseSync(stand.file.file);
    database.exec(`INSERT INTO meta VALUES ('doubtful-up-to', '1')`);
    database.close();
    stand.file.accept([event({ facts })]);
    await stand.move();
    const instance = await stand.instance();
    const taken = await lease(instance, 100, true);
    assert.deepEqual(
      taken.map(({ facts = '' }) => facts.includes('may-repeat')),
      [true, false],
    );
  });

  it('has the endpoints with their nodes, what is quarantined, and the keys', async () => {
    const { file } = stand;
    file.ask('claimEndpoint', { endpoint: ':/former', node: 'gone' });
    file.ask('leaveEndpoint', { node: 'gone' });
    file.ask('claimEndpoint', { endpoint: ENDPOINT, node: 'node' });
    const facts = '{"reason":"\\u0000"}';
    for (const address of ['192.0.2.1', '192.0.2.2'])
      file.ask('quarantine', { endpoint: ENDPOINT, address, facts, bytes: Buffer.from('{}') });
    const keys = [file.ask('viewKey', undefined), file.ask('quarantineKey', undefined)].map(hexOf);
    assert.equal((await stand.moved()).quarantined, 2);
    const instance = await stand.instance();
    assert.deepEqual(
      (await instance.call('quarantined', ENDPOINT)).map(({ address, facts }) => [address, facts]),
      [
        ['192.0.2.1', facts],
        ['192.0.2.2', facts],
      ],
    );
    const calls = [instance.call('viewKey', undefined), instance.call('quarantineKey', undefined)];
    assert.deepEqual((await Promise.all(calls)).map(hexOf), keys);
    assert.deepEqual(await stand.sql('SELECT endpoint, node, is_current FROM rvm.endpoint ORDER BY 1'), [
      { endpoint: ':/former', node: 'gone', is_current: false },
      { endpoint: ENDPOINT, node: 'node', is_current: true },
    ]);
  });

  it('has all of it by a role that may only read and write rows', async () => {
    fillWithAll();
    const role = `role_of_${stand.database}`;
    await stand.sql(`CREATE ROLE ${role} LOGIN`);
    await stand.sql(schemaSql('rvm', role));
    await stand.moved(undefined, stand.url.replace('admin', role));
  });

  it('may be empty', async () => {
    stand.file.ask('ping', undefined);
    const { messages, waiting } = await stand.moved();
    assert.deepEqual([messages, waiting], [0, 0]);
  });
});
