import { WISH } from '../calls/tables';

/** What is told on the channel of an inbox. */
export type Notice = { wishFor: string } | { endpoint: string | undefined };

/** @param payload one that begins with `!` is of a wish, any other is an endpoint; empty where something may wait at any endpoint */
export function readNotice(payload: string): Notice {
  if (payload.startsWith(WISH)) return { wishFor: payload.slice(WISH.length) };
  return { endpoint: payload === '' ? undefined : payload };
}
