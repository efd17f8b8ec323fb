import assert from 'node:assert/strict';
import { seenIds, type SeenIds } from '../../../lib/inbox/searches';
import type { FilterName } from '../../../lib/message/event-filter';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { proven } from '../samples';

/** More than are asked for in one go. */
const MANY = 600;

inEachStore('what the newest events were of', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  const accept = async (
    event: Record<string, unknown>,
    { station = 'north', at = 1 }: { station?: string; at?: number } = {},
  ): Promise<unknown> =>
    inbox.accept(proven(event, { stationKey: station, receivedTime: new Date(at).toISOString() }));
  const seen = (...stations: string[]): Promise<SeenIds> => seenIds([inbox], new Set(stations));
  const idsOf = (found: SeenIds, name: FilterName): unknown[] => found[name].map(({ ids }) => ids);

  it('is told of a quiet station, however much came of a busy one since', async () => {
    await accept({ eventClass: 'own' }, { station: 'quiet' });
    await Promise.all(
      Array.from({ length: MANY }, (_none, index) =>
        accept({ eventClass: 'security' }, { station: 'busy', at: 2 + index }),
      ),
    );
    assert.deepEqual(idsOf(await seen('quiet'), 'classes'), [['own']]);
  });

  it('is of the stations alone that are asked for', async () => {
    await accept({ eventClass: 'security' }, { station: 'north' });
    await accept({ eventClass: 'health' }, { station: 'south' });
    assert.deepEqual(idsOf(await seen('north'), 'classes'), [['security']]);
  });

  it('has a site once with each of its ids, and a class once in whichever case it came', async () => {
    await accept({ eventClass: 'own', locationName: 'Depot', locationId: 'site-1' }, { at: 1 });
    await accept({ eventClass: 'Own', locationName: 'Depot', locationId: 'site-2' }, { at: 2 });
    const found = await seen('north');
    assert.deepEqual(
      [idsOf(found, 'sites'), idsOf(found, 'classes')],
      [[['Depot', 'site-2', 'site-1']], [['Own', 'own']]],
    );
  });

  it('is not whole where an inbox cannot be read', async () => {
    assert.equal((await seen('north')).isWhole, true);
    inbox.fails = true;
    assert.equal((await seen('north')).isWhole, false);
  });
});
