import { RvmError } from '../../error';
import { unwrapRecord } from '../http/collection';
import { dataSourcesIn, type DataSource } from './data-sources';
import type { DeviceDirectory } from './device-directory';
import type { DeviceEntry } from './device-index';
import { DIALECT } from '../dialect';
import { isGone } from './gone';
import { findLink } from '../http/links';
import type { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import type { RemoteIds } from './remote-ids';
import type { SessionKeeper } from '../session/session-keeper';
import { shown } from '../shown';
import { KeyedFlight } from '../single-flight';
import { notOffered } from '../session/system-resource';

/** The data sources of one camera, those with pictures before the others. */
interface CameraSources {
  /** The link they were learned from; a camera whose link has changed since is asked anew. */
  readonly from: string;
  readonly sources: readonly DataSource[];
}

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
  readonly #remoteIds: RemoteIds;
  readonly #origins: Origins;
  readonly #known = new Map<string, CameraSources>();
  readonly #controllers = new Map<string, DataSource>();
  readonly #asking = new KeyedFlight<readonly DataSource[]>();

  constructor(session: SessionKeeper, directory: DeviceDirectory, remoteIds: RemoteIds, origins: Origins) {
    this.#session = session;
    this.#directory = directory;
    this.#remoteIds = remoteIds;
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
    this.#remoteIds.forget(id);
  }

  /** Keeps the caches no larger than the directory. */
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

  /** Known after the first time: to make an address costs more than to find its link. */
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

/** True where what is kept of the camera may be the cause: a link or a remote id that is out of date. */
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
  return notOffered(relation, `The camera ${shown(device.name || device.id)}`, first?.resource ?? device);
}
