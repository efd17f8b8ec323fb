import { isEnd } from '../../event';
import { readTime } from '../../time';
import type { Inbox, ListedMessage } from '../inbox';
import { listAll } from './read-all';

/** An alarm has few events, and its end is the last of them. */
const MOST = 20;

/**
 * When an alarm ended, in milliseconds since 1970, as far as any inbox knows; also where the flow has not got that event yet.
 * @param since when its first event came, in milliseconds since 1970: no older ones are looked at
 */
export async function endOfAlarm(
  inboxes: readonly Inbox[],
  alarm: { station: string; alarmId: string },
  since: number,
): Promise<number | undefined> {
  const { messages } = await listAll(inboxes, { state: 'all', since, alarm, limit: MOST });
  const end = messages.find(({ event }) => isEnd(event));
  return end && endTimeOf(end);
}

/** A time that cannot be read ends the alarm all the same. */
function endTimeOf({ event, receivedTime }: ListedMessage): number | undefined {
  return (readTime(event.eventEndTime) ?? readTime(receivedTime))?.getTime();
}
