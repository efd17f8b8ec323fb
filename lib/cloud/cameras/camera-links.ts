import { RvmError } from '../../error';
import { type JsonRecord, isRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import { type Answer, firstText } from '../http/answer';
import type { TrustedUrl, Origins } from '../http/origins';
import { findLink, unwrapRecord, readPage, wrappedLinks } from '../http/records';
import { KeyedFlight, type Operation } from '../operation';
import { quote } from '../secret-mask';
import type { StationSession } from '../session/session';
import { notOffered } from '../session/system';
import { type DeviceDirectory, type DeviceEntry, isGone, remoteIdOf } from './device-directory';

const { relations } = DIALECT;

/** What a camera offers under one relation. */
export interface Offer {
  readonly url: TrustedUrl;
  /** The one of the requested relations that was found. */
  readonly relation: string;
  /** The remote id in the data sources: of the source with this relation, else of any other. */
  readonly remoteId: string | undefined;
}

/** Cached links of the cameras: on their data sources, PTZ controllers and records (specification, section 4, optimization). */
export class CameraLinks {
  readonly #session: StationSession;
  readonly #directory: DeviceDirectory;
  readonly #remoteIds: RemoteIds;
  readonly #origins: Origins;
  readonly #known = new Map<string, CameraSources>();
  readonly #controllers = new Map<string, DataSource>();
  readonly #asking = new KeyedFlight<readonly DataSource[]>();

  constructor(session: StationSession, directory: DeviceDirectory, remoteIds: RemoteIds, origins: Origins) {
    this.#session = session;
    this.#directory = directory;
    this.#remoteIds = remoteIds;
    this.#origins = origins;
  }

  /**
   * The first of these relations that the camera offers: on one of its data sources, else on its own record. After an error the
   * cached links are dropped, so that the next operation requests them again.
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the session
   */
  async offer(operation: Operation, entry: DeviceEntry, wanted: readonly string[]): Promise<Offer> {
    const sources = await this.#of(operation, entry);
    try {
      return this.#find(entry, sources, wanted) ?? missing(entry, sources, wanted);
    } catch (error) {
      this.forget(entry.device.id);
      throw error;
    }
  }

  /**
   * Like `offer`, for relations that may also be on a PTZ controller, which is one link further.
   * @throws RvmError as `offer`
   */
  async ptzOffer(operation: Operation, entry: DeviceEntry, wanted: readonly string[]): Promise<Offer> {
    const sources = await this.#of(operation, entry);
    try {
      const near = this.#find(entry, sources, wanted);
      if (near !== undefined) return near;
      const controller = await this.#controller(operation, entry, sources);
      const far = controller === undefined ? undefined : this.#find(entry, [controller], wanted);
      return far ?? missing(entry, sources, wanted);
    } catch (error) {
      this.forget(entry.device.id);
      throw error;
    }
  }

  /**
   * Makes a call at an address that `find` returns. If that address is gone, it is searched once more: from the resource above
   * it, else from the directory. The call is repeated only at a different address: a POST is never repeated blindly.
   * @param send called with the camera's current record
   * @throws RvmError those of `find` and `send`
   */
  async call<Found extends { url: URL }, Result>(
    operation: Operation,
    entry: DeviceEntry,
    find: (entry: DeviceEntry) => Promise<Found>,
    send: (found: Found, entry: DeviceEntry) => Promise<Result>,
  ): Promise<Result> {
    let used: Found | undefined;
    try {
      used = await find(entry);
      return await send(used, entry);
    } catch (error) {
      if (isRejected(error)) this.forget(entry.device.id);
      if (!isGone(error)) throw error;
      const near = used && (await unlessGone(find(entry)));
      if (near !== undefined && near.url.href !== used?.url.href) return send(near, entry);
      await this.#directory.refreshOnMiss(operation, 'gone');
      const current = this.#directory.index.byId(entry.device.id) ?? entry;
      const far = await find(current);
      if (far.url.href === used?.url.href) throw error;
      return send(far, current);
    }
  }

  /** Drops the cached links of a camera, because the service rejected them. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#controllers.delete(id);
    this.#remoteIds.forget(id);
  }

  /** Drops cameras that are no longer in the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const cache of [this.#known, this.#controllers]) {
      for (const id of cache.keys()) if (!present(id)) cache.delete(id);
    }
  }

  #find(
    { device, url }: DeviceEntry,
    sources: readonly DataSource[],
    wanted: readonly string[],
  ): Offer | undefined {
    for (const relation of wanted) {
      for (const source of sources) {
        const link = findLink(source.resource, relation);
        if (link === undefined) continue;
        const address = this.#addressOf(source, link, relation);
        return { url: address, relation, remoteId: source.remoteId ?? anyRemoteId(sources) };
      }
      const own = findLink(device, relation);
      if (own === undefined) continue;
      const address = this.#origins.resolve(own, url, relation);
      return { url: address, relation, remoteId: anyRemoteId(sources) };
    }
    return undefined;
  }

  /** Cached: resolving an address costs more than finding its link. */
  #addressOf({ addresses, url }: DataSource, link: string, relation: string): TrustedUrl {
    const known = addresses.get(link);
    if (known !== undefined) return known;
    const address = this.#origins.resolve(link, url, relation);
    addresses.set(link, address);
    return address;
  }

  async #controller(
    operation: Operation,
    entry: DeviceEntry,
    sources: readonly DataSource[],
  ): Promise<DataSource | undefined> {
    const { id } = entry.device;
    const known = this.#controllers.get(id);
    if (known !== undefined) return known;
    const offer = this.#find(entry, sources, relations.ptzController);
    if (offer === undefined) return undefined;
    const { url, relation } = offer;
    const answer = await this.#session.follow(operation, { method: 'GET', url, relation });
    const resource = unwrapRecord(answer.json());
    const controller = { resource, url: answer.url, remoteId: undefined, addresses: new Map() };
    this.#controllers.set(id, controller);
    return controller;
  }

  #of(operation: Operation, entry: DeviceEntry): readonly DataSource[] | Promise<readonly DataSource[]> {
    const link = findLink(entry.device, relations.dataSources);
    if (link === undefined) return [];
    const from = `${entry.url.origin} ${link}`;
    const { id } = entry.device;
    const known = this.#known.get(id);
    if (known?.from === from) return known.sources;
    return this.#asking.run(id, operation, async (shared) => {
      const sources = await this.#ask(shared, entry, link);
      this.#known.set(id, { from, sources });
      return sources;
    });
  }

  async #ask(operation: Operation, entry: DeviceEntry, link: string): Promise<DataSource[]> {
    const relation = relations.dataSources;
    const url = this.#origins.resolve(link, entry.url, relation);
    return dataSourcesIn(await this.#session.follow(operation, { method: 'GET', url, relation }));
  }
}
function anyRemoteId(sources: readonly DataSource[]): string | undefined {
  return sources.find(({ remoteId }) => remoteId !== undefined)?.remoteId;
}

/** True if cached data of the camera may be the cause: an outdated link or remote id. */
function isRejected(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  const { status = 0 } = error.cause;
  return error.code === 'DEVICE_OFFLINE' || (error.code === 'HTTP_ERROR' && status >= 400 && status < 500);
}

async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
function missing({ device }: DeviceEntry, [first]: readonly DataSource[], wanted: readonly string[]): never {
  const hasSources = findLink(device, relations.dataSources) !== undefined;
  const relation = (hasSources ? wanted[0] : undefined) ?? relations.dataSources;
  return notOffered(relation, `The camera ${quote(device.name || device.id)}`, first?.resource ?? device);
}

/** What one data source offers: its links, and the remote id that it shows. */
export interface DataSource {
  readonly resource: JsonRecord;
  /** The address that its links are relative to. */
  readonly url: URL;
  readonly remoteId: string | undefined;
  /** Its links that were used before, as absolute addresses. */
  readonly addresses: Map<string, TrustedUrl>;
}

/**
 * The data sources in the answer to `rel/data_sources`: the resource itself first, then its elements, video sources before the
 * others.
 * @throws RvmError BAD_RESPONSE
 */
function dataSourcesIn(answer: Answer): DataSource[] {
  return records(answer.json()).map((record) => ({
    // Only the fields that are read later: there may be thousands of records.
    resource: { _links: record['_links'] },
    url: answer.url,
    remoteId: remoteIdOf(record),
    addresses: new Map(),
  }));
}
function records(body: unknown): JsonRecord[] {
  const elements = readPage(body, DIALECT.collection.dataSources).records;
  const video = elements.filter((element) => isVideo(element));
  const others = elements.filter((element) => !isVideo(element));
  const own = isRecord(body) ? { ...body, ...wrappedLinks(body) } : undefined;
  return [...(own === undefined ? [] : [own]), ...video, ...others].slice(0, DIALECT.collection.maxSources);
}
function isVideo(element: JsonRecord): boolean {
  const { type, video } = DIALECT.dataSource;
  return firstText(element, type)?.toLowerCase() === video;
}

/** The remote id of a camera's own resource, undefined if it has none; and until when that is valid. */
interface Shown {
  readonly remoteId: string | undefined;
  readonly until: number;
}

/** Milliseconds until details are requested again after a failure. */
const FAILED_DETAILS_MS = 5 * 60000;
/** Remote ids that only the cameras' own resources show; each resource is requested once. */
export class RemoteIds {
  readonly #directory: DeviceDirectory;
  readonly #known = new Map<string, Shown>();
  readonly #asking = new KeyedFlight<string | undefined>();

  constructor(directory: DeviceDirectory) {
    this.#directory = directory;
  }

  /**
   * The remote id that the camera's own resource shows, undefined where there is none.
   * @throws RvmError those of the session
   */
  async inDetails(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    const known = this.#known.get(id);
    if (known !== undefined && performance.now() < known.until) return known.remoteId;
    return this.#asking.run(id, operation, (shared) => this.#ask(shared, entry));
  }

  /** Drops the remote id of a camera, because the service rejected it. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Drops cameras that are no longer in the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const id of this.#known.keys()) if (!present(id)) this.#known.delete(id);
  }

  async #ask(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    try {
      const details = await this.#directory.askDetails(operation, entry);
      const remoteId = details && remoteIdOf(details);
      this.#known.set(id, { remoteId, until: Infinity });
      return remoteId;
    } catch (error) {
      // The details are only a hint, not worth a request for each message: the failure is cached, unless the
      // service was not reached at all.
      const until = performance.now() + FAILED_DETAILS_MS;
      if (isOfTheCamera(error)) this.#known.set(id, { remoteId: undefined, until });
      throw error;
    }
  }
}

/** True for a failure of this camera alone: the service answered, or this one request timed out. */
function isOfTheCamera(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  return error.cause.status !== undefined || error.code === 'TIMEOUT';
}

/** The data sources of one camera, video sources first. */
export interface CameraSources {
  /** The link they were read from; if the camera's link changes, they are requested again. */
  readonly from: string;
  readonly sources: readonly DataSource[];
}
