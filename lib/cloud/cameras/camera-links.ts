import { RvmError } from '../../error';
import { isRecord, type JsonRecord } from '../../json/json-record';
import { readPage, unwrapRecord, wrappedLinks } from './collection';
import { remoteIdOf } from './device-record';
import type { DeviceDirectory } from './device-directory';
import type { DeviceEntry } from './device-index';
import { DIALECT } from '../dialect';
import { isGone } from './gone';
import { firstText } from '../http/json-field';
import { findLink } from '../http/links';
import type { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import type { SessionKeeper } from '../session/session';
import { shown } from '../../shown';
import { KeyedFlight } from '../session/single-flight';
import { notOffered } from '../session/system-resource';

/** What one data source offers: its links, and the remote id that it shows. */
interface Source {
  readonly resource: JsonRecord;
  /** The address that its links are relative to. */
  readonly url: URL;
  readonly remoteId: string | undefined;
  /** Those of its links that have been used, made absolute. */
  readonly addresses: Map<string, TrustedUrl>;
}

/** The data sources of one camera, those with pictures before the others. */
interface CameraSources {
  /** The link they were learned from; a camera whose link has changed since is asked anew. */
  readonly from: string;
  readonly sources: readonly Source[];
}

/** The remote id that a camera's details show, undefined where they show none, and until when that is believed. */
interface Details {
  readonly remoteId: string | undefined;
  readonly until: number;
}

/** Details that could not be had are not asked for again for so long. */
const FAILED_DETAILS_MS = 5 * 60_000;

/** What a camera offers under one relation. */
export interface Offer {
  readonly url: TrustedUrl;
  /** Which of those that were looked for it is. */
  readonly relation: string;
  /** The remote id that the data sources show: that of the one with this relation before those of others. */
  readonly remoteId: string | undefined;
}

const { relations } = DIALECT;

/** The links of the cameras: on their data sources, PTZ controllers and records, cached (specification, section 4, optimization). */
export class CameraLinks {
  readonly #session: SessionKeeper;
  readonly #directory: DeviceDirectory;
  readonly #origins: Origins;
  readonly #known = new Map<string, CameraSources>();
  readonly #controllers = new Map<string, Source>();
  readonly #details = new Map<string, Details>();
  readonly #asking = new KeyedFlight<readonly Source[]>();
  readonly #askingDetails = new KeyedFlight<string | undefined>();

  constructor(session: SessionKeeper, directory: DeviceDirectory, origins: Origins) {
    this.#session = session;
    this.#directory = directory;
    this.#origins = origins;
  }

  /**
   * What this camera offers under the first of these relations that it has: on one of its data sources, else on its own
   * record. What is missing or cannot be followed is asked for anew by the next operation.
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
   * As `offer`, for relations that may also hang on a PTZ controller, which is one link further.
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
   * Makes a call at an address that `find` gives. One that is gone is found anew, once: from the resource above it, else from
   * the directory. The call is made again only if that names another address: a POST is never repeated blindly.
   * @param send gets the camera as it is known then
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

  /** Forgets what is known of a camera, because the service did not take it. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#controllers.delete(id);
    this.#details.delete(id);
  }

  /** Keeps the caches no larger than the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const cache of [this.#known, this.#controllers, this.#details]) {
      for (const id of cache.keys()) if (!present(id)) cache.delete(id);
    }
  }

  /**
   * The remote id that the camera's own resource shows; asked once per camera.
   * @throws RvmError those of the session
   */
  async remoteIdInDetails(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    const known = this.#details.get(id);
    if (known !== undefined && performance.now() < known.until) return known.remoteId;
    return this.#askingDetails.run(id, operation, async (shared) => {
      try {
        const details = await this.#directory.askDetails(shared, entry);
        const remoteId = details && remoteIdOf(details);
        this.#details.set(id, { remoteId, until: Infinity });
        return remoteId;
      } catch (error) {
        // What it would tell is a hint, and not worth a request for each message; not so where nobody was reached.
        const until = performance.now() + FAILED_DETAILS_MS;
        if (isOfTheCamera(error)) this.#details.set(id, { remoteId: undefined, until });
        throw error;
      }
    });
  }

  #find(
    { device, url }: DeviceEntry,
    sources: readonly Source[],
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

  /** Known after the first time: to make an address costs more than to find its link. */
  #addressOf({ addresses, url }: Source, link: string, relation: string): TrustedUrl {
    const known = addresses.get(link);
    if (known !== undefined) return known;
    const address = this.#origins.resolve(link, url, relation);
    addresses.set(link, address);
    return address;
  }

  async #controller(
    operation: Operation,
    entry: DeviceEntry,
    sources: readonly Source[],
  ): Promise<Source | undefined> {
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

  #of(operation: Operation, entry: DeviceEntry): readonly Source[] | Promise<readonly Source[]> {
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

  async #ask(operation: Operation, entry: DeviceEntry, link: string): Promise<Source[]> {
    const relation = relations.dataSources;
    const url = this.#origins.resolve(link, entry.url, relation);
    const answer = await this.#session.follow(operation, { method: 'GET', url, relation });
    return sourceRecords(answer.json()).map((record) => ({
      // Of each record only what is asked for later: there may be thousands.
      resource: { _links: record['_links'] },
      url: answer.url,
      remoteId: remoteIdOf(record),
      addresses: new Map(),
    }));
  }
}

function anyRemoteId(sources: readonly Source[]): string | undefined {
  return sources.find(({ remoteId }) => remoteId !== undefined)?.remoteId;
}

/** True where what is kept of the camera may be the cause: a link or a remote id that is out of date. */
function isRejected(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  const { status = 0 } = error.cause;
  return error.code === 'DEVICE_OFFLINE' || (error.code === 'HTTP_ERROR' && status >= 400 && status < 500);
}

/** True for a failure that is this camera's own: there was an answer, or none to this alone. */
function isOfTheCamera(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  return error.cause.status !== undefined || error.code === 'TIMEOUT';
}

async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function missing({ device }: DeviceEntry, [first]: readonly Source[], wanted: readonly string[]): never {
  const hasSources = findLink(device, relations.dataSources) !== undefined;
  const relation = (hasSources ? wanted[0] : undefined) ?? relations.dataSources;
  return notOffered(relation, `The camera ${shown(device.name || device.id)}`, first?.resource ?? device);
}

/** The resource itself first, then its elements, those with pictures before the others. */
function sourceRecords(body: unknown): JsonRecord[] {
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
