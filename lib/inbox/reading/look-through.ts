import type { Inbox, ListedMessage, ListQuery } from '../inbox';
import { listAll } from './read-all';

/** Messages that are looked at: the newest; and how many of them are read at a time. */
const BOUNDS = { most: 20_000, page: 500 };

export interface Found {
  /** Those that are wanted, newest first. */
  found: ListedMessage[];
  looked: number;
  /** True where older ones were not looked at. */
  isCut: boolean;
}

/** Looks through the newest messages of several inboxes, as far as these can be read. */
export async function lookThrough(
  inboxes: readonly Pick<Inbox, 'list'>[],
  state: ListQuery['state'],
  isWanted: (message: ListedMessage) => boolean,
  { most, page } = BOUNDS,
): Promise<Found> {
  const found: ListedMessage[] = [];
  const known = new Set<string>();
  let limit = page;
  let until: number | undefined;
  for (;;) {
    const { messages } = await listAll(inboxes, { state, limit, ...(until !== undefined && { until }) });
    for (const message of messages) {
      if (known.has(message.deliveryId)) continue;
      if (known.size === most) return { found, looked: most, isCut: true };
      known.add(message.deliveryId);
      if (isWanted(message)) found.push(message);
    }
    if (messages.length < limit) return { found, looked: known.size, isCut: false };
    const [first, last] = [timeOf(messages[0]), timeOf(messages.at(-1))];
    // Others may have come in the same millisecond as the last: it is read again, and more at a time where it fills a page.
    until = last + 1;
    limit = first === last ? 2 * limit : page;
  }
}

function timeOf(message: ListedMessage | undefined): number {
  return Date.parse(message?.receivedTime ?? '');
}
