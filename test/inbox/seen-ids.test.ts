import assert from 'node:assert/strict';
import type { RvmEvent } from '../../lib/event';
import type { Inbox, ListedMessage } from '../../lib/inbox/model';
import { seenIds, withNamed, type SeenIds } from '../../lib/inbox/searches';
import { NO_IDS } from '../../lib/message/event-filter';

/** As an inbox lists them: newest first. */
function holding(
  messages: readonly [station: string, received: number, event: string | RvmEvent][],
): Pick<Inbox, 'list'> {
  const listed = messages.map(([station, received, event], index): ListedMessage => ({
    station,
    receivedTime: new Date(received).toISOString(),
    event: typeof event === 'string' ? { eventClass: event } : event,
    state: 'delivered',
    attempts: 1,
    messageId: '',
    deliveryId: String(index),
    endpointId: '',
    canRetry: false,
  }));
  const list: Inbox['list'] = async ({ until = Infinity, limit }) => ({
    messages: listed.filter(({ receivedTime }) => Date.parse(receivedTime) < until).slice(0, limit),
  });
  return { list };
}

const classesOf = async (inbox: Pick<Inbox, 'list'>, station: string): Promise<string[]> =>
  (await seenIds([inbox], new Set([station]))).classes.map(({ name }) => name);

describe('what was seen of very many messages', () => {
  const busy = (count: number, received: (index: number) => number): ['busy', number, 'security'][] =>
    Array.from({ length: count }, (_none, index) => ['busy', received(index), 'security']);

  it('is found behind more of one millisecond than are asked for in one go', async () => {
    const inbox = holding([...busy(1200, () => 5000), ['quiet', 4999, 'own']]);
    assert.deepEqual(await classesOf(inbox, 'quiet'), ['own']);
  });

  it('is found where the last that are asked for in one go came in the same millisecond', async () => {
    const inbox = holding([...busy(499, () => 5000), ['busy', 4000, 'security'], ['quiet', 4000, 'own']]);
    assert.deepEqual(await classesOf(inbox, 'quiet'), ['own']);
  });

  it('is looked for among ten thousand, and no more', async () => {
    const behind = (count: number): Pick<Inbox, 'list'> =>
      holding([...busy(count, (index) => 20_000 - index), ['quiet', 0, 'own']]);
    assert.deepEqual(await classesOf(behind(9900), 'quiet'), ['own']);
    assert.deepEqual(await classesOf(behind(10_100), 'quiet'), []);
  });
});

describe('what was seen of very long texts', () => {
  const seenOf = (event: RvmEvent, count = 1): Promise<SeenIds> =>
    seenIds([holding(Array.from({ length: count }, () => ['north', 1, event]))], new Set(['north']));

  for (const [name, field] of [
    ['classes', 'eventClass'],
    ['sites', 'locationName'],
    ['sites', 'locationId'],
    ['cameras', 'cameraId'],
    ['cameras', 'cameraRemoteId'],
    ['rules', 'eventRuleName'],
    ['rules', 'eventName'],
  ] as const) {
    it(`has an id of 512 characters of ${name} in ${field}, and no longer one`, async () => {
      const idsOf = async (length: number): Promise<unknown> =>
        (await seenOf({ [field]: 'x'.repeat(length) }))[name].map(({ ids }) => ids);
      assert.deepEqual([await idsOf(512), await idsOf(513)], [[['x'.repeat(512)]], []]);
    });
  }

  it('has the other id of a site whose name is too long', async () => {
    const { sites } = await seenOf({ locationName: 'x'.repeat(513), locationId: 'site-1' });
    assert.deepEqual(sites, [{ ids: ['site-1'], name: 'site-1', group: '' }]);
  });

  it('has 200 characters of the names of a camera and its site', async () => {
    const { cameras } = await seenOf({
      cameraId: 'c',
      cameraName: 'n'.repeat(201),
      locationName: 's'.repeat(201),
    });
    const [name, group] = ['n', 's'].map((letter) => `${letter.repeat(199)}…`);
    assert.deepEqual(cameras, [{ ids: ['c'], name, group }]);
  });

  it('is small, whatever came', async () => {
    const giant = 'x'.repeat(900_000);
    const long = { eventClass: giant, cameraName: giant, locationName: giant, eventName: giant };
    assert.ok(JSON.stringify(await seenOf({ cameraId: 'c', ...long }, 40)).length < 2000);
  });
});

describe('what was seen, with what older events have named', () => {
  it('has each of them once', async () => {
    const seen = await seenIds([holding([['north', 1, 'security']])], new Set(['north']));
    const { classes } = withNamed(seen, { ...NO_IDS, classes: ['Security', 'own'] });
    assert.deepEqual(
      classes.map(({ name }) => name),
      ['security', 'own'],
    );
  });
});
