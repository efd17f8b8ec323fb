import { createHash } from 'node:crypto';
import type { NodeAPI } from 'node-red';
import type { InboxPlace } from '../../lib/inbox/inboxes';
import type { ConnectionSettings } from '../../lib/inbox/postgres/connection-settings';
import type { InboxNews } from '../../lib/inbox/store-health';
import { storeFailed, type SharedStore, type SharedStoreNews } from '../../lib/inbox/store/port';
import { logSharedNews } from './shared-inbox-log';

type SettingsModule = typeof import('../../lib/inbox/postgres/connection-settings');
type StoreModule = typeof import('../../lib/inbox/postgres/postgres-store');
type InboxModule = typeof import('../../lib/inbox/shared-inbox');

/** The place of an inbox that several instances of Node-RED share. */
export function sharedPlace(RED: NodeAPI, settings: ConnectionSettings): InboxPlace {
  const { connectionTitle } = require('../../lib/inbox/postgres/connection-settings') as SettingsModule;
  const title = connectionTitle(settings);
  return placeOf(
    { title, key: keyOf(settings), store: storeOf(settings), servers: settings.hosts.length },
    (news) => {
      // Loaded here and not above, as all of PostgreSQL: most inboxes are files.
      const { PostgresStore } = require('../../lib/inbox/postgres/postgres-store') as StoreModule;
      return new PostgresStore({ settings }, news);
    },
    (news) => logSharedNews(RED, title, news),
  );
}

/**
 * In the place of one that cannot be opened: alarms for it are left unanswered, and the service sends them again. In any other
 * inbox they would lie where nobody looks for them once this one can be opened. Whoever refuses it tells the log why.
 * @param reason why not, and what to do
 */
export function refusedPlace({ id, name }: { id: string; name: string }, reason: string): InboxPlace {
  const key = `refused ${id} ${reason}`;
  const sentence = reason.replace(/\.$/, '');
  return placeOf(
    { title: name || 'PostgreSQL', key, store: key },
    (news) => refusingStore(news, sentence),
    () => undefined,
  );
}

function placeOf(
  place: Pick<InboxPlace, 'title' | 'key' | 'store' | 'servers'>,
  open: (news: SharedStoreNews) => SharedStore,
  log: (news: InboxNews) => void,
): InboxPlace {
  return {
    ...place,
    open: ({ keep }) => {
      const { SharedInbox } = require('../../lib/inbox/shared-inbox') as InboxModule;
      return new SharedInbox({ open, keep, log });
    },
  };
}

/** Of all that opens it; from what it holds no password can be read. */
function keyOf(settings: ConnectionSettings): string {
  return createHash('sha256').update(JSON.stringify(settings)).digest('hex');
}

/** One schema of one database, whoever logs in there. */
function storeOf({ hosts, database, schema }: ConnectionSettings): string {
  const names = hosts.map(({ name, port }) => `${name.toLowerCase()}:${port}`).sort();
  return JSON.stringify([names, database, schema]);
}

function refusingStore(news: SharedStoreNews, reason: string): SharedStore {
  queueMicrotask(() => news.onFault(reason));
  return {
    call: () => Promise.reject(storeFailed(reason)),
    mayHandOver: () => false,
    takePart: () => undefined,
    standAside: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
