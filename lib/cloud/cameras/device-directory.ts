import { forEachTimeSliced, prefetch } from '../../concurrency/iteration';
import type { Device, ListedCamera } from '../../device';
import { RvmError } from '../../error';
import { isRecord, isSameJson, type JsonRecord } from '../../json/json';
import { guidForm } from '../../text';
import { DIALECT } from '../dialect';
import { type Answer, asText, firstField, firstText } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { findAnyLink, pagesFrom, unwrapRecord } from '../http/records';
import { Operation, SingleFlight } from '../operation';
import type { StationSession } from '../session/session';
import type { StationTiming } from '../timing';

const { device: FIELDS } = DIALECT;

/** The device as users see it: every field that was sent, and the standard fields, filled if absent. */
export function toDevice(record: JsonRecord): Device {
  return {
    ...record,
    id: firstText(record, FIELDS.id) ?? '',
    name: firstText(record, FIELDS.name) ?? '',
    site: siteOf(record),
    status: statusText(record),
    online: isOnline(record),
  };
}

/**
 * Whether the record is that of a usable camera: `status` equals `online` (specification, section 2) in any case, or contains
 * it if it is a list or an object; without a status text, `state`, `connectionState` or `connected` may say so.
 */
function isOnline(record: JsonRecord): boolean {
  const status = firstField(record, ['status']);
  const text = asText(status);
  if (text !== undefined) return text.toLowerCase() === FIELDS.onlineStatus;
  if (wordsOf(status).some((word) => word === FIELDS.onlineStatus)) return true;
  const states = FIELDS.status.slice(1).flatMap((name) => wordsOf(firstField(record, [name])));
  if (states.some((word) => FIELDS.onlineStates.includes(word))) return true;
  return FIELDS.onlineFlags.some((name) => firstField(record, [name]) === true);
}

/** True if the record has any field about its status. */
export function tellsStatus(record: JsonRecord): boolean {
  const names = [...FIELDS.status, ...FIELDS.onlineFlags];
  return firstField(record, names) !== undefined;
}

/** The id by which the site knows the camera, if the record shows it. Opaque and case-sensitive. */
export function remoteIdOf(record: JsonRecord): string | undefined {
  return firstText(record, FIELDS.remoteId);
}

/** The fields of a camera that its events may contain. */
export function listedCamera(device: Device): ListedCamera {
  const { id, site } = device;
  const remoteId = remoteIdOf(device);
  return { id, site, ...(remoteId !== undefined && { remoteId }) };
}

/** The record of a camera with the status from its details. */
export function withStatusOf(device: Device, details: JsonRecord): Device {
  return { ...device, status: statusText(details), online: isOnline(details) };
}

function siteOf(record: JsonRecord): string {
  for (const name of FIELDS.site) {
    const value = firstField(record, [name]);
    const text = isRecord(value) ? firstText(value, ['name', 'id']) : asText(value);
    if (text !== undefined) return text;
  }
  return '';
}

function statusText(record: JsonRecord): string {
  for (const name of FIELDS.status) {
    const value = firstField(record, [name]);
    const text = asText(value) ?? rawWordsOf(value).join(', ');
    if (text !== '') return text;
  }
  const flag = firstField(record, FIELDS.onlineFlags);
  if (typeof flag !== 'boolean') return '';
  return flag ? FIELDS.onlineStatus : 'offline';
}

function wordsOf(value: unknown): string[] {
  return rawWordsOf(value).map((word) => word.toLowerCase());
}

function rawWordsOf(value: unknown): string[] {
  const text = asText(value);
  if (text !== undefined) return [text];
  const parts: unknown[] = Array.isArray(value) ? value : [];
  if (isRecord(value)) parts.push(...FIELDS.statusWord.map((name) => firstField(value, [name])));
  return parts.map(asText).filter((word) => word !== undefined);
}

/** A camera of the directory and the address its own links are relative to. */
export interface DeviceEntry {
  readonly device: Device;
  readonly url: URL;
}

/** Positions of cameras in a list, by any of their names; they do not change when an entry is replaced. */
class DeviceNames {
  readonly byId = new Map<string, number>();
  /** Only ids that are not spelled in the normal form of GUIDs. */
  readonly byGuid = new Map<string, number>();
  readonly byRemoteId = new Map<string, number>();
  readonly byName = new Map<string, number>();
  /** All cameras of a name but the first. */
  readonly namesakes = new Map<string, number[]>();
  readonly withoutRemoteId: number[] = [];
}

/** The cameras of one load of the directory, in the order served, found by any of their names. */
export class DeviceIndex {
  readonly #entries: DeviceEntry[];
  readonly #names: DeviceNames;

  constructor(entries: DeviceEntry[] = [], names = new DeviceNames()) {
    this.#entries = entries;
    this.#names = names;
  }

  get entries(): readonly DeviceEntry[] {
    return this.#entries;
  }

  /** Of two devices with the same id, the first served counts. */
  add(entry: DeviceEntry): void {
    const { id, name } = entry.device;
    const { byId, byGuid, byRemoteId, byName, namesakes, withoutRemoteId } = this.#names;
    const index = this.#entries.push(entry) - 1;
    const guid = guidForm(id);
    addFirst(byId, id, index);
    if (guid !== id) addFirst(byGuid, guid, index);
    const remoteId = remoteIdOf(entry.device);
    if (remoteId === undefined) withoutRemoteId.push(index);
    addFirst(byRemoteId, remoteId, index);
    const others = namesakes.get(name);
    if (!byName.has(name)) byName.set(name, index);
    else if (others === undefined) namesakes.set(name, [index]);
    else others.push(index);
  }

  /**
   * An index of these entries, which must be the same cameras with the same names in the same order. No entry may be added to
   * it.
   */
  renewed(entries: DeviceEntry[]): DeviceIndex {
    return new DeviceIndex(entries, this.#names);
  }

  /** Replaces an entry by a newer record of the same device, if the entry is still current. */
  replace(old: DeviceEntry, updated: DeviceEntry): void {
    const index = this.#positionOf(old.device.id);
    if (index !== undefined && this.#entries[index] === old) this.#entries[index] = updated;
  }

  /** Exact id first; then, for GUIDs only, in any case and with or without braces. */
  byId(id: string): DeviceEntry | undefined {
    return this.#at(this.#positionOf(id));
  }

  /** By the remote id that the device's own record shows. */
  byRemoteId(remoteId: string): DeviceEntry | undefined {
    return this.#at(this.#names.byRemoteId.get(remoteId));
  }

  /** The first devices whose own records show no remote id, so that only their details can. */
  withoutRemoteId(atMost: number): DeviceEntry[] {
    return this.#names.withoutRemoteId.slice(0, atMost).flatMap((index) => this.#at(index) ?? []);
  }

  /** All devices of exactly this name. */
  byName(name: string): DeviceEntry[] {
    const indexes = [this.#names.byName.get(name), ...(this.#names.namesakes.get(name) ?? [])];
    return indexes.flatMap((index) => this.#at(index) ?? []);
  }

  #at(index: number | undefined): DeviceEntry | undefined {
    return index === undefined ? undefined : this.#entries[index];
  }

  /** Of a GUID the first, however it is spelled. */
  #positionOf(id: string): number | undefined {
    const { byId, byGuid } = this.#names;
    const exact = byId.get(id);
    const guid = exact === undefined ? guidForm(id) : undefined;
    if (guid === undefined) return exact;
    const indexes = [byId.get(guid), byGuid.get(guid)].filter((index) => index !== undefined);
    return indexes.length === 0 ? undefined : Math.min(...indexes);
  }
}

/** Whether two records have the same id, name and remote id. */
function isNamedAlike(one: Device, other: Device): boolean {
  return (
    one === other || (one.id === other.id && one.name === other.name && remoteIdOf(one) === remoteIdOf(other))
  );
}

function addFirst(map: Map<string, number>, key: string | undefined, index: number): void {
  if (key !== undefined && key !== '' && !map.has(key)) map.set(key, index);
}

/** True if a link no longer exists (404, 410): links may change, and a new one is then searched. */
export function isGone(error: unknown): error is RvmError {
  if (!(error instanceof RvmError) || error.code !== 'HTTP_ERROR') return false;
  return error.cause.status === 404 || error.cause.status === 410;
}

const { relations } = DIALECT;

/** Why the directory is refreshed. */
type LookupMiss = 'unknown' | 'gone';

/** The cameras of one Central Station, as last served. */
export class DeviceDirectory {
  readonly #loading = new SingleFlight<void>();
  readonly #asking = new SingleFlight<DeviceEntry | undefined>();
  #index: DeviceIndex | undefined;
  /** What the first load has read so far, and the callbacks for each of its pages. */
  #coming: DeviceIndex | undefined;
  readonly #onPage = new Set<() => void>();
  #onLoad: () => void = () => undefined;
  /** When the last load began. */
  #loadedAt = -Infinity;
  readonly #answeredAt: Record<LookupMiss, number> = { unknown: -Infinity, gone: -Infinity };

  /** @param detailRelations relations of a camera's own resource */
  constructor(
    private readonly session: StationSession,
    private readonly origins: Origins,
    private readonly timing: StationTiming,
    private readonly detailRelations: readonly string[],
  ) {}

  /** The cameras of the last load; during the first load, those read so far. */
  get index(): DeviceIndex {
    return this.#index ?? this.#coming ?? EMPTY;
  }

  /** True once this run has a complete list. */
  get isLoaded(): boolean {
    return this.#index !== undefined;
  }

  /** Sets the callback for every load. */
  onLoad(listener: () => void): void {
    this.#onLoad = listener;
  }

  /** The devices in the order served; loaded at first use. The records belong to the directory. */
  async list(operation: Operation, fresh: boolean): Promise<readonly Device[]> {
    if (fresh || this.#index === undefined) await this.refresh(operation);
    return this.index.entries.map((entry) => entry.device);
  }

  /**
   * Loads the directory; undefined if it is loaded already.
   * @param isThere ends the wait once it returns true: the list may be long, and the first alarm is urgent
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

  /** Loads the directory now; simultaneous callers share one load. */
  refresh(operation: Operation): Promise<void> {
    return this.#loading.run(operation, (shared) => this.#load(shared));
  }

  /**
   * Loads the directory in the background, if it is not loaded. After a failure, the next caller that needs the directory loads
   * it.
   */
  loadBehind(): void {
    if (this.#index !== undefined) return;
    const operation = new Operation({ deadlineMs: this.timing.deadlineMs });
    void this.refresh(operation)
      .catch(() => undefined)
      .finally(() => operation.end());
  }

  /**
   * The refresh after a camera was not found, or its links were gone: for each reason at most one in 30 s for the whole
   * station, counted from the end of the last one; until then the last result is used. Links that an older session has read are
   * refreshed in any case.
   */
  async refreshOnMiss(operation: Operation, why: LookupMiss): Promise<void> {
    const stands = performance.now() - this.#answeredAt[why] < this.timing.missRefreshMs;
    const isOld = why === 'gone' && this.#loadedAt < this.session.openedAt;
    if (stands && !isOld && !this.#loading.isRunning) return;
    await this.#loading.run(operation, async (shared) => {
      await this.#load(shared);
      this.#answeredAt[why] = performance.now();
    });
  }

  /** The address of a camera's own resource, if it is offered. */
  ownLink({ device, url }: DeviceEntry): { url: TrustedUrl; relation: string } | undefined {
    const found = findAnyLink(device, this.detailRelations);
    if (found === undefined) return undefined;
    return { url: this.origins.resolve(found.address, url, found.relation), relation: found.relation };
  }

  /**
   * Requests one camera's own resource.
   * @returns undefined if it is not offered
   */
  async askDetails(operation: Operation, entry: DeviceEntry): Promise<Record<string, unknown> | undefined> {
    const self = this.ownLink(entry);
    if (self === undefined) return undefined;
    const answer = await this.session.follow(operation, { method: 'GET', ...self });
    return unwrapRecord(answer.json());
  }

  /**
   * All known fields of one camera: its record, overwritten by its own resource if that is offered. If the link is gone, the
   * directory is refreshed once.
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
   * Requests a camera's own resource for its current status and stores that; simultaneous callers share the answer.
   * @returns undefined if the resource is not offered, or has no status
   */
  askStatus(operation: Operation, entry: DeviceEntry): Promise<DeviceEntry | undefined> {
    return this.#asking.run(operation, (shared) => this.#askStatus(shared, entry), entry.device.id);
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
   * Reuses unchanged records, and the index of names if no name has changed: garbage collection takes longer the more new
   * objects it has to retain, and blocks everything else meanwhile.
   */
  async #nextIndex(operation: Operation, former: DeviceIndex): Promise<DeviceIndex> {
    const entries: DeviceEntry[] = [];
    let isNamedAsBefore = true;
    await this.#eachRecord(operation, (record, url) => {
      const listed = toDevice(record);
      const known = former.byId(listed.id)?.device;
      const device = known !== undefined && isSameJson(known, listed) ? known : listed;
      const before = former.entries[entries.length];
      isNamedAsBefore &&= before !== undefined && isNamedAlike(before.device, device);
      const isAsBefore = before?.device === device && before.url.href === url.href;
      entries.push(isAsBefore ? before : { device, url });
    });
    if (isNamedAsBefore && entries.length === former.entries.length) return former.renewed(entries);
    const index = new DeviceIndex();
    await forEachTimeSliced(entries, (entry) => index.add(entry));
    return index;
  }

  async #eachRecord(operation: Operation, work: (record: JsonRecord, url: URL) => void): Promise<void> {
    const first = await this.#firstPage(operation);
    const ask = (url: TrustedUrl): Promise<Answer> => this.#get(operation, url);
    const pages = pagesFrom(first, DIALECT.collection.devices, this.origins, ask);
    for await (const { records, url } of prefetch(pages)) {
      await forEachTimeSliced(records, (record) => work(record, url));
      for (const onPage of this.#onPage) onPage();
    }
  }

  /** The link to the devices comes from `/system`; if it is gone, `/system` is requested again. */
  async #firstPage(operation: Operation): Promise<Answer> {
    try {
      return await this.#get(operation, await this.session.link(operation, relations.devices));
    } catch (error) {
      if (!isGone(error)) throw error;
      await this.session.rereadSystem(operation);
      return this.#get(operation, await this.session.link(operation, relations.devices));
    }
  }

  #get(operation: Operation, url: TrustedUrl): Promise<Answer> {
    return this.session.follow(operation, { method: 'GET', url, relation: relations.devices });
  }
}

const EMPTY = new DeviceIndex();

/** The id stays that of the list, by which the camera is known; the other fields are the newer ones. */
function merged({ device }: DeviceEntry, details: JsonRecord | undefined): Device {
  if (details === undefined) return device;
  const { id: _id, name, site, status: _status, online: _online, ...fields } = toDevice(details);
  const own = { ...device, ...fields, name: name || device.name, site: site || device.site };
  return tellsStatus(details) ? withStatusOf(own, details) : own;
}
