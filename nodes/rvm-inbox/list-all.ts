import type { Inbox, ListedMessage, ListQuery } from '../../lib/inbox/inbox';

/**
 * Messages of several inboxes, newest first, as far as they can be read.
 * @returns `faults` of those that cannot
 */
export async function listAll(
  inboxes: readonly Inbox[],
  query: ListQuery,
): Promise<{ messages: ListedMessage[]; faults: unknown[] }> {
  const answers = await Promise.allSettled(inboxes.map((inbox) => inbox.list(query)));
  const messages = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  // Each list has its order already.
  if (answers.length > 1) messages.sort((one, other) => other.receivedTime.localeCompare(one.receivedTime));
  const faults = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as unknown] : [],
  );
  return { messages: messages.slice(0, query.limit), faults };
}
