import type { RvmError } from '../../error';
import type { Inbox, ListedMessage, ListQuery } from '../inbox';
import { mergedRows } from '../tally';
import type { TallyQuery, TallyRow } from '../tally-rows';

/**
 * Asks several inboxes, of which some may fail.
 * @returns the answers of those that could be read, and why the others could not
 */
export async function readAll<Source, Answer>(
  sources: readonly Source[],
  read: (source: Source) => Promise<Answer>,
): Promise<{ answers: Answer[]; faults: unknown[] }> {
  const results = await Promise.allSettled(sources.map(read));
  return {
    answers: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    faults: results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
  };
}

/**
 * Messages of several inboxes, newest first, as far as they can be read.
 * @returns `faults` of those that cannot be read: what they hold is missing
 */
export async function listAll(
  inboxes: readonly Pick<Inbox, 'list'>[],
  query: ListQuery,
): Promise<{ messages: ListedMessage[]; faults: RvmError[] }> {
  const lists = await Promise.all(inboxes.map((inbox) => inbox.list(query)));
  const messages = lists.flatMap((list) => list.messages);
  const faults = lists.flatMap(({ fault }) => fault ?? []);
  // Each list has its order already.
  if (lists.length > 1) messages.sort((one, other) => other.receivedTime.localeCompare(one.receivedTime));
  return { messages: messages.slice(0, query.limit), faults };
}

/** Counts of several inboxes, as far as they can be read. @returns `faults` of those that cannot */
export async function tallyAll(
  inboxes: readonly Pick<Inbox, 'tally'>[],
  query: TallyQuery,
): Promise<{ rows: TallyRow[]; faults: unknown[] }> {
  // What is not among the first groups of one inbox may be so of all.
  const whole = { ...query, limit: Infinity };
  const { answers, faults } = await readAll(inboxes, (inbox) => inbox.tally(whole));
  return { rows: mergedRows(answers.flat(), query), faults };
}
