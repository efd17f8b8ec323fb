import type { Device } from '../../device';
import { DeviceNames } from './device-names';

/** A camera of the directory and the address its own links are relative to. */
export interface DeviceEntry {
  readonly device: Device;
  readonly url: URL;
}

/** The cameras of one load of the directory, in the order served, found by any of their names. */
export class DeviceIndex {
  readonly #entries: DeviceEntry[];
  /** Places in `#entries`, which stay when an entry is replaced. */
  readonly #names: DeviceNames;

  constructor(entries: DeviceEntry[] = [], names = new DeviceNames()) {
    this.#entries = entries;
    this.#names = names;
  }

  get entries(): readonly DeviceEntry[] {
    return this.#entries;
  }

  /** Of two devices with one id the first served counts. */
  add(entry: DeviceEntry): void {
    this.#names.add(entry.device, this.#entries.push(entry) - 1);
  }

  /** The index of these, which are the same cameras with the same names in the same order. Nothing is added to it any more. */
  renewed(entries: DeviceEntry[]): DeviceIndex {
    return new DeviceIndex(entries, this.#names);
  }

  /** Puts a newer record of the same device in the place of one; nothing where that is no longer here. */
  replace(old: DeviceEntry, updated: DeviceEntry): void {
    const place = this.#names.byId(old.device.id);
    if (place !== undefined && this.#entries[place] === old) this.#entries[place] = updated;
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): DeviceEntry | undefined {
    return this.#at(this.#names.byId(id));
  }

  /** By the remote id that the device's own record shows. */
  byRemoteId(remoteId: string): DeviceEntry | undefined {
    return this.#at(this.#names.byRemoteId(remoteId));
  }

  /** The first devices whose own records show no remote id, so that only their details can. */
  withoutRemoteId(atMost: number): DeviceEntry[] {
    return this.#names.withoutRemoteId(atMost).flatMap((place) => this.#at(place) ?? []);
  }

  /** All devices of exactly this name. */
  byName(name: string): DeviceEntry[] {
    return this.#names.byName(name).flatMap((place) => this.#at(place) ?? []);
  }

  #at(place: number | undefined): DeviceEntry | undefined {
    return place === undefined ? undefined : this.#entries[place];
  }
}
