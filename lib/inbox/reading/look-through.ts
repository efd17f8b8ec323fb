import type { Inbox, ListedMessage, ListQuery } from '../inbox';
import { listAll } from './read-all';

/** Messages that are looked at: the newest; and how many of them are read at a time, also where they are large. */
const BOUNDS = { most: 20_000, page: 500, large: 32 };

export interface SearchPage {
  count: number;
  /** True where older ones were not looked at. */
  isCut: boolean;
}

/**
 * Looks through the newest messages of several inboxes, as far as these can be read.
 * @param look is shown each, newest first. All of them together may not fit into memory: it keeps what it needs of one
 */
export async function searchInboxes(
  inboxes: readonly Pick<Inbox, 'list'>[],
  state: ListQuery['state'],
  look: (message: ListedMessage) => void,
  { most, page, large } = BOUNDS,
): Promise<SearchPage> {
  const known = new Set<string>();
  let size = page;
  let limit = size;
  let until: number | undefined;
  for (;;) {
    const { messages } = await listAll(inboxes, { state, limit, ...(until !== undefined && { until }) });
    if (limit > large && size > large && messages.some(lacksEvent)) {
      // A list has room for so many bytes: of fewer messages it has them all.
      limit = size = large;
      continue;
    }
    for (const message of messages) {
      if (known.has(message.deliveryId)) continue;
      if (known.size === most) return { count: most, isCut: true };
      known.add(message.deliveryId);
      look(message);
    }
    if (messages.length < limit) return { count: known.size, isCut: false };
    const [first, last] = [timeOf(messages[0]), timeOf(messages.at(-1))];
    // Others may have come in the same millisecond as the last: it is read again, and more at a time where it fills a page.
    until = last + 1;
    limit = first === last ? 2 * limit : size;
  }
}

function lacksEvent({ event }: ListedMessage): boolean {
  return Object.keys(event).length === 0;
}

function timeOf(message: ListedMessage | undefined): number {
  return Date.parse(message?.receivedTime ?? '');
}
