import assert from 'node:assert/strict';
import { newSchema, openStore, type OpenStore, incoming } from '../../support/postgres/stores';
import { PostgresServer } from '../../support/postgres/postgres-server';
import { needs } from '../../support/suite/programs';
import { eventually } from '../../support/time/patience';

const ENDPOINT = incoming().endpoint;
const NEXT = { endpoint: ENDPOINT, limit: 10, health: 10, ordered: false };

describe('a store that stands aside', () => {
  let server: PostgresServer;
  let schema: string;
  const open: OpenStore[] = [];

  before(async function () {
    needs(this, 'postgres');
    server = await PostgresServer.start();
  });
  after(() => server?.remove());
  beforeEach(() => (schema = newSchema()));
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ store }) => store.close()));
  });

  async function another(instanceName: string): Promise<OpenStore> {
    const opened = await openStore(server.url(), schema, { instanceName });
    open.push(opened);
    await eventually(() => opened.told.waiting.length > 0, 'its connections');
    return opened;
  }

  async function names({ store }: OpenStore): Promise<string[]> {
    return (await store.call('instances', undefined)).map(({ name }) => name);
  }

  it('is no instance any more, and leaves what it has leased to the others', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await one.store.standAside();
    assert.deepEqual(await names(other), ['other']);
    const [leased] = await other.store.call('lease', NEXT);
    assert.deepEqual([leased?.deliveryId, leased?.attempt, leased?.again], [deliveryId, 2, 'restart']);
  });

  it('leaves to them, too, what it was asked to lease just before', async () => {
    const [one, other] = [await another('one'), await another('other')];
    const accepting = one.store.call('accept', { message: incoming(), lease: 'any' });
    await one.store.standAside();
    const { deliveryId } = await accepting;
    const leased = await other.store.call('lease', NEXT);
    assert.deepEqual(
      leased.map((message) => message.deliveryId),
      [deliveryId],
    );
  });

  it('stores what comes all the same, and leases nothing', async () => {
    const one = await another('one');
    await one.store.standAside();
    const { outcome, leased } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    assert.deepEqual([outcome, leased], ['new', false]);
    assert.deepEqual(await one.store.call('lease', NEXT), []);
    assert.equal(one.store.mayHandOver(), false);
  });

  it('takes part again, without a word of having been taken for dead', async () => {
    const one = await another('one');
    const { deliveryId } = await one.store.call('accept', { message: incoming(), lease: 'any' });
    await one.store.standAside();
    one.store.takePart();
    await eventually(() => one.store.mayHandOver(), 'its next beat');
    const [leased] = await one.store.call('lease', NEXT);
    assert.equal(leased?.deliveryId, deliveryId);
    assert.deepEqual([one.told.epochsLost, one.told.warnings], [0, []]);
  });

  it('goes on where it is wanted again before it has stood aside', async () => {
    const one = await another('one');
    const standing = one.store.standAside();
    one.store.takePart();
    await standing;
    assert.equal(one.store.mayHandOver(), true);
    assert.deepEqual(await names(one), ['one']);
  });

  it('keeps nobody waiting for more than two seconds where the database is away', async () => {
    const one = await another('one');
    await server.end('fast');
    try {
      await one.store.standAside();
    } finally {
      await server.run();
    }
  });
});
