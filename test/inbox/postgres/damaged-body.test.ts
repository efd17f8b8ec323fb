import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Accepted, LeasedMessage } from '../../../lib/inbox/store/port';
import * as stores from '../../support/postgres/stores';
import { accept, ENDPOINT, incoming, type OpenStore } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

/** What stands before the bytes of a piece of a body: its number, and its length. */
const HEADER = 8;

/** A body of several pieces, each in a row of its own. */
function large(): ReturnType<typeof incoming> {
  return incoming({ bytes: randomBytes(20_000) });
}

describe('a body of PostgreSQL that its disk has damaged', () => {
  const damaged = large();
  const postgres = stores.PostgresStand.own();
  let open: OpenStore;
  let accepted: Accepted[];

  beforeEach(async () => {
    open = await postgres.store();
    accepted = [];
    for (const message of [large(), damaged, incoming()]) accepted.push(await accept(open.store, message));
    await damage();
  });

  async function damage(): Promise<void> {
    const [place] = await postgres.sql(
      `SELECT current_setting('data_directory') AS folder, pg_relation_filepath(reltoastrelid) AS file
        FROM pg_class WHERE oid = '${postgres.table('body')}'::regclass`,
    );
    await postgres.server.end('fast');
    const file = path.join(String(place?.['folder']), String(place?.['file']));
    const pages = fs.readFileSync(file);
    pages.writeUInt32LE(77, pages.indexOf(damaged.bytes.subarray(0, 100)) - HEADER);
    fs.writeFileSync(file, pages);
    await postgres.server.run();
  }

  function lease(): Promise<LeasedMessage[]> {
    return stores.lease(open.store, 100, true);
  }

  it('keeps no other event from its flow', async () => {
    const leased = await lease();
    assert.deepEqual(
      leased.map(({ deliveryId, isUnread, bytes }) => [deliveryId, isUnread ?? false, bytes !== undefined]),
      accepted.map(({ deliveryId }, index) => [deliveryId, index === 1, index !== 1]),
    );
    assert.deepEqual(new Set(await open.store.call('leased', ENDPOINT)), new Set(stores.idsOf(accepted)));
  });

  it('keeps no alarm out, and ends no connection', async () => {
    await open.store.call('ping', undefined);
    const opened = open.told.opened.length;
    const leasing = lease();
    const taken = accept(open.store);
    await leasing;
    assert.equal((await taken).outcome, 'new');
    await open.store.call('ping', undefined);
    assert.equal(open.told.opened.length, opened);
  });

  it('shows in the state of an inbox, which takes and delivers the others', async () => {
    const inbox = await postgres.inbox();
    const taker = new Taker(inbox, { endpointId: ENDPOINT, handledWhen: 'settled' });
    await eventually(() => inbox.state().fault?.includes('cannot be read') === true, 'the damage to be told');
    const { deliveryId } = await inbox.accept(proven({}, { endpointId: ENDPOINT }));
    await eventually(() => taker.deliveries.length > 0, 'the next alarm');
    assert.deepEqual([taker.deliveries[0]?.deliveryId, await inbox.canAccept()], [deliveryId, true]);
    await inbox.settle(accepted[1]?.deliveryId ?? '', { action: 'done' });
    assert.deepEqual(inbox.state(), { durable: true });
  });

  it('is listed without its content', async () => {
    const listed = await open.store.call('list', { state: 'open', limit: 100 });
    assert.equal(listed.length, 3);
  });

  it('can be rejected', async () => {
    const deliveryId = accepted[1]?.deliveryId ?? '';
    const finished = await open.store.call('finish', { deliveryId, state: 'dead', give: true });
    assert.deepEqual(finished, { was: 'received', endpoint: ENDPOINT });
    assert.equal(await open.store.call('stateOf', deliveryId), 'dead');
  });
});
