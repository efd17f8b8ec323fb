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
  /** Only of ids in other spellings than the one in which GUIDs are compared. */
  readonly #byGuid = new Map<string, number>();
  readonly #byRemoteId = new Map<string, number>();
  readonly #byName = new Map<string, number>();
  /** The second camera of a name, and further ones. */
  readonly #namesakes = new Map<string, number[]>();
  readonly #withoutRemoteId: number[] = [];

  get entries(): readonly DeviceEntry[] {
    return this.#entries;
  }

  /** Of two devices with one id the first served counts. */
  add(entry: DeviceEntry): void {
    const place = this.#entries.push(entry) - 1;
    const { id, name } = entry.device;
    const guid = guidForm(id);
    addFirst(this.#byId, id, place);
    if (guid !== id) addFirst(this.#byGuid, guid, place);
    const remoteId = remoteIdOf(entry.device);
    if (remoteId === undefined) this.#withoutRemoteId.push(place);
    addFirst(this.#byRemoteId, remoteId, place);
    this.#addName(name, place);
  }

  /** Puts a newer record of the same device in the place of one; nothing where that is no longer here. */
  replace(old: DeviceEntry, updated: DeviceEntry): void {
    const place = this.#byId.get(old.device.id);
    if (place !== undefined && this.#entries[place] === old) this.#entries[place] = updated;
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): DeviceEntry | undefined {
    const place = this.#byId.get(id) ?? this.#firstOfGuid(guidForm(id));
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
    const first = this.#byName.get(name);
    if (first === undefined) return [];
    return [first, ...(this.#namesakes.get(name) ?? [])].flatMap((place) => this.#entries[place] ?? []);
  }

  #addName(name: string, place: number): void {
    if (!this.#byName.has(name)) {
      this.#byName.set(name, place);
      return;
    }
    const namesakes = this.#namesakes.get(name);
    if (namesakes === undefined) this.#namesakes.set(name, [place]);
    else namesakes.push(place);
  }

  /** The place of the first device whose id is this GUID, however it is spelled. */
  #firstOfGuid(guid: string | undefined): number | undefined {
    if (guid === undefined) return undefined;
    const places = [this.#byId.get(guid), this.#byGuid.get(guid)].filter((place) => place !== undefined);
    return places.length === 0 ? undefined : Math.min(...places);
  }
}

function addFirst(map: Map<string, number>, key: string | undefined, place: number): void {
  if (key !== undefined && key !== '' && !map.has(key)) map.set(key, place);
}
