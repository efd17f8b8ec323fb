import type { Device } from '../device';
import { RvmError } from '../error';
import type { Answer } from './answer';
import { readPage, unwrapRecord } from './collection';
import { guidForm, remoteIdOf, tellsStatus, toDevice, withStatusOf } from './device-record';
import { DIALECT, type StationTiming } from './dialect';
import { findLink } from './links';
import type { Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import type { SessionKeeper } from './session';
import { KeyedFlight, SingleFlight } from './single-flight';

/** A camera of the directory and the address its own links are relative to. */
export interface DeviceEntry {
  readonly device: Device;
  readonly url: URL;
}

const { relations } = DIALECT;

/** The cameras of one Central Station, as last served. */
export class DeviceDirectory {
  readonly #session: SessionKeeper;
  readonly #origins: Origins;
  readonly #timing: StationTiming;
  readonly #loading = new SingleFlight<void>();
  readonly #asking = new KeyedFlight<DeviceEntry | undefined>();
  #entries: DeviceEntry[] | undefined;
  #byId = new Map<string, DeviceEntry>();
  #byRemoteId = new Map<string, DeviceEntry>();
  #byGuid = new Map<string, DeviceEntry>();
  #onLoad: () => void = () => undefined;
  #missRefreshAt = Number.NEGATIVE_INFINITY;

  constructor(session: SessionKeeper, origins: Origins, timing: StationTiming) {
    this.#session = session;
    this.#origins = origins;
    this.#timing = timing;
  }

  /** Sets who hears of every load. */
  onLoad(listener: () => void): void {
    this.#onLoad = listener;
  }

  /** The devices in the order served; loaded at first use. The records belong to the directory. */
  async list(operation: Operation, fresh: boolean): Promise<readonly Device[]> {
    if (fresh || this.#entries === undefined) await this.refresh(operation);
    return (this.#entries ?? []).map((entry) => entry.device);
  }

  /** Loads the directory if that has not been done yet. */
  async ensureLoaded(operation: Operation): Promise<void> {
    if (this.#entries === undefined) await this.refresh(operation);
  }

  /** Asks the service now; callers at the same time share one load. */
  refresh(operation: Operation): Promise<void> {
    return this.#loading.run(operation, (shared) => this.#load(shared));
  }

  /**
   * The refresh that a miss causes: at most one in 30 s for the whole station; in between the last answer
   * stands.
   */
  async refreshOnMiss(operation: Operation): Promise<void> {
    const running = this.#loading.running;
    if (running !== undefined) return operation.waitFor(running);
    if (performance.now() - this.#missRefreshAt < this.#timing.missRefreshMs) return undefined;
    this.#missRefreshAt = performance.now();
    return this.refresh(operation);
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): DeviceEntry | undefined {
    const guid = guidForm(id);
    return this.#byId.get(id) ?? (guid === undefined ? undefined : this.#byGuid.get(guid));
  }

  /** By the remote id that the device's own record shows. */
  byRemoteId(remoteId: string): DeviceEntry | undefined {
    return this.#byRemoteId.get(remoteId);
  }

  all(): readonly DeviceEntry[] {
    return this.#entries ?? [];
  }

  /** The address of a camera's own resource, if it is offered. */
  #selfLink(entry: DeviceEntry): TrustedUrl | undefined {
    const link = findLink(entry.device, relations.self);
    return link === undefined ? undefined : this.#origins.resolve(link, entry.url, relations.self);
  }

  /**
   * Asks for one camera's own resource.
   * @returns undefined if it is not offered
   */
  async askDetails(operation: Operation, entry: DeviceEntry): Promise<Record<string, unknown> | undefined> {
    const url = this.#selfLink(entry);
    if (url === undefined) return undefined;
    const answer = await this.#session.follow(operation, { method: 'GET', url, relation: relations.self });
    return unwrapRecord(answer.json());
  }

  /**
   * Asks a camera's own resource for its status now and remembers it; callers at the same time share the answer.
   * @returns undefined if the resource is not offered, or tells no status
   */
  askStatus(operation: Operation, entry: DeviceEntry): Promise<DeviceEntry | undefined> {
    return this.#asking.run(entry.device.id, operation, (shared) => this.#askStatus(shared, entry));
  }

  async #askStatus(operation: Operation, entry: DeviceEntry): Promise<DeviceEntry | undefined> {
    const details = await this.askDetails(operation, entry);
    if (details === undefined || !tellsStatus(details)) return undefined;
    const device = withStatusOf(entry.device, details);
    if (device.status === entry.device.status && device.online === entry.device.online) return entry;
    const updated = { ...entry, device };
    const place = this.#entries?.indexOf(entry) ?? -1;
    if (this.#entries !== undefined && place >= 0) this.#index(this.#entries.with(place, updated));
    return updated;
  }

  async #load(operation: Operation): Promise<void> {
    const entries: DeviceEntry[] = [];
    const seen = new Set<string>();
    let answer: Answer | undefined = await this.#firstPage(operation);
    while (answer !== undefined) {
      const url: URL = answer.url;
      seen.add(url.href);
      const page = readPage(answer.json(), DIALECT.collection.devices);
      for (const record of page.records) entries.push({ device: toDevice(record), url });
      const more: boolean = page.records.length > 0 && seen.size < DIALECT.collection.maxPages;
      answer = more ? await this.#nextPage(operation, page.next, url, seen) : undefined;
    }
    this.#index(entries);
    this.#onLoad();
  }

  /** The link to the devices is known from `/system`; where it is gone, `/system` is asked once more. */
  async #firstPage(operation: Operation): Promise<Answer> {
    try {
      return await this.#get(operation, await this.#session.link(operation, relations.devices));
    } catch (error) {
      if (!(error instanceof RvmError) || error.cause.status !== 404) throw error;
      await this.#session.rereadSystem(operation);
      return this.#get(operation, await this.#session.link(operation, relations.devices));
    }
  }

  async #nextPage(
    operation: Operation,
    next: string | undefined,
    page: URL,
    seen: ReadonlySet<string>,
  ): Promise<Answer | undefined> {
    if (next === undefined) return undefined;
    const url = this.#origins.resolve(next, page, relations.devices);
    return seen.has(url.href) ? undefined : this.#get(operation, url);
  }

  #get(operation: Operation, url: TrustedUrl): Promise<Answer> {
    return this.#session.follow(operation, { method: 'GET', url, relation: relations.devices });
  }

  #index(entries: DeviceEntry[]): void {
    this.#entries = entries;
    this.#byId = new Map();
    this.#byGuid = new Map();
    this.#byRemoteId = new Map();
    for (const entry of entries) {
      const { id } = entry.device;
      const remoteId = remoteIdOf(entry.device);
      addFirst(this.#byId, id, entry);
      addFirst(this.#byGuid, guidForm(id), entry);
      addFirst(this.#byRemoteId, remoteId, entry);
    }
  }
}

/** Of two devices with one id the first served counts. */
function addFirst(map: Map<string, DeviceEntry>, key: string | undefined, entry: DeviceEntry): void {
  if (key !== undefined && key !== '' && !map.has(key)) map.set(key, entry);
}
