import type { NodeAPI } from 'node-red';
import type { InboxNews } from '../../lib/inbox/store-health';
import { INBOX_TEXTS, seconds } from './inbox-log';

const LOG = `${INBOX_TEXTS}.log.shared`;

/** Logs what an operator should know of an inbox that several instances share. */
export function logSharedNews(RED: NodeAPI, inbox: string, news: InboxNews): void {
  switch (news.kind) {
    case 'fault':
      return RED.log.error(RED._(`${LOG}.fault`, { inbox, reason: news.reason }));
    case 'back':
      return RED.log.warn(RED._(`${LOG}.back`, { inbox }));
    case 'slow':
      return RED.log.warn(RED._(`${LOG}.slow`, { inbox, took: seconds(news.took) }));
    case 'hangs':
      return RED.log.error(RED._(`${LOG}.hangs`, { inbox, since: seconds(news.since) }));
    case 'epoch-lost':
      return RED.log.error(RED._(`${LOG}.epochLost`, { inbox, since: seconds(news.stood) }));
    case 'taken-over':
      return logTakenOver(RED, inbox, news);
    case 'unsafe':
      return logUnsafe(RED, inbox, news.what);
    case 'line':
      return RED.log.error(news.line);
    case 'restored':
    case 'made-anew':
    case 'spilling':
    case 'no-spill':
    case 'read-back':
    case 'left':
    case 'volatile':
    case 'network':
    case 'disk-low':
    case 'reserve-used':
    case 'salvaged':
    case 'moved':
    case 'found':
    case 'unwatched':
      // Of one that is a file.
      return undefined;
    default:
      return news satisfies never;
  }
}

/** One that was stopped in order has left nothing behind. */
function logTakenOver(RED: NodeAPI, inbox: string, { name, count }: { name: string; count: number }): void {
  const line = RED._(`${LOG}.tookOver`, { inbox, name, count });
  if (count > 0) RED.log.warn(line);
  else RED.log.info(line);
}

/** What is odd about a server that can be used. */
function logUnsafe(RED: NodeAPI, inbox: string, what: string): void {
  const warning = RED._(`${INBOX_TEXTS}.warning.${what}`);
  RED.log.warn(RED._(`${LOG}.warning`, { inbox, warning }));
}
