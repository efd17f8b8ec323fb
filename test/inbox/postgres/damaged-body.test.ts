import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../../lib/inbox/postgres/postgres-store';
import { SharedInbox } from '../../../lib/inbox/shared-inbox';
import type { Accepted, LeasedMessage } from '../../../lib/inbox/store/protocol';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { newSchema, openStore, type OpenStore, incoming } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';
import { eventually, PATIENCE } from '../../support/time/patience';
import { proven, Taker } from '../samples';

const DAY = 24 * 60 * 60 * 1000;
const ENDPOINT = incoming().endpoint;
/** What stands before the bytes of a piece of a body: its number, and its length. */
const HEADER = 8;

/** A body of several pieces, each in a row of its own. */
function large(): ReturnType<typeof incoming> {
  return incoming({ bytes: randomBytes(20_000) });
}

describe('a body of PostgreSQL that its disk has damaged', () => {
  const damaged = large();
  let server: PostgresServer;
  let schema: string;
  let open: OpenStore;
  let accepted: Accepted[];

  before(async function () {
    needs(this, 'postgres', 'initdb');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    schema = newSchema();
    open = await openStore(server.url(), schema);
    accepted = [];
    for (const message of [large(), damaged, incoming()])
      accepted.push(await open.store.call('accept', { message, lease: 'no' }));
    await damage();
  });
  afterEach(() => open.store.close());

  async function damage(): Promise<void> {
    const [place] = await server.sql(
      `SELECT current_setting('data_directory') AS folder, pg_relation_filepath(reltoastrelid) AS file
        FROM pg_class WHERE oid = '"${schema}".body'::regclass`,
    );
    await server.end('fast');
    const file = path.join(String(place?.['folder']), String(place?.['file']));
    const pages = fs.readFileSync(file);
    pages.writeUInt32LE(77, pages.indexOf(damaged.bytes.subarray(0, 100)) - HEADER);
    fs.writeFileSync(file, pages);
    await server.run();
  }

  function lease(): Promise<LeasedMessage[]> {
    return open.store.call('lease', { endpoint: ENDPOINT, limit: 100, health: 100, ordered: true });
  }

  it('keeps no other event from its flow', async () => {
    const leased = await lease();
    assert.deepEqual(
      leased.map(({ deliveryId, isUnread, bytes }) => [deliveryId, isUnread ?? false, bytes !== undefined]),
      accepted.map(({ deliveryId }, index) => [deliveryId, index === 1, index !== 1]),
    );
    assert.deepEqual(
      new Set(await open.store.call('leased', ENDPOINT)),
      new Set(accepted.map(({ deliveryId }) => deliveryId)),
    );
  });

  it('keeps no alarm out, and ends no connection', async () => {
    await open.store.call('ping', undefined);
    const opened = open.told.opened.length;
    const leasing = lease();
    const taken = open.store.call('accept', { message: incoming(), lease: 'no' });
    await leasing;
    assert.equal((await taken).outcome, 'new');
    await open.store.call('ping', undefined);
    assert.equal(open.told.opened.length, opened);
  });

  it('shows in the state of an inbox, which takes and delivers the others', async () => {
    const settings = readConnection(server.url(), { schema, tls: 'off', instanceName: '' });
    const inbox = new SharedInbox({
      open: (news) => new PostgresStore({ settings }, news),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      patience: PATIENCE,
    });
    const taker = new Taker(inbox, { endpointId: ENDPOINT, handledWhen: 'settled' });
    await eventually(() => inbox.state().fault?.includes('cannot be read') === true, 'the damage to be told');
    const { deliveryId } = await inbox.accept(proven({}, { endpointId: ENDPOINT }));
    await eventually(() => taker.deliveries.length > 0, 'the next alarm');
    assert.deepEqual([taker.deliveries[0]?.deliveryId, await inbox.wouldKeep()], [deliveryId, true]);
    await inbox.settle(accepted[1]?.deliveryId ?? '', { action: 'done' });
    assert.deepEqual(inbox.state(), { durable: true });
    await inbox.close();
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
