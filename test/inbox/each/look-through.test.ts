import assert from 'node:assert/strict';
import type { ListedMessage } from '../../../lib/inbox/model';
import { searchInboxes } from '../../../lib/inbox/searches';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { proven } from '../samples';

const BEGIN = Date.parse('2026-03-04T05:06:07.000Z');
const FEW_AT_A_TIME = { most: 1000, page: 10, large: 10 };
/** Of one message, in bytes. */
const LARGE = 400_000;

/** Messages of one millisecond, which are named by it and by their number. */
async function accept(inbox: TestedInbox, millisecond: number, count: number): Promise<void> {
  const receivedTime = new Date(BEGIN + millisecond).toISOString();
  const messages = Array.from({ length: count }, (_, index) =>
    proven({ cameraName: `${millisecond} ${index}` }, { receivedTime }),
  );
  await Promise.all(messages.map((message) => inbox.accept(message)));
}

async function all(inboxes: readonly TestedInbox[], bounds = FEW_AT_A_TIME) {
  const found: ListedMessage[] = [];
  const { count, isCut } = await searchInboxes(inboxes, 'all', (message) => found.push(message), bounds);
  return { found, looked: count, isCut };
}

function namesOf(messages: readonly ListedMessage[]): string[] {
  return messages.map(({ event }) => String(event.cameraName));
}

inEachStore('a look through the messages of inboxes', (open) => {
  it('finds all of one millisecond, however many pages they fill, each once, and those before and after', async () => {
    const inbox = await open();
    for (const [index, count] of [3, 64, 3].entries()) await accept(inbox, index + 1, count);
    const { found, looked, isCut } = await all([inbox]);
    assert.equal(new Set(namesOf(found)).size, 70);
    assert.deepEqual([found.length, looked, isCut], [70, 70, false]);
  });

  it('finds those of a millisecond that the end of a page divides, newest first', async () => {
    const inbox = await open();
    for (let millisecond = 0; millisecond < 5; millisecond += 1) await accept(inbox, millisecond, 7);
    const { found } = await all([inbox]);
    const milliseconds = found.map(({ receivedTime }) => Date.parse(receivedTime) - BEGIN);
    assert.deepEqual(
      milliseconds,
      Array.from({ length: 35 }, (_, index) => 4 - Math.floor(index / 7)),
    );
  });

  it('finds those of one millisecond in several inboxes', async () => {
    const inboxes = [await open({ name: 'one' }), await open({ name: 'other' })];
    for (const inbox of inboxes) await accept(inbox, 1, 24);
    const { found, looked } = await all(inboxes);
    assert.deepEqual([found.length, looked], [48, 48]);
  });

  it('has the event of each where so many are too large for one list', async () => {
    const inbox = await open();
    const filler = 'x'.repeat(LARGE);
    for (let index = 0; index < 100; index += 1)
      await inbox.accept(proven({ cameraName: `${index}`, eventType: filler }));
    const { found } = await all([inbox], { most: 1000, page: 500, large: 32 });
    assert.equal(new Set(namesOf(found)).size, 100);
  });

  it('looks at the newest alone where there are very many, and says so', async () => {
    const inbox = await open();
    for (const millisecond of [1, 2]) await accept(inbox, millisecond, 30);
    const { found, looked, isCut } = await all([inbox], { ...FEW_AT_A_TIME, most: 30 });
    assert.deepEqual([looked, isCut], [30, true]);
    assert.ok(namesOf(found).every((name) => name.startsWith('2 ')));
    assert.equal((await all([inbox], { ...FEW_AT_A_TIME, most: 60 })).isCut, false);
  });
});
