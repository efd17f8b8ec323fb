import type { Device } from '../../device';
import { guidForm } from '../../text';
import { remoteIdOf } from './device-record';

/** The places of cameras in a list, by any of their names. */
export class DeviceNames {
  readonly #byId = new Map<string, number>();
  /** Only of ids in other spellings than the one in which GUIDs are compared. */
  readonly #byGuid = new Map<string, number>();
  readonly #byRemoteId = new Map<string, number>();
  readonly #byName = new Map<string, number>();
  /** The second camera of a name, and further ones. */
  readonly #namesakes = new Map<string, number[]>();
  readonly #withoutRemoteId: number[] = [];

  /** Of two devices with one id the first counts. */
  add(device: Device, place: number): void {
    const { id, name } = device;
    const guid = guidForm(id);
    addFirst(this.#byId, id, place);
    if (guid !== id) addFirst(this.#byGuid, guid, place);
    const remoteId = remoteIdOf(device);
    if (remoteId === undefined) this.#withoutRemoteId.push(place);
    addFirst(this.#byRemoteId, remoteId, place);
    this.#addName(name, place);
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): number | undefined {
    return this.#byId.get(id) ?? this.#firstOfGuid(guidForm(id));
  }

  /** By the remote id that the device's own record shows. */
  byRemoteId(remoteId: string): number | undefined {
    return this.#byRemoteId.get(remoteId);
  }

  /** The first devices whose own records show no remote id. */
  withoutRemoteId(atMost: number): readonly number[] {
    return this.#withoutRemoteId.slice(0, atMost);
  }

  /** All devices of exactly this name. */
  byName(name: string): readonly number[] {
    const first = this.#byName.get(name);
    return first === undefined ? [] : [first, ...(this.#namesakes.get(name) ?? [])];
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

  /** The first device whose id is this GUID, however it is spelled. */
  #firstOfGuid(guid: string | undefined): number | undefined {
    if (guid === undefined) return undefined;
    const places = [this.#byId.get(guid), this.#byGuid.get(guid)].filter((place) => place !== undefined);
    return places.length === 0 ? undefined : Math.min(...places);
  }
}

/** Whether two records are found by the same names. */
export function isNamedAlike(one: Device, other: Device): boolean {
  return (
    one === other || (one.id === other.id && one.name === other.name && remoteIdOf(one) === remoteIdOf(other))
  );
}

function addFirst(map: Map<string, number>, key: string | undefined, place: number): void {
  if (key !== undefined && key !== '' && !map.has(key)) map.set(key, place);
}
