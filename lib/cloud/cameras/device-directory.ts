import type { Device } from '../../device';
import { isSameJson, type JsonRecord } from '../../json/json';
import { readAhead, eachInSlices } from '../../concurrency/iteration';
import type { Answer } from '../http/answer';
import { unwrapRecord } from '../http/collection';
import { DeviceIndex, type DeviceEntry } from './device-index';
import { isNamedAlike } from './device-names';
import { tellsStatus, toDevice, withStatusOf } from './device-record';
import { DIALECT } from '../dialect';
import { isGone } from './gone';
import { findAnyLink } from '../http/links';
import { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import { pagesFrom } from '../http/pages';
import type { SessionKeeper } from '../session/session-keeper';
import { KeyedFlight, SingleFlight } from '../single-flight';
import type { StationTiming } from '../timing';

const { relations } = DIALECT;

/** Why the directory is asked once more. */
export type Miss = 'unknown' | 'gone';

/** The cameras of one Central Station, as last served. */
export class DeviceDirectory {
  readonly #session: SessionKeeper;
  readonly #origins: Origins;
  readonly #timing: StationTiming;
  readonly #detailRelations: readonly string[];
  readonly #loading = new SingleFlight<void>();
  readonly #asking = new KeyedFlight<DeviceEntry | undefined>();
  #index: DeviceIndex | undefined;
  /** What the first load has brought so far, and who wants to hear of each page. */
  #coming: DeviceIndex | undefined;
  readonly #onPage = new Set<() => void>();
  #onLoad: () => void = () => undefined;
  /** When the last load began. */
  #loadedAt = -Infinity;
  readonly #answeredAt: Record<Miss, number> = { unknown: -Infinity, gone: -Infinity };

  /** @param detailRelations where a camera's own resource stands */
  constructor(
    session: SessionKeeper,
    origins: Origins,
    timing: StationTiming,
    detailRelations: readonly string[],
  ) {
    this.#session = session;
    this.#origins = origins;
    this.#timing = timing;
    this.#detailRelations = detailRelations;
  }

  /** The cameras of the last load; while the first is under way, those that have come. */
  get index(): DeviceIndex {
    return this.#index ?? this.#coming ?? EMPTY;
  }

  /** True once there is a list of this run. */
  get isLoaded(): boolean {
    return this.#index !== undefined;
  }

  /** Sets who hears of every load. */
  onLoad(listener: () => void): void {
    this.#onLoad = listener;
  }

  /** The devices in the order served; loaded at first use. The records belong to the directory. */
  async list(operation: Operation, fresh: boolean): Promise<readonly Device[]> {
    if (fresh || this.#index === undefined) await this.refresh(operation);
    return this.index.entries.map((entry) => entry.device);
  }

  /**
   * Loads the directory if that has not been done yet: undefined where it has.
   * @param isThere ends the wait as soon as what is wanted has come: the list may be long, and the first alarm in a hurry
   */
  ensureLoaded(operation: Operation, isThere: () => boolean = () => false): Promise<void> | undefined {
    return this.#index === undefined ? this.#firstLoad(operation, isThere) : undefined;
  }

  async #firstLoad(operation: Operation, isThere: () => boolean): Promise<void> {
    let onPage = (): void => undefined;
    const found = new Promise<void>((resolve) => {
      onPage = () => {
        if (isThere()) resolve();
      };
    });
    this.#onPage.add(onPage);
    try {
      await Promise.race([this.refresh(operation), found]);
    } finally {
      this.#onPage.delete(onPage);
    }
  }

  /** Asks the service now; callers at the same time share one load. */
  refresh(operation: Operation): Promise<void> {
    return this.#loading.run(operation, (shared) => this.#load(shared));
  }

  /** Loads the directory if that has not been done yet, and nobody waits for it: where it fails, the next one who needs it asks again. */
  loadBehind(): void {
    if (this.#index !== undefined) return;
    const operation = new Operation({ deadlineMs: this.#timing.deadlineMs });
    void this.refresh(operation)
      .catch(() => undefined)
      .finally(() => operation.end());
  }

  /**
   * The refresh that a camera causes which is not known, or whose links are gone: for each reason at most one in 30 s for
   * the whole station, counted from the end of the last one; in between the last answer stands. Links of an older session
   * are no answer.
   */
  async refreshOnMiss(operation: Operation, why: Miss): Promise<void> {
    const stands = performance.now() - this.#answeredAt[why] < this.#timing.missRefreshMs;
    const isOld = why === 'gone' && this.#loadedAt < this.#session.openedAt;
    if (stands && !isOld && this.#loading.running === undefined) return;
    await this.#loading.run(operation, async (shared) => {
      await this.#load(shared);
      this.#answeredAt[why] = performance.now();
    });
  }

  /** The address of a camera's own resource, if it is offered. */
  ownLink({ device, url }: DeviceEntry): { url: TrustedUrl; relation: string } | undefined {
    const found = findAnyLink(device, this.#detailRelations);
    if (found === undefined) return undefined;
    return { url: this.#origins.resolve(found.address, url, found.relation), relation: found.relation };
  }

  /**
   * Asks for one camera's own resource.
   * @returns undefined if it is not offered
   */
  async askDetails(operation: Operation, entry: DeviceEntry): Promise<Record<string, unknown> | undefined> {
    const self = this.ownLink(entry);
    if (self === undefined) return undefined;
    const answer = await this.#session.follow(operation, { method: 'GET', ...self });
    return unwrapRecord(answer.json());
  }

  /**
   * All that is known of one camera: its record, and over it what its own resource tells, where that is offered. A link
   * that is gone is looked for in the directory once more.
   * @throws RvmError those of the session
   */
  async details(operation: Operation, entry: DeviceEntry): Promise<Device> {
    try {
      return merged(entry, await this.askDetails(operation, entry));
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.refreshOnMiss(operation, 'gone');
      const current = this.index.byId(entry.device.id);
      if (current === undefined || this.ownLink(current)?.url.href === this.ownLink(entry)?.url.href)
        throw error;
      return merged(current, await this.askDetails(operation, current));
    }
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
    this.#index?.replace(entry, updated);
    return updated;
  }

  async #load(operation: Operation): Promise<void> {
    const began = performance.now();
    try {
      this.#index = await (this.#index === undefined
        ? this.#firstIndex(operation)
        : this.#nextIndex(operation, this.#index));
    } finally {
      this.#coming = undefined;
    }
    this.#loadedAt = began;
    this.#onLoad();
  }

  async #firstIndex(operation: Operation): Promise<DeviceIndex> {
    const index = new DeviceIndex();
    this.#coming = index;
    await this.#eachRecord(operation, (record, url) => index.add({ device: toDevice(record), url }));
    return index;
  }

  /**
   * What is told as before is not kept anew, neither a record nor the names of all: to collect garbage takes the longer the
   * more has to be kept, and nothing else runs meanwhile.
   */
  async #nextIndex(operation: Operation, former: DeviceIndex): Promise<DeviceIndex> {
    const entries: DeviceEntry[] = [];
    let isNamedAsBefore = true;
    await this.#eachRecord(operation, (record, url) => {
      const told = toDevice(record);
      const known = former.byId(told.id)?.device;
      const device = known !== undefined && isSameJson(known, told) ? known : told;
      const before = former.entries[entries.length];
      isNamedAsBefore &&= before !== undefined && isNamedAlike(before.device, device);
      const isAsBefore = before?.device === device && before.url.href === url.href;
      entries.push(isAsBefore ? before : { device, url });
    });
    if (isNamedAsBefore && entries.length === former.entries.length) return former.renewed(entries);
    const index = new DeviceIndex();
    await eachInSlices(entries, (entry) => index.add(entry));
    return index;
  }

  async #eachRecord(operation: Operation, work: (record: JsonRecord, url: URL) => void): Promise<void> {
    const first = await this.#firstPage(operation);
    const ask = (url: TrustedUrl): Promise<Answer> => this.#get(operation, url);
    const pages = pagesFrom(first, DIALECT.collection.devices, this.#origins, ask);
    for await (const { records, url } of readAhead(pages)) {
      await eachInSlices(records, (record) => work(record, url));
      for (const onPage of this.#onPage) onPage();
    }
  }

  /** The link to the devices is known from `/system`; where it is gone, `/system` is asked once more. */
  async #firstPage(operation: Operation): Promise<Answer> {
    try {
      return await this.#get(operation, await this.#session.link(operation, relations.devices));
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.#session.rereadSystem(operation);
      return this.#get(operation, await this.#session.link(operation, relations.devices));
    }
  }

  #get(operation: Operation, url: TrustedUrl): Promise<Answer> {
    return this.#session.follow(operation, { method: 'GET', url, relation: relations.devices });
  }
}

const EMPTY = new DeviceIndex();

/** The id is that of the list, by which the camera is known; the other fields are the newer ones. */
function merged({ device }: DeviceEntry, details: JsonRecord | undefined): Device {
  if (details === undefined) return device;
  const { id: _id, name, site, status: _status, online: _online, ...fields } = toDevice(details);
  const own = { ...device, ...fields, name: name || device.name, site: site || device.site };
  return tellsStatus(details) ? withStatusOf(own, details) : own;
}
