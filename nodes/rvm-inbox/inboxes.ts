import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import { makeFolder } from '../../lib/make-folder';
import type { Inbox } from '../../lib/inbox/inbox';
import type { InboxNews } from '../../lib/inbox/store-health';
import { onFlows } from '../support/flow-run';

type InboxModule = typeof import('../../lib/inbox/durable-inbox');

export interface InboxSettings {
  /** '' = `remote-monitoring` in the user directory. */
  folder: string;
  /** '' = `spill` in the folder. */
  spillFolder: string;
  keyDays: number;
  bodyDays: number;
}

export const DEFAULTS: InboxSettings = { folder: '', spillFolder: '', keyDays: 7, bodyDays: 30 };

interface Entry {
  folder: string;
  inbox: DurableInbox;
  /** What its folder is used by: inbox nodes and webhook nodes. */
  users: Set<object>;
  /** What inbox nodes lay down; the first counts. */
  claims: { by: object; settings: InboxSettings }[];
}

/** With its namespace: the `RED` at hand is often that of *webhook in*, which looks among its own texts. */
const LOG = '@rvm/node-red-remote-monitoring/rvm-inbox:rvm-inbox.log';
/** After the start of the flows, in milliseconds. */
const ABANDONED_AFTER = 3000;
const DAY = 24 * 60 * 60 * 1000;

/** By folder. They stay open over deploys: what arrives meanwhile is stored all the same. */
const entries = new Map<string, Entry>();
/** Live *settle event* nodes. */
const settlers = new Set<object>();
const watched = new WeakSet<NodeAPI['events']>();

/** The inbox of a folder, opened at its first use; `user` lets go of it with `leaveInbox`. */
export function useInbox(RED: NodeAPI, settings: Pick<InboxSettings, 'folder'>, user: object): Inbox {
  const entry = entryOf(RED, settings.folder);
  entry.users.add(user);
  return entry.inbox;
}

/** Lays down how an inbox is kept. Of several nodes with one folder the first counts. */
export function claimInbox(RED: NodeAPI, settings: InboxSettings, by: object): void {
  const entry = entryOf(RED, settings.folder);
  entry.users.add(by);
  entry.claims.push({ by, settings });
  applyClaim(entry);
}

/** True where another inbox node has laid down otherwise for the same folder. */
export function isOverruled(by: object): boolean {
  for (const { claims } of entries.values()) {
    const [first] = claims;
    const own = claims.find((claim) => claim.by === by);
    if (own !== undefined && first !== undefined)
      return !SETTINGS.every((name) => own.settings[name] === first.settings[name]);
  }
  return false;
}

const SETTINGS = ['spillFolder', 'keyDays', 'bodyDays'] as const;

export function leaveInbox(user: object): void {
  for (const entry of entries.values()) {
    entry.users.delete(user);
    if (!entry.claims.some(({ by }) => by === user)) continue;
    entry.claims = entry.claims.filter(({ by }) => by !== user);
    // Its settings stay until another lays down others: a deploy closes a node before it builds it anew.
    if (entry.claims.length > 0) applyClaim(entry);
  }
}

function applyClaim({ claims, inbox, folder }: Entry): void {
  inbox.configure(optionsOf(folder, claims[0]?.settings ?? DEFAULTS));
}

/** Every inbox of this process. */
export function allInboxes(): Inbox[] {
  return [...entries.values()].map(({ inbox }) => inbox);
}

/** Notes that a *settle event* node lives; returns the way to end that. */
export function addSettler(settler: object): () => void {
  settlers.add(settler);
  return () => settlers.delete(settler);
}

export function hasSettler(): boolean {
  return settlers.size > 0;
}

function entryOf(RED: NodeAPI, setting: string): Entry {
  const folder = realFolder(RED, setting);
  const known = entries.get(folder);
  if (known !== undefined) return known;
  closeUnusedLater(RED);
  // Loaded here and not above: registering types must not start a thread.
  const { DurableInbox } = require('../../lib/inbox/durable-inbox') as InboxModule;
  const inbox = new DurableInbox({
    file: path.join(folder, 'inbox.sqlite'),
    ...optionsOf(folder, DEFAULTS),
    log: (news) => tell(RED, folder, news),
  });
  const entry: Entry = { folder, inbox, users: new Set(), claims: [] };
  entries.set(folder, entry);
  return entry;
}

/** One name for one folder, whatever links lead to it. */
function realFolder(RED: NodeAPI, setting: string): string {
  const folder = path.resolve(RED.settings.userDir ?? process.cwd(), setting || 'remote-monitoring');
  try {
    makeFolder(folder);
    return fs.realpathSync(folder);
  } catch {
    // The store will say what is wrong with it.
    return folder;
  }
}

function optionsOf(
  folder: string,
  { spillFolder, keyDays, bodyDays }: InboxSettings,
): Parameters<DurableInbox['configure']>[0] {
  return {
    spillFolder: spillFolder === '' ? path.join(folder, 'spill') : path.resolve(folder, spillFolder),
    keep: { keys: keyDays * DAY, bodies: bodyDays * DAY },
  };
}

/** After a deploy an inbox that no node uses any more lets go of its file. */
function closeUnusedLater(RED: NodeAPI): void {
  if (watched.has(RED.events)) return;
  watched.add(RED.events);
  onFlows(RED, 'started', () => {
    for (const [folder, entry] of entries) {
      const { users, inbox, claims } = entry;
      if (users.size > 0) {
        if (claims.length === 0) applyClaim(entry);
        continue;
      }
      entries.delete(folder);
      closeInbox(RED, folder, inbox).catch(() => undefined);
    }
    for (const { inbox } of entries.values()) inbox.checkSpillFolder();
    // At the first start the store is not open yet.
    setTimeout(() => reportAbandoned(RED), ABANDONED_AFTER).unref();
  });
}

/** What is still open there, nobody looks at any more: somebody should know. */
async function closeInbox(RED: NodeAPI, folder: string, inbox: Inbox): Promise<void> {
  const open = await inbox.list({ state: 'open', limit: 1000 }).catch(() => []);
  if (open.length > 0) RED.log.warn(RED._(`${LOG}.leftBehind`, { count: open.length, folder }));
  await inbox.close();
}

/** Events whose webhook node is gone for good wait in vain; somebody should know. */
function reportAbandoned(RED: NodeAPI): void {
  for (const { inbox, folder } of entries.values()) {
    const count = inbox.abandoned().reduce((sum, endpoint) => sum + inbox.waiting(endpoint), 0);
    if (count > 0) RED.log.warn(RED._(`${LOG}.abandoned`, { count, folder }));
  }
}

function tell(RED: NodeAPI, ofInbox: string, news: InboxNews): void {
  const folder = 'folder' in news && news.folder !== undefined ? news.folder : ofInbox;
  switch (news.kind) {
    case 'line':
      return RED.log.error(news.line);
    case 'fault':
      return RED.log.error(RED._(`${LOG}.fault`, { folder, reason: news.reason }));
    case 'spilling':
      return RED.log.error(RED._(`${LOG}.spilling`, { folder }));
    case 'no-spill':
      return RED.log.error(RED._(`${LOG}.noSpill`, { folder, reason: news.reason }));
    case 'left':
      return RED.log.error(RED._(`${LOG}.left`, { file: news.file }));
    case 'read-back':
      return RED.log.warn(RED._(`${LOG}.readBack`, { count: news.count }));
    case 'restored':
      return RED.log.warn(RED._(`${LOG}.restored`, { folder }));
    case 'volatile':
      return RED.log.warn(RED._(`${LOG}.volatile`, { folder, fileSystem: news.fileSystem }));
    case 'network':
      return RED.log.warn(RED._(`${LOG}.network`, { folder, fileSystem: news.fileSystem }));
    case 'disk-low':
      return RED.log.warn(
        RED._(`${LOG}.diskLow`, { folder, free: Math.round(news.freeBytes / 1024 / 1024) }),
      );
    case 'reserve-used':
      return RED.log.error(RED._(`${LOG}.reserveUsed`, { folder }));
    default:
      return news satisfies never;
  }
}
