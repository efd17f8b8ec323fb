import { bytesToHash, type RawMessage } from './authenticate';
import type { ReceivingStation } from './receiving-station';

/**
 * Bodies that are longer are proven in a thread, in bytes: a hash or the JSON of 1 MiB would hold up all of Node-RED, and a
 * stranger may send as many as they like. Events are far smaller.
 */
export const LARGE_BODY = 64 * 1024;

/** Most that is hashed in the main thread to refuse a message, in bytes: half a millisecond where hashing takes no longer than that for 512 KiB. */
const MOST_HASHED = 8 * LARGE_BODY;
/**
 * Bodies of up to so many bytes never wait for the thread, however many phrases there are: they are what the service sends, and no
 * flood of larger ones may keep them out.
 */
const ORDINARY_BODY = 4 * 1024;

/** Whether a stranger's message would take long to refuse: each phrase of a path hashes all of the body. */
export function takesLong(
  message: Pick<RawMessage, 'body' | 'authorization'>,
  stations: readonly ReceivingStation[],
): boolean {
  const { length } = message.body;
  if (length <= ORDINARY_BODY) return false;
  return length > LARGE_BODY || bytesToHash(message, stations) > MOST_HASHED;
}
