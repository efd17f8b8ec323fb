import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { NewMessage } from '../../../lib/inbox/store/port';
import { newMessage } from '../../../lib/inbox/store/stored-message';
import { type FilledFile, MovingStand } from '../../support/inbox/moving';
import { SharedServer } from '../../support/postgres/shared-server';
import { runsOf } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import { DAY, ENDPOINT, proven } from '../samples';

const RUNS = runsOf(40);
/** A busy machine comes to fewer of them in that time, in milliseconds. */
const LONGEST = 60_000;
const DATABASE = 'history';
const LEASE = { endpoint: ENDPOINT, health: 10, ordered: true };

/** One thing that happens to an inbox. `which`: of the messages so far. */
type Deed = (file: FilledFile, ids: string[]) => void;

const template = newMessage(proven());
const text = fc.constantFrom('a', 'b', 'c', '\0', '\u0001', 'half \udc00');
const message: fc.Arbitrary<NewMessage> = fc
  .record({
    id: text,
    station: fc.constantFrom('north', 'south'),
    fingerprint: fc.constantFrom('one', 'other'),
    named: fc.boolean(),
    state: fc.constantFrom(
      'received' as const,
      'received' as const,
      'filtered' as const,
      'other' as const,
      'dead' as const,
      'stale' as const,
    ),
    rank: fc.constantFrom(0 as const, 1 as const),
    isEnd: fc.boolean(),
    endpoint: fc.constantFrom(ENDPOINT, ':/other'),
    bytes: fc.uint8Array({ maxLength: 20 }),
  })
  .map((changes) => ({ ...template, ...changes, alarm: changes.id }));

const which = fc.nat({ max: 30 });
const of = (ids: readonly string[], index: number): string => ids[index % Math.max(1, ids.length)] ?? '';
const toOne = (act: (file: FilledFile, deliveryId: string) => unknown): fc.Arbitrary<Deed> =>
  which.map(
    (index): Deed =>
      (file, ids) =>
        void act(file, of(ids, index)),
  );
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 6,
    arbitrary: message.map(
      (taken): Deed =>
        (file, ids) =>
          void ids.push(...file.accept([taken])),
    ),
  },
  fc.nat({ max: 3 }).map(
    (limit): Deed =>
      (file) =>
        void file.ask('lease', { ...LEASE, limit }),
  ),
  fc.tuple(which, fc.nat({ max: 2 })).map(
    ([index, maxAttempts]): Deed =>
      (file, ids) =>
        void file.ask('lapse', { deliveryId: of(ids, index), again: 'lease', maxAttempts }),
  ),
  toOne((file, id) => file.ask('again', id)),
  fc.tuple(which, fc.constantFrom('delivered' as const, 'dead' as const)).map(
    ([index, state]): Deed =>
      (file, ids) =>
        void file.ask('finish', { deliveryId: of(ids, index), state, give: false }),
  ),
  toOne((file, id) => file.ask('giveBack', { unsent: [id], cutOff: [] })),
  toOne((file, id) => file.ask('giveBack', { unsent: [], cutOff: [id] })),
  toOne((file, deliveryId) => file.ask('revive', { deliveryId })),
  toOne((file, deliveryId) => file.ask('dismiss', { deliveryId })),
);
const aging: fc.Arbitrary<Deed> = fc.nat({ max: 3 }).map((days): Deed => (file) => {
  file.now += days * DAY;
  file.ask('tidy', { keys: 5 * DAY, bodies: 2 * DAY });
});
const deeds = fc.array(fc.oneof({ weight: 9, arbitrary: deed }, aging), { maxLength: 40 });
/** Between two runs of a move, which are not days. */
const deedsBetween = fc.array(deed, { maxLength: 40 });

describe('moving an inbox of whatever history', () => {
  let server: SharedServer;

  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
    await server.database(DATABASE);
  });
  after(() => server?.remove());

  it('brings each message as it would be after a restart, also where it was ended and the file was used in between', async () => {
    const property = fc.asyncProperty(deeds, deedsBetween, fc.boolean(), async (before, between, isEnded) => {
      const stand = MovingStand.again(server, DATABASE);
      try {
        const ids: string[] = [];
        stand.file.ask('ping', undefined);
        for (const act of before) act(stand.file, ids);
        if (isEnded) await stand.move(() => assert.fail('ended here')).catch(() => undefined);
        if (isEnded && stand.isThere()) for (const act of between) act(stand.file, ids);
        if (!stand.isThere()) return;
        await stand.moved();
      } finally {
        await stand.remove();
        await server.sql('DROP SCHEMA IF EXISTS rvm CASCADE', DATABASE);
      }
    });
    await fc.assert(property, { numRuns: RUNS, interruptAfterTimeLimit: LONGEST });
  });
});
