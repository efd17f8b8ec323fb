import { listedCamera } from '../../../lib/cloud/cameras/device-directory';
import type { ListedCamera } from '../../../lib/device';
import { RvmError } from '../../../lib/error';
import type { Inbox } from '../../../lib/inbox/inbox';
import { seenIds } from '../../../lib/inbox/reading/seen-ids';
import type { RvmEvent } from '../../../lib/event';
import {
  type FilterIds,
  hasNoList,
  idsNamed,
  JUDGED,
  knownIds,
  listedOf,
  namedBy,
  NO_IDS,
  unknownIds,
  type JudgedIds,
  type KnownIds,
  type Listed,
  type UnknownIds,
  NamedIds,
} from '../../../lib/message/event-filter';
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
 * come. Where the cameras cannot be asked for just now, none is called unknown; and nothing is any more that an event has named once.
 */
export class FilterWatch {
  #timer: NodeJS.Timeout | undefined;
  #unknown: UnknownIds = NO_IDS;
  /** As it was looked up last. */
  #known: KnownIds = {};
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
    if (this.#named.addOf(event)) this.#tell();
  }

  async #look(timer: NodeJS.Timeout): Promise<void> {
    const known = await this.#knownNow();
    if (this.#timer !== timer) return;
    this.#known = known;
    this.#tell();
  }

  #tell(): void {
    const unknown = this.#unknownOf(this.#known);
    if (JSON.stringify(unknown) === JSON.stringify(this.#unknown)) return;
    this.#unknown = unknown;
    this.options.changed();
  }

  async #knownNow(): Promise<KnownIds> {
    const stations = this.options.stations();
    const listed = await this.#listed(stations);
    // The inboxes are asked only where something is known in no other way.
    const byList = knownIds(listed, { ids: NO_IDS, kinds: JUDGED });
    const unlisted = this.#unknownOf(byList);
    if (JUDGED.every((name) => unlisted[name].length === 0)) return byList;
    const seen = await seenIds(this.options.inboxes(), new Set(stations.map(({ key }) => key)));
    this.#named.add(idsNamed(seen));
    return knownIds(listed, namedBy(seen));
  }

  #unknownOf(known: KnownIds): UnknownIds {
    return unknownIds(this.options.wanted, known, this.#named.ids);
  }

  /** Undefined where there is no station, or one of them cannot be asked just now. */
  async #listed(stations: readonly AskedStation[]): Promise<Listed | undefined> {
    const { wanted } = this.options;
    if (stations.length === 0 || (wanted.sites.length === 0 && wanted.cameras.length === 0)) return undefined;
    try {
      return listedOf(await Promise.all(stations.map(listOf)));
    } catch {
      return undefined;
    }
  }
}

/** Undefined where it has none. @throws RvmError */
async function listOf(station: AskedStation): Promise<ListedCamera[] | undefined> {
  try {
    const devices = await (await station.client()).listDevices({ once: true });
    return devices.map(listedCamera);
  } catch (error) {
    if (error instanceof RvmError && hasNoList(error.code)) return undefined;
    throw error;
  }
}
