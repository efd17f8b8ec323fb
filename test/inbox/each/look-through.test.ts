import assert from 'node:assert/strict';
import type { ListedMessage } from '../../../lib/inbox/inbox';
import { lookThrough } from '../../../lib/inbox/reading/look-through';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { proven } from '../samples';

const BEGIN = Date.parse('2026-03-04T05:06:07.000Z');
const FEW_AT_A_TIME = { most: 1000, page: 10 };
const all = (): boolean => true;

/** Messages of one millisecond, which are named by it and by their number. */
async function accept(inbox: TestedInbox, millisecond: number, count: number): Promise<void> {
  const receivedTime = new Date(BEGIN + millisecond).toISOString();
  const messages = Array.from({ length: count }, (_, index) =>
    proven({ cameraName: `${millisecond} ${index}` }, { receivedTime }),
  );
  await Promise.all(messages.map((message) => inbox.accept(message)));
}

function namesOf(messages: readonly ListedMessage[]): string[] {
  return messages.map(({ event }) => String(event.cameraName));
}

inEachStore('a look through the messages of inboxes', (open) => {
  it('finds all of one millisecond, however many pages they fill, each once, and those before and after', async () => {
    const inbox = await open();
    for (const [millisecond, count] of [
      [1, 3],
      [2, 64],
      [3, 3],
    ] as const)
      await accept(inbox, millisecond, count);
    const { found, looked, isCut } = await lookThrough([inbox], 'all', all, FEW_AT_A_TIME);
    assert.equal(new Set(namesOf(found)).size, 70);
    assert.deepEqual([found.length, looked, isCut], [70, 70, false]);
  });

  it('finds those of a millisecond that the end of a page divides, newest first', async () => {
    const inbox = await open();
    for (let millisecond = 0; millisecond < 5; millisecond += 1) await accept(inbox, millisecond, 7);
    const { found } = await lookThrough([inbox], 'all', all, FEW_AT_A_TIME);
    const milliseconds = found.map(({ receivedTime }) => Date.parse(receivedTime) - BEGIN);
    assert.deepEqual(
      milliseconds,
      Array.from({ length: 35 }, (_, index) => 4 - Math.floor(index / 7)),
    );
  });

  it('finds those of one millisecond in several inboxes', async () => {
    const inboxes = [await open({ name: 'one' }), await open({ name: 'other' })];
    for (const inbox of inboxes) await accept(inbox, 1, 24);
    const { found, looked } = await lookThrough(inboxes, 'all', all, FEW_AT_A_TIME);
    assert.deepEqual([found.length, looked], [48, 48]);
  });

  it('finds what is wanted alone, and tells at how many it has looked', async () => {
    const inbox = await open();
    await accept(inbox, 1, 25);
    const isWanted = ({ event }: ListedMessage): boolean => event.cameraName === '1 7';
    const { found, looked } = await lookThrough([inbox], 'all', isWanted, FEW_AT_A_TIME);
    assert.deepEqual([namesOf(found), looked], [['1 7'], 25]);
  });

  it('looks at the newest alone where there are very many, and says so', async () => {
    const inbox = await open();
    for (const millisecond of [1, 2]) await accept(inbox, millisecond, 30);
    const { found, looked, isCut } = await lookThrough([inbox], 'all', all, { most: 30, page: 10 });
    assert.deepEqual([looked, isCut], [30, true]);
    assert.ok(namesOf(found).every((name) => name.startsWith('2 ')));
    assert.equal((await lookThrough([inbox], 'all', all, { most: 60, page: 10 })).isCut, false);
  });
});
