import { SLOTS, WISH } from '../calls/tables';

/** What is told on the channel of an inbox. */
export type Notice = { wishFor: string } | { slotsOf: string; by: string } | { endpoint: string | undefined };

/**
 * @param payload one that begins with `!` is of a wish, or, with `!slots `, of slots: any other is an endpoint; empty where
 * something may wait at any endpoint
 */
export function readNotice(payload: string): Notice {
  if (payload.startsWith(SLOTS)) return ofSlots(payload.slice(SLOTS.length));
  if (payload.startsWith(WISH)) return { wishFor: payload.slice(WISH.length) };
  return { endpoint: payload === '' ? undefined : payload };
}

function ofSlots(rest: string): Notice {
  const [by = ''] = rest.split(' ', 1);
  return { slotsOf: rest.slice(by.length + 1), by };
}
