import { readPage } from './collection';
import { remoteIdOf } from './device-record';
import type { DeviceDirectory, DeviceEntry } from './device-directory';
import { DIALECT } from './dialect';
import { firstText, isRecord, type JsonRecord } from './json-record';
import { findLink } from './links';
import type { Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import type { SessionKeeper } from './session';
import { KeyedFlight } from './single-flight';
import { notOffered } from './system-resource';

/** What is known of one camera beyond its record. */
interface CameraLinks {
  /** The entry it was learned from; a camera whose link has changed since is asked anew. */
  readonly source: string;
  readonly rtsp: TrustedUrl;
  /** The remote id that the data sources show. */
  readonly remoteId: string | undefined;
}

const { relations } = DIALECT;

/** The addresses behind the data sources of the cameras, cached (specification, section 4, optimization). */
export class DataSources {
  readonly #session: SessionKeeper;
  readonly #directory: DeviceDirectory;
  readonly #origins: Origins;
  readonly #known = new Map<string, CameraLinks>();
  /** Remote ids in the details of the cameras; undefined where they show none. */
  readonly #details = new Map<string, string | undefined>();
  readonly #asking = new KeyedFlight<CameraLinks>();
  readonly #askingDetails = new KeyedFlight<string | undefined>();

  constructor(session: SessionKeeper, directory: DeviceDirectory, origins: Origins) {
    this.#session = session;
    this.#directory = directory;
    this.#origins = origins;
  }

  /**
   * The address that opens RTSP sessions of this camera, and the remote id its data sources show.
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the session
   */
  async of(operation: Operation, entry: DeviceEntry): Promise<CameraLinks> {
    const { id } = entry.device;
    const known = this.#known.get(id);
    if (known !== undefined && known.source === sourceOf(entry)) return known;
    return this.#asking.run(id, operation, (shared) => this.#ask(shared, entry));
  }

  /** Forgets what is known of a camera, because the service did not take it. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#details.delete(id);
  }

  /** Keeps the caches no larger than the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const cache of [this.#known, this.#details]) {
      for (const id of cache.keys()) if (!present(id)) cache.delete(id);
    }
  }

  /**
   * The remote id that the camera's own resource shows; asked once per camera.
   * @throws RvmError those of the session
   */
  async remoteIdInDetails(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    if (this.#details.has(id)) return this.#details.get(id);
    return this.#askingDetails.run(id, operation, async (shared) => {
      const details = await this.#directory.askDetails(shared, entry);
      const remoteId = details && remoteIdOf(details);
      this.#details.set(id, remoteId);
      return remoteId;
    });
  }

  async #ask(operation: Operation, entry: DeviceEntry): Promise<CameraLinks> {
    const links = (await this.#askSources(operation, entry)) ?? this.#linksOfDevice(entry);
    this.#known.set(entry.device.id, links);
    return links;
  }

  async #askSources(operation: Operation, entry: DeviceEntry): Promise<CameraLinks | undefined> {
    const link = findLink(entry.device, relations.dataSources);
    if (link === undefined) return undefined;
    const relation = relations.dataSources;
    const url = this.#origins.resolve(link, entry.url, relation);
    const answer = await this.#session.follow(operation, { method: 'GET', url, relation });
    const body = answer.json();
    const records = sourceRecords(body);
    for (const record of records) {
      const rtsp = findLink(record, relations.rtsp);
      if (rtsp === undefined) continue;
      return {
        source: sourceOf(entry),
        rtsp: this.#origins.resolve(rtsp, answer.url, relations.rtsp),
        remoteId: remoteIdOf(record) ?? records.map(remoteIdOf).find((id) => id !== undefined),
      };
    }
    return undefined;
  }

  #linksOfDevice(entry: DeviceEntry): CameraLinks {
    const rtsp = findLink(entry.device, relations.rtsp);
    if (rtsp !== undefined) {
      const url = this.#origins.resolve(rtsp, entry.url, relations.rtsp);
      return { source: sourceOf(entry), rtsp: url, remoteId: undefined };
    }
    const missing =
      findLink(entry.device, relations.dataSources) === undefined ? relations.dataSources : relations.rtsp;
    return notOffered(missing, 'The camera');
  }
}

/** The resource itself first, then its elements, those with pictures before the others. */
function sourceRecords(body: unknown): JsonRecord[] {
  const elements = readPage(body, DIALECT.collection.dataSources).records;
  const video = elements.filter((element) => isVideo(element));
  const others = elements.filter((element) => !isVideo(element));
  return [...(isRecord(body) ? [body] : []), ...video, ...others];
}

function isVideo(element: JsonRecord): boolean {
  return firstText(element, ['type'])?.toLowerCase() === DIALECT.dataSourceVideo;
}

function sourceOf(entry: DeviceEntry): string {
  const link = findLink(entry.device, relations.dataSources) ?? findLink(entry.device, relations.rtsp);
  return `${entry.url.origin} ${link ?? ''}`;
}
