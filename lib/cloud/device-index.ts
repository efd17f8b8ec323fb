import type { Device } from '../device';
import { guidForm, remoteIdOf } from './device-record';

/** A camera of the directory and the address its own links are relative to. */
export interface DeviceEntry {
  readonly device: Device;
  readonly url: URL;
}

/** The cameras of one load of the directory, in the order served, found by any of their names. */
export class DeviceIndex {
  readonly #entries: DeviceEntry[] = [];
  /** Places in `#entries`, which stay when an entry is replaced. */
  readonly #byId = new Map<string, number>();
  readonly #byGuid = new Map<string, number>();
  readonly #byRemoteId = new Map<string, number>();
  readonly #byName = new Map<string, number[]>();
  readonly #withoutRemoteId: number[] = [];

  get entries(): readonly DeviceEntry[] {
    return this.#entries;
  }

  /** Of two devices with one id the first served counts. */
  add(entry: DeviceEntry): void {
    const place = this.#entries.push(entry) - 1;
    const { id, name } = entry.device;
    addFirst(this.#byId, id, place);
    addFirst(this.#byGuid, guidForm(id), place);
    const remoteId = remoteIdOf(entry.device);
    if (remoteId === undefined) this.#withoutRemoteId.push(place);
    addFirst(this.#byRemoteId, remoteId, place);
    const sameName = this.#byName.get(name);
    if (sameName === undefined) this.#byName.set(name, [place]);
    else sameName.push(place);
  }

  /** Puts a newer record of the same device in the place of one; nothing where that is no longer here. */
  replace(old: DeviceEntry, updated: DeviceEntry): void {
    const place = this.#byId.get(old.device.id);
    if (place !== undefined && this.#entries[place] === old) this.#entries[place] = updated;
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): DeviceEntry | undefined {
    const place = this.#byId.get(id) ?? this.#byGuid.get(guidForm(id) ?? '');
    return place === undefined ? undefined : this.#entries[place];
  }

  /** By the remote id that the device's own record shows. */
  byRemoteId(remoteId: string): DeviceEntry | undefined {
    const place = this.#byRemoteId.get(remoteId);
    return place === undefined ? undefined : this.#entries[place];
  }

  /** The first devices whose own records show no remote id, so that only their details can. */
  withoutRemoteId(atMost: number): DeviceEntry[] {
    return this.#withoutRemoteId.slice(0, atMost).flatMap((place) => this.#entries[place] ?? []);
  }

  /** All devices of exactly this name. */
  byName(name: string): DeviceEntry[] {
    return (this.#byName.get(name) ?? []).flatMap((place) => this.#entries[place] ?? []);
  }
}

function addFirst(map: Map<string, number>, key: string | undefined, place: number): void {
  if (key !== undefined && key !== '' && !map.has(key)) map.set(key, place);
}
