import { listedCamera } from '../../../lib/cloud/cameras/device-record';
import type { ListedCamera } from '../../../lib/device';
import type { Inbox } from '../../../lib/inbox/inbox';
import { seenIds } from '../../../lib/inbox/seen-ids';
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
 * come. Where the cameras cannot be asked for, none is called unknown.
 */
export class FilterWatch {
  #timer: NodeJS.Timeout | undefined;
  #unknown: UnknownIds = NO_IDS;

  constructor(private readonly options: FilterWatchOptions) {}

  get unknown(): UnknownIds {
    return this.#unknown;
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

  async #look(timer: NodeJS.Timeout): Promise<void> {
    const unknown = await this.#unknownNow();
    if (this.#timer !== timer || JSON.stringify(unknown) === JSON.stringify(this.#unknown)) return;
    this.#unknown = unknown;
    this.options.changed();
  }

  async #unknownNow(): Promise<UnknownIds> {
    const { wanted, inboxes } = this.options;
    const stations = this.options.stations();
    const listed = await this.#listed(stations);
    const unknown = (named: JudgedIds | undefined): UnknownIds => unknownIds(wanted, knownIds(listed, named));
    // The inboxes are asked only where the list of the service lacks something.
    if (JUDGED.every((name) => unknown(NO_IDS)[name].length === 0)) return NO_IDS;
    const seen = await seenIds(inboxes(), new Set(stations.map(({ key }) => key)));
    return unknown(seen.isWhole ? idsNamed(seen) : undefined);
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
