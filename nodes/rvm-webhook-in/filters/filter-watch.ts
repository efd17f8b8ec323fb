import { listedCamera } from '../../../lib/cloud/cameras/device-record';
import type { ListedCamera } from '../../../lib/device';
import type { Inbox } from '../../../lib/inbox/inbox';
import { seenIds } from '../../../lib/inbox/reading/seen-ids';
import type { RvmEvent } from '../../../lib/event';
import type { FilterIds } from '../../../lib/message/event-filter';
import {
  idsNamed,
  JUDGED,
  knownIds,
  NO_IDS,
  unknownIds,
  type JudgedIds,
  type UnknownIds,
} from '../../../lib/message/known-ids';
import { NamedIds } from '../../../lib/message/named-ids';
import type { Station } from '../../rvm-central-station/station';

/** Cameras come and go. Milliseconds. */
const LOOK_EVERY = 5 * 60 * 1000;

type AskedStation = Pick<Station, 'key' | 'client'>;

export interface FilterWatchOptions {
  wanted: FilterIds;
  /** All there are: what another one has of a Central Station, that has sent. */
  inboxes: () => readonly Inbox[];
  stations: () => readonly AskedStation[];
  /** Told when others are unknown. */
  changed: () => void;
}

/**
 * Looks, while the flows run, whether what a *webhook in* is to take is there at all: of an id with a slip in it no event would ever
 * come. Where the cameras cannot be asked for, none is called unknown; and nothing is any more that an event has named once.
 */
export class FilterWatch {
  #timer: NodeJS.Timeout | undefined;
  #unknown: UnknownIds = NO_IDS;
  /** Of what is to be taken. */
  readonly #named: NamedIds;

  constructor(private readonly options: FilterWatchOptions) {
    this.#named = new NamedIds(options.wanted);
  }

  get unknown(): UnknownIds {
    return this.#unknown;
  }

  /** What of it events of these stations have named, if it is about no others. @param stations keys */
  namedAt(stations: ReadonlySet<string>): JudgedIds {
    return this.options.stations().every(({ key }) => stations.has(key)) ? this.#named.ids : NO_IDS;
  }

  start(): void {
    const { wanted } = this.options;
    if (this.#timer !== undefined || JUDGED.every((name) => wanted[name].length === 0)) return;
    const look = (): void => void this.#look(timer);
    const timer = setInterval(look, LOOK_EVERY).unref();
    this.#timer = timer;
    look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** An event has come: what it names is known from now on. */
  came(event: RvmEvent): void {
    if (this.#named.addOf(event)) this.#set(this.#neverNamed(this.#unknown));
  }

  async #look(timer: NodeJS.Timeout): Promise<void> {
    const unknown = await this.#unknownNow();
    // An event may have come meanwhile.
    if (this.#timer === timer) this.#set(this.#neverNamed(unknown));
  }

  #set(unknown: UnknownIds): void {
    if (JSON.stringify(unknown) === JSON.stringify(this.#unknown)) return;
    this.#unknown = unknown;
    this.options.changed();
  }

  async #unknownNow(): Promise<UnknownIds> {
    const { wanted, inboxes } = this.options;
    const stations = this.options.stations();
    const listed = await this.#listed(stations);
    const unlisted = this.#neverNamed(unknownIds(wanted, knownIds(listed, NO_IDS)));
    // The inboxes are asked only where something is known in no other way.
    if (JUDGED.every((name) => unlisted[name].length === 0)) return NO_IDS;
    const seen = await seenIds(inboxes(), new Set(stations.map(({ key }) => key)));
    this.#named.add(idsNamed(seen));
    return seen.isWhole ? unlisted : NO_IDS;
  }

  #neverNamed(unknown: UnknownIds): UnknownIds {
    return unknownIds({ ...unknown, rules: [] }, this.#named.ids);
  }

  /** Undefined where there is no station, or one of them cannot be asked. */
  async #listed(stations: readonly AskedStation[]): Promise<ListedCamera[] | undefined> {
    const { wanted } = this.options;
    if (stations.length === 0 || (wanted.sites.length === 0 && wanted.cameras.length === 0)) return undefined;
    try {
      const lists = await Promise.all(
        stations.map(async (station) => (await station.client()).listDevices({ once: true })),
      );
      return lists.flat().map(listedCamera);
    } catch {
      return undefined;
    }
  }
}
