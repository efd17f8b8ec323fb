import assert from 'node:assert/strict';
import type { PlaceQuery } from '../../../lib/inbox/model';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { allSettled, proven, Taker } from '../samples';

const GATE = '7c2a9e4f-1b3d-4e5f-8a6b-9c0d1e2f3a04';
const NORTH = {
  locationName: 'Straße  9',
  locationId: '4711',
  cameraId: GATE,
  cameraRemoteId: 'Gate',
  cameraName: 'Nord  Tor',
};
const SOUTH = {
  locationName: 'South "Yard"\\',
  locationId: '12',
  cameraId: 'gate',
  cameraRemoteId: 'G\u0000\u0001',
  cameraName: 'South',
};

inEachStore('a list by site and camera', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  const accept = async (event: Record<string, unknown>, receivedTime?: string): Promise<string> =>
    (await inbox.accept(proven(event, receivedTime === undefined ? {} : { receivedTime }))).deliveryId;
  const idsOf = async (query: PlaceQuery & { limit?: number; since?: number; until?: number }) => {
    const { messages, fault } = await inbox.list({ state: 'all', limit: 99, ...query });
    assert.equal(fault, undefined);
    return messages.map(({ deliveryId }) => deliveryId);
  };

  for (const [what, north, south] of [
    ['the name of a site, in any spelling', { sites: [' STRASSE 9'] }, { sites: ['south "yard"\\'] }],
    ['the id of a site', { sites: ['4711'] }, { sites: ['12'] }],
    ['the id of a camera', { cameras: [`{${GATE.toUpperCase()}}`] }, { cameras: ['gate'] }],
    ['the remote id of a camera', { cameras: ['Gate'] }, { cameras: ['G\u0000\u0001'] }],
    ['the name of a camera, in any spelling', { cameras: ['NORD TOR '] }, { cameras: ['south'] }],
    ['both', { sites: ['4711'], cameras: ['Gate'] }, { sites: ['12'], cameras: ['gate'] }],
  ] as const)
    it(`goes by ${what}`, async () => {
      const [one, other] = [await accept(NORTH), await accept(SOUTH)];
      assert.deepEqual([await idsOf(north), await idsOf(south)], [[one], [other]]);
    });

  it('holds what is of any of those of a kind, and of each kind', async () => {
    const [one, other] = [await accept(NORTH), await accept(SOUTH)];
    assert.deepEqual(await idsOf({ sites: ['4711', 'elsewhere', '12'] }), [other, one]);
    assert.deepEqual(await idsOf({ sites: ['4711'], cameras: ['gate'] }), []);
    assert.deepEqual(await idsOf({ sites: [] }), []);
  });

  it('takes the name of a site for no camera, nor part of a name for all of it', async () => {
    await accept(NORTH);
    for (const query of [{ cameras: ['4711'] }, { sites: ['Gate'] }, { sites: ['471'] }, { sites: ['711'] }])
      assert.deepEqual(await idsOf(query), []);
  });

  it('leaves out what says no site, or is no event', async () => {
    const silent = await accept({ ...NORTH, locationName: null, locationId: null });
    assert.deepEqual([await idsOf({ sites: ['4711'] }), await idsOf({ cameras: ['Gate'] })], [[], [silent]]);
  });

  it('holds as many as are asked for, however many others are newer', async () => {
    const wanted = [await accept(NORTH), await accept(NORTH), await accept(NORTH)];
    for (let count = 0; count < 5; count += 1) await accept(SOUTH);
    assert.deepEqual(await idsOf({ sites: ['4711'], limit: 2 }), wanted.slice(1).reverse());
  });

  it('is of a period', async () => {
    const at = Date.UTC(2026, 2, 4);
    const ids = [];
    for (const second of [0, 1, 2]) ids.push(await accept(NORTH, new Date(at + 1000 * second).toISOString()));
    const period = { since: at + 1000, until: at + 2000 };
    assert.deepEqual(await idsOf({ ...period, sites: ['4711'] }), [ids[1]]);
  });

  it('is of any state', async () => {
    const filtered = proven(NORTH, { filteredBy: ['classes'] });
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await inbox.accept(filtered);
    for (const action of ['done', 'reject'] as const) {
      const { deliveryId } = await taker.takes(proven(NORTH));
      await inbox.settle(deliveryId, { action });
    }
    await allSettled(inbox);
    await taker.takes(proven(NORTH));
    await taker.takes(proven(SOUTH));
    for (const state of ['open', 'settled', 'dead', 'filtered'] as const) {
      const { messages } = await inbox.list({ state, limit: 9, sites: ['4711'] });
      assert.deepEqual([state, messages.length], [state, 1]);
    }
  });

  it('holds dead letters of which an event can be read', async () => {
    const {
      envelope: _envelope,
      event,
      proof: _proof,
      secret: _secret,
      warnings: _warnings,
      ...record
    } = proven(NORTH);
    const { deliveryId } = await inbox.accept({
      ...record,
      kind: 'dead-letter',
      reason: 'no-message-id',
      event,
    });
    assert.deepEqual(await idsOf({ sites: ['4711'] }), [deliveryId]);
  });

  it('is counted likewise', async () => {
    await accept(NORTH);
    await accept(SOUTH);
    for (const by of ['hour', 'rule'] as const) {
      const rows = await inbox.tally({ by, limit: 9, sites: ['straße 9'] });
      assert.deepEqual(
        rows.map(({ events }) => events),
        [1],
      );
    }
  });
});
