import { isRecord, type JsonRecord } from '../json-record';
import { readPage } from './collection';
import { remoteIdOf } from './device-record';
import type { DeviceDirectory, DeviceEntry } from './device-directory';
import { DIALECT } from './dialect';
import { firstText } from './json-field';
import { findLink } from './links';
import type { Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import type { SessionKeeper } from './session';
import { KeyedFlight } from './single-flight';
import { notOffered } from './system-resource';

/** What one data source offers: its links, and the remote id that it shows. */
interface Source {
  readonly resource: JsonRecord;
  /** The address that its links are relative to. */
  readonly url: URL;
  readonly remoteId: string | undefined;
}

/** The data sources of one camera, those with pictures before the others. */
interface CameraSources {
  /** The link they were learned from; a camera whose link has changed since is asked anew. */
  readonly from: string;
  readonly sources: readonly Source[];
}

/** What a camera offers under one relation. */
export interface Offer {
  readonly url: TrustedUrl;
  /** The remote id that the data sources show: that of the one with this relation before those of others. */
  readonly remoteId: string | undefined;
}

const { relations } = DIALECT;

/** What the data sources of the cameras offer, cached (specification, section 4, optimization). */
export class DataSources {
  readonly #session: SessionKeeper;
  readonly #directory: DeviceDirectory;
  readonly #origins: Origins;
  readonly #known = new Map<string, CameraSources>();
  /** Remote ids in the details of the cameras; undefined where they show none. */
  readonly #details = new Map<string, string | undefined>();
  readonly #asking = new KeyedFlight<CameraSources>();
  readonly #askingDetails = new KeyedFlight<string | undefined>();

  constructor(session: SessionKeeper, directory: DeviceDirectory, origins: Origins) {
    this.#session = session;
    this.#directory = directory;
    this.#origins = origins;
  }

  /**
   * What this camera offers under a relation: by one of its data sources, else by its own record. What is missing or
   * cannot be followed is asked for anew by the next operation.
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the session
   */
  async offer(operation: Operation, entry: DeviceEntry, relation: string): Promise<Offer> {
    const sources = await this.#of(operation, entry);
    try {
      return this.#find(entry, sources, relation);
    } catch (error) {
      this.#known.delete(entry.device.id);
      throw error;
    }
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

  #find({ device, url }: DeviceEntry, sources: readonly Source[], relation: string): Offer {
    const own: Source = { resource: device, url, remoteId: undefined };
    for (const source of [...sources, own]) {
      const link = findLink(source.resource, relation);
      if (link === undefined) continue;
      return {
        url: this.#origins.resolve(link, source.url, relation),
        remoteId: source.remoteId ?? sources.find(({ remoteId }) => remoteId !== undefined)?.remoteId,
      };
    }
    const hasSources = findLink(device, relations.dataSources) !== undefined;
    return notOffered(hasSources ? relation : relations.dataSources, 'The camera');
  }

  async #of(operation: Operation, entry: DeviceEntry): Promise<readonly Source[]> {
    const link = findLink(entry.device, relations.dataSources);
    if (link === undefined) return [];
    const from = `${entry.url.origin} ${link}`;
    const { id } = entry.device;
    const known = this.#known.get(id);
    if (known?.from === from) return known.sources;
    const asked = await this.#asking.run(id, operation, async (shared) => {
      const answered = { from, sources: await this.#ask(shared, entry, link) };
      this.#known.set(id, answered);
      return answered;
    });
    return asked.sources;
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
    }));
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
  const { type, video } = DIALECT.dataSource;
  return firstText(element, type)?.toLowerCase() === video;
}
