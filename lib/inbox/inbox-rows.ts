import { forEachTimeSliced } from '../concurrency/iteration';
import { RvmError } from '../error';
import type { ListedMessage, ListQuery } from './inbox';
import type { PatientReading } from './patient-reading';
import type { LeasedMessage } from './store/protocol';
import { listed } from './store/stored-message';

/** What of the inbox belongs into a list; `fault`: why it is missing. */
export interface InboxRows {
  rows: LeasedMessage[];
  fault?: RvmError;
}

export async function rowsOf(reading: PatientReading, query: ListQuery): Promise<InboxRows> {
  try {
    return { rows: await reading.read('list', query) };
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    return { rows: [], fault: error };
  }
}

/** Newest first. @param rows of one moment, those that came later first */
export async function listedOf(
  rows: LeasedMessage[],
  { limit, history }: Pick<ListQuery, 'limit' | 'history'>,
): Promise<ListedMessage[]> {
  rows.sort((one, other) => other.received - one.received);
  const messages: ListedMessage[] = [];
  // Each body is read as JSON.
  await forEachTimeSliced(rows.slice(0, limit), (row) => messages.push(listed(row, history)));
  return messages;
}
