import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Inbox } from './inbox';
import { areSame, DEFAULT_SETTINGS, type InboxSettings } from './inbox-settings';
import type { RetentionPeriods } from './tidying';

/** Time between the start of the flows and the look for events that wait in vain, in milliseconds: a store opens meanwhile. */
const ABANDONED_AFTER = 3000;
const DAY = 24 * 60 * 60 * 1000;
/** Most events of an inbox that are counted when it is closed. */
const MOST_COUNTED = 1000;

/** How an inbox is kept. */
export interface Keeping {
  spillFolder: string;
  keep: RetentionPeriods;
}

/** An inbox as the registry has to do with it. */
export interface KeptInbox extends Inbox {
  configure(keeping: Keeping): void;
  /** Tells where the spill folder could not serve, before it has to. */
  checkSpillFolder(): void;
  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[];
}

export interface InboxesOptions {
  /** Opens the inbox of a folder. */
  open: (folder: string, keeping: Keeping) => KeptInbox;
  /** Told of an inbox that is closed, for nobody uses it any more, while so many of its events are not settled. */
  onLeftBehind: (folder: string, count: number) => void;
  /** Told of an inbox in which so many events wait for consumers that are gone. */
  onAbandoned: (folder: string, count: number) => void;
  /** Default 3,000. */
  abandonedAfter?: number;
}

/** The wish of one configuration for an inbox, until it is released. */
export interface InboxClaim {
  readonly inbox: Inbox;
  /** True where another configuration laid down otherwise for the same folder before: its settings count. */
  isOverruled(): boolean;
  release(): void;
}

export interface OpenInbox {
  /** Of this opening: none that is opened later has it, not even of the same folder. */
  readonly id: string;
  readonly folder: string;
  readonly inbox: Inbox;
}

interface Entry extends OpenInbox {
  readonly inbox: KeptInbox;
}

interface Claim {
  entry: Entry;
  /** Absent where it takes the inbox as it is. */
  settings?: InboxSettings;
}

/**
 * All inboxes of a process, one for each folder. They outlive a deploy: what arrives between two runs of the flows is stored
 * all the same. Only when the flows have started is it known which are wanted, and only then the others are closed.
 */
export class Inboxes {
  /** By folder. */
  readonly #entries = new Map<string, Entry>();
  /** Oldest first. */
  readonly #claims = new Set<Claim>();

  constructor(private readonly options: InboxesOptions) {}

  /**
   * The inbox of a folder, opened at its first claim.
   * @param folder one name for one folder, whatever links lead to it
   * @param settings lays down how it is kept; of several that do, the first counts
   */
  claim(folder: string, settings?: InboxSettings): InboxClaim {
    const entry = this.#entryOf(folder);
    const claim: Claim = { entry, ...(settings && { settings }) };
    this.#claims.add(claim);
    if (settings !== undefined) this.#configure(entry);
    return {
      inbox: entry.inbox,
      isOverruled: () => this.#isOverruled(claim),
      release: () => this.#release(claim),
    };
  }

  all(): readonly OpenInbox[] {
    return [...this.#entries.values()];
  }

  /** Closes the inboxes that nobody claims any more, and tells what is wrong with the others. */
  flowsStarted(): void {
    const wanted = new Set([...this.#claims].map(({ entry }) => entry));
    for (const entry of this.#entries.values()) {
      if (!wanted.has(entry)) void this.#close(entry);
      else if (this.#settingsOf(entry) === undefined) this.#configure(entry);
    }
    for (const { inbox } of this.#entries.values()) inbox.checkSpillFolder();
    setTimeout(() => this.#reportAbandoned(), this.options.abandonedAfter ?? ABANDONED_AFTER).unref();
  }

  #entryOf(folder: string): Entry {
    const known = this.#entries.get(folder);
    if (known !== undefined) return known;
    const inbox = this.options.open(folder, keepingOf(folder, DEFAULT_SETTINGS));
    const entry = { id: randomUUID(), folder, inbox };
    this.#entries.set(folder, entry);
    return entry;
  }

  #configure(entry: Entry): void {
    entry.inbox.configure(keepingOf(entry.folder, this.#settingsOf(entry) ?? DEFAULT_SETTINGS));
  }

  #settingsOf(entry: Entry): InboxSettings | undefined {
    for (const claim of this.#claims)
      if (claim.entry === entry && claim.settings !== undefined) return claim.settings;
    return undefined;
  }

  #isOverruled({ entry, settings }: Claim): boolean {
    const first = this.#settingsOf(entry);
    return settings !== undefined && first !== undefined && !areSame(settings, first);
  }

  #release(claim: Claim): void {
    if (!this.#claims.delete(claim) || claim.settings === undefined) return;
    // Its settings stay until another lays down others: a deploy closes a node before it builds it anew.
    if (this.#settingsOf(claim.entry) !== undefined) this.#configure(claim.entry);
  }

  /** What is still open there, nobody looks at any more: somebody should know. */
  async #close({ folder, inbox }: Entry): Promise<void> {
    this.#entries.delete(folder);
    const { messages } = await inbox.list({ state: 'open', limit: MOST_COUNTED });
    if (messages.length > 0) this.options.onLeftBehind(folder, messages.length);
    await inbox.close().catch(() => undefined);
  }

  /** Events whose consumer is gone for good wait in vain; somebody should know. */
  #reportAbandoned(): void {
    for (const { inbox, folder } of this.#entries.values()) {
      const count = inbox.abandoned().reduce((sum, endpoint) => sum + inbox.waiting(endpoint), 0);
      if (count > 0) this.options.onAbandoned(folder, count);
    }
  }
}

function keepingOf(folder: string, { spillFolder, keyDays, bodyDays }: InboxSettings): Keeping {
  return {
    spillFolder: spillFolder === '' ? path.join(folder, 'spill') : path.resolve(folder, spillFolder),
    keep: { keys: keyDays * DAY, bodies: bodyDays * DAY },
  };
}
