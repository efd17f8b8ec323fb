import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { ensurePrivateFolder } from '../../lib/files';
import { INBOX_FILE } from '../../lib/inbox/model';
import type { InboxLocation } from '../../lib/inbox/inboxes';
import type { ConnectionSettings } from '../../lib/inbox/postgres/connection-settings';
import type { InboxEvents } from '../../lib/inbox/store-health';
import { type SharedStore, type SharedStoreEvents, storeFailed } from '../../lib/inbox/store/port';
import type { TlsSettings } from '../../lib/tls';
import { type Engine, ENGINES, isUsableFolder, TLS } from '../support/rules';
import {
  ownFolder,
  type Properties,
  textOf,
  unsetVariableError,
  unsetVariables,
  type UnsetVariables,
} from '../support/settings';
import { tlsOf } from '../support/tls-node';
import { logNews } from './inbox-log';

/** Settings of an inbox node, as entered in its dialog. */
interface Entered {
  id: string;
  name: string;
  properties: Properties;
  credentials: Properties;
}

/** The place of an inbox as read from the settings of its node. */
interface PlaceReading {
  /** Undefined: the default inbox is used instead. */
  place: InboxLocation | undefined;
  unset: UnsetVariables | undefined;
  /** Why the settings cannot be used, and what to do; undefined where they can, or where variables are not set. */
  fault?: string;
}

/** Properties that only the other engine uses. */
const UNUSED: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: ['schema', 'tls', 'instanceName'],
  postgres: ['folder', 'spillFolder'],
};

/** Undefined for an unknown engine. */
export function engineOf(properties: Properties): Engine | undefined {
  const wanted = textOf(properties, 'engine').trim() || 'sqlite';
  return ENGINES.find((engine) => engine === wanted);
}

export function readPlace(RED: NodeAPI, entered: Entered): PlaceReading {
  const engine = engineOf(entered.properties);
  return engine === 'sqlite' ? readFolder(RED, entered) : readShared(RED, entered, engine);
}

/** The default folder replaces one that cannot be used: an alarm stored there is better than a lost one. */
function readFolder(RED: NodeAPI, { properties }: Entered): PlaceReading {
  const unset = unsetVariables(usedBy('sqlite', properties));
  if (unset !== undefined) return { place: undefined, unset };
  const folder = textOf(properties, 'folder').trim();
  const folders = [folder, textOf(properties, 'spillFolder').trim()];
  const wrong = folders.find((each) => !isUsableFolder(each));
  if (wrong === undefined) return { place: folderPlace(RED, folder), unset };
  return { place: undefined, unset, fault: RED._('rvm-inbox.errors.noFolder', { folder: wrong }) };
}

/** No other inbox replaces one that is meant to be shared. */
function readShared(RED: NodeAPI, entered: Entered, engine: Engine | undefined): PlaceReading {
  const { properties, credentials } = entered;
  const unset = unsetVariables(usedBy('postgres', properties), credentials);
  const refused = (reason: string): InboxLocation => refusedPlace(entered, reason);
  if (unset !== undefined) return { place: refused(unsetVariableError(unset).message), unset };
  if (engine === undefined) {
    const fault = RED._('rvm-inbox.errors.engine');
    return { place: refused(fault), unset, fault };
  }
  try {
    return { place: sharedPlace(RED, connectionOf(RED, sharedSettingsOf(properties, credentials))), unset };
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    const fault = RED._('rvm-inbox.errors.unusable', { reason: error.message });
    return { place: refused(error.message), unset, fault };
  }
}

function usedBy(engine: Engine, properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !UNUSED[engine].includes(name)));
}

type DurableInboxModule = typeof import('../../lib/inbox/durable-inbox');

/**
 * The place of an inbox in a local file.
 * @param setting '' = `remote-monitoring` in the user directory
 */
export function folderPlace(RED: NodeAPI, setting = ''): InboxLocation {
  const folder = realFolder(RED, setting);
  return {
    key: folder,
    store: folder,
    title: folder,
    folder,
    open: (keeping) => {
      // Loaded lazily: registering the node types must not start a thread.
      const { DurableInbox } = require('../../lib/inbox/durable-inbox') as DurableInboxModule;
      const file = path.join(folder, INBOX_FILE);
      const lastSequence = besideFlows(RED, folder);
      return new DurableInbox({ file, lastSequence, ...keeping, log: (news) => logNews(RED, folder, news) });
    },
  };
}

/**
 * File that stores the last sequence of an inbox. It lies outside of the inbox folder: restoring an old copy of the folder must
 * not restore this file, too.
 */
function besideFlows(RED: NodeAPI, folder: string): string {
  const name = createHash('sha256').update(shownFolder(RED, folder)).digest('hex').slice(0, 12);
  return path.join(RED.settings.userDir ?? process.cwd(), `remote-monitoring-${name}.last`);
}

/** A folder as shown to users: relative to the user directory where it lies inside. */
export function shownFolder(RED: NodeAPI, folder: string): string {
  const relative = path.relative(realFolder(RED, '.'), folder);
  return relative.startsWith('..') || path.isAbsolute(relative) ? folder : relative;
}

/** One name for one folder, whichever symbolic links lead to it. */
function realFolder(RED: NodeAPI, setting: string): string {
  const folder =
    setting === '' ? ownFolder(RED) : path.resolve(RED.settings.userDir ?? process.cwd(), setting);
  try {
    ensurePrivateFolder(folder);
    return fs.realpathSync(folder);
  } catch {
    // The store will report what is wrong with the folder.
    return folder;
  }
}

type SettingsModule = typeof import('../../lib/inbox/postgres/connection-settings');
type StoreModule = typeof import('../../lib/inbox/postgres/store');

/** The place of an inbox that several Node-RED instances share. */
function sharedPlace(RED: NodeAPI, settings: ConnectionSettings): InboxLocation {
  const { connectionTitle } = require('../../lib/inbox/postgres/connection-settings') as SettingsModule;
  const title = connectionTitle(settings);
  return placeOf(
    { title, key: keyOf(settings), store: storeOf(settings), servers: settings.hosts.length },
    (news) => {
      // Loaded lazily, like all of PostgreSQL: most inboxes are files.
      const { PostgresStore } = require('../../lib/inbox/postgres/store') as StoreModule;
      return new PostgresStore({ settings }, news);
    },
    (news) => logNews(RED, title, news, true),
  );
}

/**
 * Stands in for an inbox that cannot be opened: its alarms are left unanswered, and the service sends them again. In another
 * inbox they would stay unprocessed once this one can be opened. The caller logs the reason.
 * @param reason why not, and what to do
 */
function refusedPlace({ id, name }: { id: string; name: string }, reason: string): InboxLocation {
  const key = `refused ${id} ${reason}`;
  const sentence = reason.replace(/\.$/, '');
  return placeOf(
    { title: name || 'PostgreSQL', key, store: key },
    (news) => refusingStore(news, sentence),
    () => undefined,
  );
}

function placeOf(
  place: Pick<InboxLocation, 'title' | 'key' | 'store' | 'servers'>,
  share: (news: SharedStoreEvents) => SharedStore,
  log: (news: InboxEvents) => void,
): InboxLocation {
  return {
    ...place,
    open: ({ keep }) => {
      const { DurableInbox } = require('../../lib/inbox/durable-inbox') as DurableInboxModule;
      return new DurableInbox({ share, keep, log });
    },
  };
}

/** Hash of all connection settings; no password can be read from it. */
function keyOf(settings: ConnectionSettings): string {
  return createHash('sha256').update(JSON.stringify(settings)).digest('hex');
}

/** Identifies one schema of one database, whichever user logs in. */
function storeOf({ hosts, database, schema }: ConnectionSettings): string {
  const names = hosts.map(({ name, port }) => `${name.toLowerCase()}:${port}`).sort();
  return JSON.stringify([names, database, schema]);
}

function refusingStore(news: SharedStoreEvents, reason: string): SharedStore {
  queueMicrotask(() => news.onFault(reason));
  return {
    call: () => Promise.reject(storeFailed(reason)),
    isLeaseSafe: () => false,
    takePart: () => undefined,
    standAside: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** Settings of an inbox in PostgreSQL, as entered by the user. Contain a password: not for logs. */
export interface SharedSettings {
  connection: string;
  schema: string;
  /** One of the words in `TLS`, or the id of a TLS node. */
  tls: string;
  /** Empty = the name of this machine. */
  instanceName: string;
}

export function sharedSettingsOf(properties: Properties, credentials: Properties): SharedSettings {
  return {
    connection: textOf(credentials, 'connection').trim(),
    schema: textOf(properties, 'schema').trim() || 'rvm',
    tls: textOf(properties, 'tls').trim() || 'verify',
    instanceName: textOf(properties, 'instanceName').trim(),
  };
}

/**
 * Settings of the database connection. To be called once all config nodes exist.
 * @param allowed filters which settings of a TLS node may be used
 * @throws RvmError CONFIG_MISSING, which shows nothing of the connection
 */
export function connectionOf(
  RED: NodeAPI,
  { connection, schema, tls, instanceName }: SharedSettings,
  allowed: (tls: TlsSettings | undefined) => TlsSettings | undefined = (all) => all,
): ConnectionSettings {
  // Loaded lazily: most inboxes are files.
  const { readConnection } = require('../../lib/inbox/postgres/connection-settings') as SettingsModule;
  const word = TLS.find((choice) => choice === tls);
  return readConnection(connection, {
    schema,
    instanceName,
    tls: word ?? allowed(tlsOf(RED, tls, 'inbox')) ?? 'verify',
  });
}
