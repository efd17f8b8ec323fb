import type { NodeAPI } from 'node-red';
import type { KnownLocation } from '../../lib/inbox/inboxes';
import type { Incident, LostTime } from '../../lib/inbox/model';
import type { SlowPeriod, InboxEvents } from '../../lib/inbox/store-health';
import { timeText } from '../../lib/inbox/store/stored-message';

/** Full namespace: the `RED` passed in is often that of *webhook in*, which searches its own texts only. */
const INBOX_TEXTS = '@rvm/node-red-remote-monitoring/rvm-inbox:rvm-inbox';
const LOG = `${INBOX_TEXTS}.log`;

/**
 * Logs news of an inbox for the operator.
 * @param inbox its folder; the title of one that several instances share
 */
export function logNews(RED: NodeAPI, inbox: string, news: InboxEvents, isShared = false): void {
  const folder = 'folder' in news && news.folder !== undefined ? news.folder : inbox;
  const log = isShared ? `${LOG}.shared` : LOG;
  const say = (level: 'error' | 'warn' | 'info', text: string, values = {}): void =>
    RED.log[level](RED._(`${log}.${text}`, { ...news, folder, inbox, ...values }));
  switch (news.kind) {
    case 'line':
      return RED.log.error(news.line);
    case 'fault':
    case 'spilling':
    case 'left':
      return say('error', news.kind);
    case 'no-spill':
      return say('error', 'noSpill');
    case 'reserve-used':
      return say('error', 'reserveUsed');
    case 'hangs':
      return say('error', 'hangs', { since: seconds(news.since) });
    case 'epoch-lost':
      return say('error', 'epochLost', { since: seconds(news.stood) });
    case 'unwatched':
      return say('warn', 'unwatched');
    case 'volatile':
    case 'network':
      return say('warn', news.folder === undefined ? news.kind : `spill.${news.kind}`);
    case 'read-back':
      return say('warn', 'readBack');
    case 'disk-low':
      return say('warn', 'diskLow', { free: Math.round(news.freeBytes / 1024 / 1024) });
    case 'slow':
      return isShared ? say('warn', 'slow', { took: seconds(news.took) }) : logSlow(RED, folder, news);
    case 'back':
      // Of spilled messages `read-back` reports it, and in a file nothing else is away.
      return isShared ? say('warn', 'back') : undefined;
    case 'taken-over':
      // An instance that stopped in order leaves no events to take over.
      return say(news.count > 0 ? 'warn' : 'info', 'tookOver');
    case 'unsafe':
      return say('warn', 'warning', { warning: RED._(`${INBOX_TEXTS}.warning.${news.what}`) });
    case 'restored':
      return RED.log.warn(textIn(RED, folder, news));
    case 'refuses':
      // A shared inbox has nowhere else to keep anything, and has told of its fault.
      return isShared ? undefined : RED.log.error(textIn(RED, folder, news));
    case 'made-anew':
    case 'moved':
    case 'found':
    case 'salvaged':
      return RED.log.error(textIn(RED, folder, news));
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
