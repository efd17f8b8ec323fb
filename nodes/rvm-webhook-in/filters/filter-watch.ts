import { remoteIdOf } from '../../../lib/cloud/cameras/device-record';
import type { Device } from '../../../lib/device';
import type { Inbox } from '../../../lib/inbox/inbox';
import { seenIds } from '../../../lib/inbox/seen-ids';
import type { FilterIds } from '../../../lib/message/event-filter';
import { CLASSES, JUDGED, NONE_UNKNOWN, unknownIds, type UnknownIds } from '../../../lib/message/known-ids';
import type { Station } from '../../rvm-central-station/station';

/** Cameras come and go. Milliseconds. */
const LOOK_EVERY = 5 * 60 * 1000;

type AskedStation = Pick<Station, 'key' | 'client'>;

export interface FilterWatchOptions {
  wanted: FilterIds;
  inbox: Inbox;
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
  #unknown: UnknownIds = NONE_UNKNOWN;

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
    const { wanted, inbox } = this.options;
    const stations = this.options.stations();
    const devices = await this.#devices(stations);
    const listed = unknownIds(wanted, {
      classes: CLASSES,
      ...(devices && { sites: devices.map(({ site }) => site), cameras: devices.flatMap(idsOfDevice) }),
    });
    // The inbox is asked only where the list of the service lacks something.
    if (JUDGED.every((name) => listed[name].length === 0)) return NONE_UNKNOWN;
    const seen = await seenIds([inbox], new Set(stations.map(({ key }) => key)));
    const known = Object.fromEntries(JUDGED.map((name) => [name, seen[name].flatMap(({ ids }) => ids)]));
    return unknownIds({ ...listed, rules: [] }, known);
  }

  /** Undefined where one of the stations cannot be asked. */
  async #devices(stations: readonly AskedStation[]): Promise<Device[] | undefined> {
    const { wanted } = this.options;
    if (wanted.sites.length === 0 && wanted.cameras.length === 0) return undefined;
    try {
      const lists = await Promise.all(
        stations.map(async (station) => (await station.client()).listDevices({ once: true })),
      );
      return lists.flat();
    } catch {
      return undefined;
    }
  }
}

/** Also the id by which the site knows the camera, where the list shows it. */
function idsOfDevice(device: Device): string[] {
  const remoteId = remoteIdOf(device);
  return remoteId === undefined ? [device.id] : [device.id, remoteId];
}
