import assert from 'node:assert/strict';
import type { Verdict, Inbox, TallyQuery, TallyRow } from '../../../lib/inbox/model';
import { tallyAll } from '../../../lib/inbox/searches';
import { mergedRows } from '../../../lib/inbox/tally';
import type { ProvenMessage } from '../../../lib/message/record';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { DAY, proven } from '../samples';

const at = (time: string): Partial<ProvenMessage> => ({ receivedTime: `2026-03-04T${time}Z` });

inEachStore('events of an inbox, counted', (open) => {
  let inbox: TestedInbox;
  let now: number;
  beforeEach(async () => {
    now = 0;
    inbox = await open({ steady: () => now });
  });

  const accept = async (...message: Parameters<typeof proven>): Promise<string> =>
    (await inbox.accept(proven(...message))).deliveryId;
  const done = (deliveryId: string, verdict?: Verdict): Promise<boolean> =>
    inbox.settle(deliveryId, { action: 'done', ...(verdict && { finding: { verdict } }) });
  const tally = (query: Partial<TallyQuery> = {}): Promise<TallyRow[]> =>
    inbox.tally({ by: 'site', limit: 100, ...query });
  /** Of each row: its group and some of its counts. */
  const counts = async (query: Partial<TallyQuery>, ...names: (keyof TallyRow)[]): Promise<unknown[][]> =>
    (await tally(query)).map((row) => [row.group, ...names.map((name) => row[name])]);

  it('by hour are the newest first, each with the begin of the hour', async () => {
    for (const time of ['05:00:00', '05:59:59.999', '07:10:00']) await accept({}, at(time));
    assert.deepEqual(await counts({ by: 'hour' }, 'events'), [
      ['2026-03-04T07:00:00.000Z', 1],
      ['2026-03-04T05:00:00.000Z', 2],
    ]);
  });

  for (const [by, field] of [
    ['site', 'locationName'],
    ['camera', 'cameraName'],
    ['rule', 'eventRuleName'],
  ] as const) {
    it(`by ${by} are those with the most events first, and those without a name together`, async () => {
      for (const name of ['A', 'B', 'B', '']) await accept({ [field]: name, eventName: '' });
      assert.deepEqual(await counts({ by }, 'events'), [
        ['B', 2],
        [null, 1],
        ['A', 1],
      ]);
    });
  }

  it('are in groups with names that no message makes longer than a line', async () => {
    for (const end of ['a', 'b'])
      await accept({ locationName: 'x'.repeat(300_000) + end, alarmId: 'y'.repeat(300_000) + end });
    const [row, ...others] = await tally();
    assert.deepEqual([others.length, row?.group?.length, row?.events, row?.alarms], [0, 200, 2, 2]);
  });

  it('are one alarm where they share its id at one station, and none where they are of class health', async () => {
    for (const eventEndTime of [null, '2026-03-04T05:06:07']) await accept({ alarmId: 'one', eventEndTime });
    await accept({ alarmId: 'two' });
    await accept({ alarmId: 'one' }, { stationKey: 'south' });
    await accept({ alarmId: 'three', eventClass: 'health' });
    await accept({ alarmId: '' });
    const [row] = await tally({ by: 'hour' });
    assert.deepEqual([row?.events, row?.alarms], [6, 3]);
  });

  it('are real or false by the last verdict on their alarm', async () => {
    const start = await accept({ alarmId: 'one' });
    const end = await accept({ alarmId: 'one', eventEndTime: '2026-03-04T05:06:07' });
    const other = await accept({ alarmId: 'two' });
    await accept({ alarmId: 'three' });
    await done(start, 'real');
    await done(other, 'real');
    // Two verdicts of one moment have no order.
    const moment = Date.now();
    await eventually(() => Date.now() > moment, 'the next moment');
    await done(end, 'false');
    const [row] = await tally({ by: 'hour' });
    assert.deepEqual([row?.alarms, row?.real, row?.false], [3, 1, 1]);
  });

  it('are settled, dead or neither, with the mean of the seconds until they were settled', async () => {
    const received = Date.now() - 60_000;
    const times = [received, received - 60_000].map((time) => new Date(time).toISOString());
    for (const receivedTime of times) await done(await accept({}, { receivedTime }));
    const rejected = await accept({}, { receivedTime: times[0] ?? '' });
    await inbox.settle(rejected, { action: 'reject' });
    await accept({}, { receivedTime: times[0] ?? '' });
    const [row] = await tally();
    assert.deepEqual([row?.events, row?.settled, row?.dead], [4, 2, 1]);
    const seconds = row?.secondsToSettle ?? 0;
    const elapsed = (Date.now() - received) / 1000;
    assert.ok(seconds >= 90 && seconds <= elapsed + 30, `${seconds} s`);
    assert.equal((await tally({ state: 'open' }))[0]?.secondsToSettle, null);
  });

  it('are no messages that are no events, self-tests among them', async () => {
    await inbox.accept(proven({}, { kind: 'other' }));
    assert.deepEqual(await tally(), []);
  });

  it('are those of a period, of a state, and so many groups', async () => {
    await accept({ locationName: 'A' }, at('05:00:00'));
    for (const locationName of ['A', 'B']) await accept({ locationName }, at('06:00:00'));
    const since = Date.parse('2026-03-04T06:00:00Z');
    assert.deepEqual(await counts({ since }, 'events'), [
      ['A', 1],
      ['B', 1],
    ]);
    assert.deepEqual(await counts({ until: since }, 'events'), [['A', 1]]);
    assert.deepEqual(await counts({ state: 'settled' }, 'events'), []);
    assert.deepEqual(await counts({ limit: 1 }, 'events'), [['A', 2]]);
  });

  it('are of no name once their bodies are kept no more, and count all the same', async () => {
    await done(await accept({ locationName: 'A' }), 'real');
    now = 8 * DAY;
    await inbox.tidy({ keys: 30 * DAY, bodies: 7 * DAY });
    assert.deepEqual(await counts({}, 'events', 'settled', 'real'), [[null, 1, 1, 1]]);
  });

  it('are many, a page at a time', async () => {
    for (let i = 0; i < 450; i += 1) await accept({ locationName: i % 2 === 0 ? 'A' : 'B' }, at('05:00:00'));
    assert.deepEqual(await counts({}, 'events'), [
      ['A', 225],
      ['B', 225],
    ]);
  });

  it('fail where the inbox fails', async () => {
    inbox.fails = true;
    await assert.rejects(tally(), { code: 'STORE_FAILED' });
  });
});

describe('counts of several inboxes', () => {
  const none = { settled: 0, real: 0, false: 0, dead: 0, filtered: 0, secondsToSettle: null };
  const row = (changes: Partial<TallyRow>): TallyRow => ({
    group: 'A',
    events: 1,
    alarms: 1,
    ...none,
    ...changes,
  });

  it('are added up, the mean by how many were settled', () => {
    const rows = [
      row({ settled: 1, secondsToSettle: 10 }),
      row({ group: 'B', events: 4 }),
      row({ settled: 3, secondsToSettle: 2, real: 1 }),
      row({}),
    ];
    assert.deepEqual(mergedRows(rows, { by: 'site', limit: 9 }), [
      row({ group: 'B', events: 4 }),
      row({ events: 3, alarms: 3, settled: 4, real: 1, secondsToSettle: 4 }),
    ]);
  });

  it('have a group among the first that is so in none of them', async () => {
    const counting = (...groups: [string, number][]): Pick<Inbox, 'tally'> => ({
      tally: async ({ limit }) => groups.map(([group, events]) => row({ group, events })).slice(0, limit),
    });
    const inboxes = [counting(['A', 5], ['both', 4]), counting(['B', 5], ['both', 4])];
    const { rows } = await tallyAll(inboxes, { by: 'site', limit: 1 });
    assert.deepEqual(rows, [row({ group: 'both', events: 8, alarms: 2 })]);
  });
});
