import assert from 'node:assert/strict';
import { EventFeed, PAGE, type FeedQuestion } from '../../nodes/rvm-sidebar/event-feed';
import { MOST_SHOWN, type FoundEvents, type SidebarRow } from '../../nodes/rvm-sidebar/overview';

/** One each second, newest first; of each what the list looks at. */
const rows = (count: number): SidebarRow[] =>
  Array.from({ length: count }, (_, index) => {
    const time = new Date(Date.UTC(2026, 2, 4, 5) - index * 1000).toISOString();
    return { time, deliveryId: `delivery ${index}` } as SidebarRow;
  });

describe('a list of events that may have older ones', () => {
  let asked: FeedQuestion[];
  let answers: { give: (answer: FoundEvents) => void; fail: (reason: Error) => void }[];
  let drawn: number;
  let feed: EventFeed;

  beforeEach(() => {
    [asked, answers, drawn] = [[], [], 0];
    feed = new EventFeed({
      state: 'dead',
      ask: (question) => {
        asked.push(question);
        return new Promise((give, fail) => answers.push({ give, fail }));
      },
      changed: () => (drawn += 1),
    });
  });

  async function answer(count: number): Promise<void> {
    answers.at(-1)?.give({ events: rows(count), matches: count, retryable: 0, looked: count, isCut: false });
    await new Promise(setImmediate);
  }

  function lookAgain(): void {
    feed.stale();
    feed.look();
  }

  const shown = (): SidebarRow[] => {
    const events = rows(PAGE);
    return feed.rows({ events, from: events.at(-1)?.time ?? null });
  };

  it('asks for nothing while nobody wants to see them', () => {
    feed.look();
    assert.deepEqual(asked, []);
  });

  it('has older ones once somebody wants to see them, and says so', async () => {
    feed.more();
    assert.deepEqual(asked, [{ state: 'dead', limit: 3 * PAGE }]);
    await answer(3 * PAGE);
    assert.deepEqual([shown().length, drawn], [3 * PAGE, 1]);
  });

  it('does not ask again at once, unless what there was has become stale', async () => {
    feed.more();
    await answer(150);
    feed.look();
    assert.equal(asked.length, 1);
    lookAgain();
    assert.equal(asked.length, 2);
  });

  it('does not ask again for what the runtime has told to be others before a pause is over', async () => {
    feed.more();
    await answer(150);
    feed.outdated();
    feed.look();
    assert.equal(asked.length, 1);
    feed.look(0);
    assert.equal(asked.length, 2);
  });

  it('asks again at once for what became stale while it was asked', async () => {
    feed.more();
    feed.stale();
    await answer(150);
    assert.deepEqual([asked.length, drawn], [2, 0]);
    await answer(149);
    assert.deepEqual([asked.length, drawn], [2, 1]);
  });

  it('asks no more once it is folded, and has the newest alone', async () => {
    feed.more();
    await answer(150);
    feed.fold();
    lookAgain();
    assert.equal(asked.length, 1);
    assert.deepEqual(shown(), rows(PAGE));
  });

  it('has more to show up to as many as the runtime tells, and none beyond those that there are', () => {
    assert.deepEqual([feed.hasMore(PAGE), feed.hasMore(PAGE + 1)], [false, true]);
    const count = 2 * MOST_SHOWN;
    while (feed.hasMore(count) && asked.length < 100) feed.more();
    assert.equal(feed.limit, MOST_SHOWN);
    assert.equal(feed.hasMore(count), false);
  });

  it('asks for other words at once, and takes no answer for the former ones', async () => {
    for (const words of ['gate', 'yard']) feed.search(words);
    await answer(3);
    const words = asked.map(({ search }) => search);
    assert.deepEqual([words, feed.found?.matches], [['gate', 'yard'], undefined]);
    await answer(1);
    assert.equal(feed.found?.matches, 1);
  });

  it('says why the runtime could not answer, until it can', async () => {
    feed.search('gate');
    answers.at(-1)?.fail(new Error('no runtime'));
    await new Promise(setImmediate);
    assert.match(feed.fault, /no runtime/);
    lookAgain();
    await answer(1);
    assert.equal(feed.fault, '');
  });
});
