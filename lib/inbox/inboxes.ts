import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { RvmError } from '../error';
import { areSame, DEFAULT_SETTINGS, type Inbox, type InboxSettings, SPILL_FOLDER } from './model';
import type { RetentionPeriods } from './retention';

/**
 * Does something with a message in whichever inbox knows it; one that fails, or hangs, does not hold up the others.
 * @param act false where the inbox does not know the message
 * @throws RvmError UNKNOWN_DELIVERY, and what `act` throws where no inbox knows the message
 */
export async function settleInAny(
  inboxes: readonly Inbox[],
  act: (inbox: Inbox) => Promise<boolean>,
): Promise<void> {
  const acting = inboxes.map(async (inbox) => {
    if (!(await act(inbox))) throw unknownDelivery();
  });
  try {
    await Promise.any(acting);
  } catch (error) {
    // One that fails may be the one that knows it.
    const failures = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw failures.find((failure) => !isUnknownDelivery(failure)) ?? unknownDelivery();
  }
}

function unknownDelivery(): RvmError {
  return new RvmError(
    'UNKNOWN_DELIVERY',
    'No inbox knows this delivery id: it comes from another Node-RED, or the event is kept no more.',
  );
}

function isUnknownDelivery(error: unknown): boolean {
  return error instanceof RvmError && error.code === 'UNKNOWN_DELIVERY';
}

/** Time between the start of the flows and the look for events that wait in vain, in milliseconds: a store opens meanwhile. */
const ABANDONED_AFTER = 3000;
const DAY = 24 * 60 * 60 * 1000;
/** Most events of an inbox that are counted when it is closed. */
const MOST_COUNTED = 1000;

/** How an inbox is kept. */
interface Keeping {
  /** Nothing is spilled beside an inbox that has no folder. */
  spillFolder: string;
  keep: RetentionPeriods;
}

/** An inbox as the registry has to do with it. */
export interface KeptInbox extends Inbox {
  configure(keeping: Keeping): void;
  /** Tells where the spill folder could not serve, before it has to. Absent where nothing is spilled. */
  checkSpillFolder?(): void;
}

/** Where an inbox is, and the way to open it. */
export interface InboxLocation {
  /** Of all that decides how it is opened: one key, one inbox. A secret that is part of that cannot be read from it. */
  readonly key: string;
  /** What is opened: a folder, or a schema of a database. However many ways lead there, it has one inbox at a time. */
  readonly store: string;
  /** By which people know it; holds no secret. */
  readonly title: string;
  /** Its folder on this machine; absent where it has none, for several instances share it. */
  readonly folder?: string;
  /** Servers that are named, of a database: where there are several, one of them may die. */
  readonly servers?: number;
  open(keeping: Keeping): KeptInbox;
}

/** The place of an inbox that is open. */
export type KnownLocation = Omit<InboxLocation, 'open'>;

interface InboxesOptions {
  /** Told of an inbox that is closed, for nobody uses it any more, while so many of its events are not settled. */
  onLeftBehind: (place: KnownLocation, count: number) => void;
  /** Told of an inbox in which so many events wait for consumers that are gone. */
  onAbandoned: (place: KnownLocation, count: number) => void;
  /** Default 3,000. */
  abandonedAfter?: number;
}

/** The wish of one configuration for an inbox, until it is released. */
export interface InboxClaim {
  readonly inbox: Inbox;
  /** True where another configuration laid down otherwise for the same store before: its settings count. */
  isOverruled(): boolean;
  release(): void;
}

export interface OpenInbox {
  /** Of this opening: none that is opened later has it, not even of the same place. */
  readonly id: string;
  readonly place: KnownLocation;
  readonly inbox: Inbox;
}

interface Entry extends OpenInbox {
  readonly inbox: KeptInbox;
}

interface Claim {
  entry: Entry;
  /** Of the place that was asked for. */
  key: string;
  /** Absent where it takes the inbox as it is. */
  settings?: InboxSettings;
}

/**
 * All inboxes of a process, one for each store. They outlive a deploy: what arrives between two runs of the flows is stored all
 * the same. Only when the flows have started is it known which are wanted, and only then the others are closed.
 */
export class Inboxes {
  /** By key of the place. */
  readonly #entries = new Map<string, Entry>();
  /** Oldest first. */
  readonly #claims = new Set<Claim>();

  constructor(private readonly options: InboxesOptions) {}

  /**
   * The inbox of a place, opened at its first claim. Where its store is claimed in another way already, that way counts.
   * @param settings lays down how it is kept; of several that do, the first counts
   */
  claim(place: InboxLocation, settings?: InboxSettings): InboxClaim {
    const entry = this.#entryOf(place);
    const claim: Claim = { entry, key: place.key, ...(settings && { settings }) };
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
    for (const entry of this.#entries.values()) {
      if (!this.#isClaimed(entry)) {
        void this.#close(entry);
        continue;
      }
      if (this.#settingsOf(entry) === undefined) this.#configure(entry);
      entry.inbox.checkSpillFolder?.();
    }
    setTimeout(() => this.#reportAbandoned(), this.options.abandonedAfter ?? ABANDONED_AFTER).unref();
  }

  #entryOf(place: InboxLocation): Entry {
    const known = this.#claimedOf(place.store) ?? this.#entries.get(place.key);
    if (known !== undefined) return known;
    const inbox = place.open(keepingOf(place, DEFAULT_SETTINGS));
    const entry = { id: randomUUID(), place, inbox };
    this.#entries.set(place.key, entry);
    return entry;
  }

  #claimedOf(store: string): Entry | undefined {
    return [...this.#claims].find(({ entry }) => entry.place.store === store)?.entry;
  }

  #isClaimed(entry: Entry): boolean {
    return [...this.#claims].some((claim) => claim.entry === entry);
  }

  #configure(entry: Entry): void {
    entry.inbox.configure(keepingOf(entry.place, this.#settingsOf(entry) ?? DEFAULT_SETTINGS));
  }

  #settingsOf(entry: Entry): InboxSettings | undefined {
    for (const claim of this.#claims)
      if (claim.entry === entry && claim.settings !== undefined) return claim.settings;
    return undefined;
  }

  #isOverruled({ entry, key, settings }: Claim): boolean {
    if (key !== entry.place.key) return true;
    const first = this.#settingsOf(entry);
    return settings !== undefined && first !== undefined && !areSame(settings, first);
  }

  #release(claim: Claim): void {
    if (!this.#claims.delete(claim) || claim.settings === undefined) return;
    // Its settings stay until another lays down others: a deploy closes a node before it builds it anew.
    if (this.#settingsOf(claim.entry) !== undefined) this.#configure(claim.entry);
  }

  /**
   * What is still open there, nobody looks at any more: somebody should know, unless it is reached in another way now. One that
   * is claimed before that is known stays open: opened a second time, it would find its file locked by itself.
   */
  async #close(entry: Entry): Promise<void> {
    const { place, inbox } = entry;
    const open = this.#claimedOf(place.store) === undefined ? await countOpen(inbox) : 0;
    if (this.#isClaimed(entry) || this.#entries.get(place.key) !== entry) return;
    this.#entries.delete(place.key);
    if (open > 0 && this.#claimedOf(place.store) === undefined) this.options.onLeftBehind(place, open);
    await inbox.close().catch(() => undefined);
  }

  /** Events whose consumer is gone for good wait in vain; somebody should know. */
  #reportAbandoned(): void {
    for (const entry of this.#entries.values()) {
      const { inbox, place } = entry;
      if (!this.#isClaimed(entry)) continue;
      const count = inbox.abandoned().reduce((sum, endpoint) => sum + inbox.waiting(endpoint), 0);
      if (count > 0) this.options.onAbandoned(place, count);
    }
  }
}

/** Nothing of one that cannot say: it is closed all the same, or its file would stay locked. */
async function countOpen(inbox: Inbox): Promise<number> {
  const list = await inbox.list({ state: 'open', limit: MOST_COUNTED }).catch(() => undefined);
  return list?.messages.length ?? 0;
}

function keepingOf(
  { folder }: Pick<InboxLocation, 'folder'>,
  { spillFolder, keyDays, bodyDays }: InboxSettings,
): Keeping {
  return {
    spillFolder: folder === undefined ? '' : path.resolve(folder, spillFolder || SPILL_FOLDER),
    keep: { keys: keyDays * DAY, bodies: bodyDays * DAY },
  };
}
