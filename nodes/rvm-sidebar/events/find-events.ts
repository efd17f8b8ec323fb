import type { NodeAPI } from 'node-red';
import { RvmError } from '../../../lib/error';
import type { ListedMessage } from '../../../lib/inbox/inbox';
import { lookThrough } from '../../../lib/inbox/reading/look-through';
import { matches } from '../../../lib/inbox/reading/matching';
import { listAll } from '../../../lib/inbox/reading/read-all';
import { wordsOf, type Words } from '../../../lib/text';
import type { JsonRecord } from '../../../lib/json/json';
import { allStations } from '../../rvm-central-station/station';
import { allInboxes } from '../../rvm-inbox/inboxes';
import { MOST_SHOWN, type DeadLetters, type FoundEvents, type SidebarRow } from '../overview';
import type { Searches } from './searches';
import { sidebarRow } from './sidebar-row';

/** Finds events, also those that the overview does not have. @throws RvmError BAD_INPUT */
export async function findEvents(RED: NodeAPI, searches: Searches, asked: JsonRecord): Promise<FoundEvents> {
  const limit = Number(asked['limit']);
  const state = asked['state'];
  if (!(Number.isSafeInteger(limit) && limit > 0) || (state !== 'all' && state !== 'dead'))
    throw new RvmError('BAD_INPUT', 'Say of which list, all or dead, and how many rows.');
  const shown = Math.min(limit, MOST_SHOWN);
  const words = wordsOf(asked['search']);
  if (words.length === 0) {
    const { messages } = await listAll(allInboxes(), { state, limit: shown + 1 });
    const events = messages.slice(0, shown).map((message) => sidebarRow(RED, message));
    return {
      events,
      matches: null,
      retryable: null,
      looked: messages.length,
      isCut: messages.length > shown,
    };
  }
  return searches.run(JSON.stringify([state, shown, words]), () => search(RED, state, shown, words));
}

async function search(
  RED: NodeAPI,
  state: 'all' | 'dead',
  shown: number,
  words: Words,
): Promise<FoundEvents> {
  const isWanted = matching(RED, words);
  const found = { events: new Array<SidebarRow>(), matches: 0, retryable: 0 };
  const { count, isCut } = await lookThrough(allInboxes(), state, (message) => {
    if (!isWanted(message)) return;
    found.matches += 1;
    if (message.canRetry) found.retryable += 1;
    if (found.events.length < shown) found.events.push(sidebarRow(RED, message));
  });
  return { ...found, looked: count, isCut };
}

/** Those that a list of dead letters has, as far as they match. */
export async function deadLetters(RED: NodeAPI, searches: Searches, asked: JsonRecord): Promise<DeadLetters> {
  const words = wordsOf(asked['search']);
  return searches.run(JSON.stringify(['letters', words]), async () => {
    const isWanted = matching(RED, words);
    const letters: DeadLetters['letters'] = [];
    await lookThrough(allInboxes(), 'dead', (message) => {
      const { deliveryId, canRetry } = message;
      if (isWanted(message)) letters.push({ deliveryId, canRetry });
    });
    return { letters };
  });
}

/** Whether an event has these words. */
export function matching(RED: NodeAPI, words: Words): (message: ListedMessage) => boolean {
  if (words.length === 0) return () => true;
  const names = new Map(allStations(RED).map(({ key, name }) => [key, name]));
  return (message) => matches(message, words, names.get(message.station));
}
