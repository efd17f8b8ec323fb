import type { NodeAPI } from 'node-red';
import type { KnownLocation } from '../../lib/inbox/inboxes';
import type { Incident, LostTime } from '../../lib/inbox/model';
import type { SlowPeriod, InboxEvents } from '../../lib/inbox/store-health';
import { timeText } from '../../lib/inbox/store/stored-message';

/** Full namespace: the `RED` passed in is often that of *webhook in*, which searches its own texts only. */
const INBOX_TEXTS = '@rvm/node-red-remote-monitoring/rvm-inbox:rvm-inbox';
const LOG = `${INBOX_TEXTS}.log`;

/** Logs news of a local inbox for the operator. */
export function logNews(RED: NodeAPI, ofInbox: string, news: InboxEvents): void {
  const folder = 'folder' in news && news.folder !== undefined ? news.folder : ofInbox;
  switch (news.kind) {
    case 'line':
      return RED.log.error(news.line);
    case 'fault':
      return RED.log.error(RED._(`${LOG}.fault`, { folder, reason: news.reason }));
    case 'spilling':
      return RED.log.error(RED._(`${LOG}.spilling`, { folder }));
    case 'slow':
      return logSlow(RED, folder, news);
    case 'hangs':
      return RED.log.error(RED._(`${LOG}.hangs`, { folder, since: seconds(news.since) }));
    case 'no-spill':
      return RED.log.error(RED._(`${LOG}.noSpill`, { folder, reason: news.reason }));
    case 'left':
      return RED.log.error(RED._(`${LOG}.left`, { file: news.file }));
    case 'read-back':
      return RED.log.warn(RED._(`${LOG}.readBack`, { folder, count: news.count }));
    case 'restored':
      return RED.log.warn(textIn(RED, folder, news));
    case 'refuses':
    case 'made-anew':
    case 'moved':
    case 'found':
    case 'salvaged':
      return RED.log.error(textIn(RED, folder, news));
    case 'unwatched':
      return RED.log.warn(RED._(`${LOG}.unwatched`, { folder }));
    case 'volatile':
    case 'network': {
      const text = news.folder === undefined ? news.kind : `spill.${news.kind}`;
      return RED.log.warn(RED._(`${LOG}.${text}`, { folder, fileSystem: news.fileSystem }));
    }
    case 'disk-low':
      return RED.log.warn(
        RED._(`${LOG}.diskLow`, { folder, free: Math.round(news.freeBytes / 1024 / 1024) }),
      );
    case 'reserve-used':
      return RED.log.error(RED._(`${LOG}.reserveUsed`, { folder }));
    case 'back':
      // For spilled messages, `read-back` reports it.
      return undefined;
    case 'unsafe':
    case 'epoch-lost':
    case 'taken-over':
      // Kinds of a shared inbox, which has its own log function.
      return undefined;
    default:
      return news satisfies never;
  }
}

/** Logs a slow store with its times. An error, which concerns the disk, only where writes to the disk were slow repeatedly. */
function logSlow(RED: NodeAPI, folder: string, { cause, took, sync, work, slowSyncs }: SlowPeriod): void {
  const times = { took: seconds(took), sync: seconds(sync), work: seconds(work) };
  const line = RED._(`${LOG}.slow.${cause}`, { folder, ...times, times: slowSyncs });
  if (cause === 'disk') RED.log.error(line);
  else RED.log.warn(line);
}

/**
 * Text of an incident of an inbox, and what to do. It names no path of this machine.
 * @param title of the inbox, as shown to users
 */
export function incidentText(RED: NodeAPI, title: string, incident: Incident): string {
  const isOfSpare = 'folder' in incident && incident.folder !== undefined;
  return textIn(RED, isOfSpare ? RED._(`${LOG}.spill.in`, { folder: title }) : title, incident);
}

function textIn(RED: NodeAPI, folder: string, incident: Incident): string {
  switch (incident.kind) {
    case 'moved':
      return RED._(`${LOG}.moved.${incident.what}`, { folder });
    case 'found':
    case 'salvaged': {
      const { kind, ...counts } = incident;
      return RED._(`${LOG}.${kind}`, { ...counts, folder });
    }
    case 'restored':
    case 'made-anew': {
      const text = incident.kind === 'restored' ? 'restored' : 'madeAnew';
      return `${RED._(`${LOG}.${text}`, { folder })}${lostText(RED, incident)}`;
    }
    case 'refuses':
      return RED._(`${LOG}.refuses`, { folder, reason: incident.reason });
    case 'takes':
      return RED._(`${LOG}.takes`, { folder });
    default:
      return incident satisfies never;
  }
}

/** The period whose messages may be lost, as far as it is known. */
function lostText(RED: NodeAPI, { from, to }: LostTime): string {
  const times = { from: timeText(from ?? 0), to: timeText(to ?? 0) };
  if (from !== undefined && to !== undefined) return ` ${RED._(`${LOG}.lost.between`, times)}`;
  if (from !== undefined) return ` ${RED._(`${LOG}.lost.since`, times)}`;
  return to === undefined ? '' : ` ${RED._(`${LOG}.lost.until`, times)}`;
}

/**
 * Seconds with one decimal, for people.
 * @param ms milliseconds
 */
function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

/**
 * Warns of events that no node processes any more: `leftBehind` in an inbox no longer used, `abandoned` by their webhook node.
 */
export function logForgotten(
  RED: NodeAPI,
  kind: 'leftBehind' | 'abandoned',
  { title, folder }: KnownLocation,
  count: number,
): void {
  const text = folder === undefined ? `${kind}Shared` : kind;
  RED.log.warn(RED._(`${LOG}.${text}`, { folder: title, inbox: title, count }));
}

const SHARED_LOG = `${INBOX_TEXTS}.log.shared`;

/** Logs news of a shared inbox (several instances) for the operator. */
export function logSharedNews(RED: NodeAPI, inbox: string, news: InboxEvents): void {
  switch (news.kind) {
    case 'fault':
      return RED.log.error(RED._(`${SHARED_LOG}.fault`, { inbox, reason: news.reason }));
    case 'back':
      return RED.log.warn(RED._(`${SHARED_LOG}.back`, { inbox }));
    case 'slow':
      return RED.log.warn(RED._(`${SHARED_LOG}.slow`, { inbox, took: seconds(news.took) }));
    case 'hangs':
      return RED.log.error(RED._(`${SHARED_LOG}.hangs`, { inbox, since: seconds(news.since) }));
    case 'epoch-lost':
      return RED.log.error(RED._(`${SHARED_LOG}.epochLost`, { inbox, since: seconds(news.stood) }));
    case 'taken-over':
      return logTakenOver(RED, inbox, news);
    case 'unsafe':
      return logUnsafe(RED, inbox, news.what);
    case 'line':
      return RED.log.error(news.line);
    case 'restored':
    case 'made-anew':
    case 'spilling':
    case 'refuses':
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
      // Kinds of an inbox in a file.
      return undefined;
    default:
      return news satisfies never;
  }
}

/** A warning only with events to take over: an instance that stopped in order leaves none. */
function logTakenOver(RED: NodeAPI, inbox: string, { name, count }: { name: string; count: number }): void {
  const line = RED._(`${SHARED_LOG}.tookOver`, { inbox, name, count });
  if (count > 0) RED.log.warn(line);
  else RED.log.info(line);
}

/** Logs a weakness of a server that can be used all the same. */
function logUnsafe(RED: NodeAPI, inbox: string, what: string): void {
  const warning = RED._(`${INBOX_TEXTS}.warning.${what}`);
  RED.log.warn(RED._(`${SHARED_LOG}.warning`, { inbox, warning }));
}
