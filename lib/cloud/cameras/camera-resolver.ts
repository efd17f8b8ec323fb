import { RvmError } from '../../error';
import type { RvmEvent } from '../../event';
import { type JsonRecord, isRecord } from '../../json/json';
import type { WhenOffline } from '../calls';
import { DIALECT } from '../dialect';
import { type Answer, asText, firstField, firstText } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { findLink, unwrapRecord, readPage, wrappedLinks } from '../http/records';
import { FATAL_CODES, undefinedOnServiceError } from '../http/retry-policy';
import { type Operation, SingleFlight } from '../operation';
import { quote } from '../secret-mask';
import type { StationSession } from '../session/session';
import { notOffered } from '../session/system';
import type { LastRun } from './camera-cache';
import { type DeviceDirectory, type DeviceEntry, isGone, remoteIdOf } from './device-directory';

const { relations } = DIALECT;

/** The ids by which an event names its camera (specification, section 2, Payload). */
interface EventIds {
  cameraId: string | undefined;
  remoteId: string | undefined;
}

const NO_IDS: EventIds = { cameraId: undefined, remoteId: undefined };

/** @throws RvmError EVENT_WITHOUT_CAMERA if the event has neither id */
export function idsOf(event: RvmEvent): EventIds {
  if (namesCamera(event)) return namedIn(event);
  throw new RvmError(
    'EVENT_WITHOUT_CAMERA',
    'The event names no camera, so there is no video to ask for; route such events past this node.',
  );
}

/** Whether the event has a camera, and so video to request. */
export function namesCamera(event: RvmEvent): boolean {
  const { cameraId, remoteId } = namedIn(event);
  return cameraId !== undefined || remoteId !== undefined;
}

function namedIn(event: RvmEvent): EventIds {
  const cameraId = asText(firstField(event, ['cameraId']));
  const remoteId = asText(firstField(event, ['cameraRemoteId']));
  return { cameraId, remoteId };
}

/** What a camera offers under one relation. */
export interface Offer {
  readonly url: TrustedUrl;
  /** The one of the requested relations that was found. */
  readonly relation: string;
  /** The remote id in the data sources: of the source with this relation, else of any other. */
  readonly remoteId: string | undefined;
}

/** Where the video of a camera is opened, and the remote id that the request names it by. */
interface VideoLink {
  readonly entry: DeviceEntry;
  readonly remoteId: string;
  readonly at: { readonly url: TrustedUrl; readonly relation: string };
}

/** A video that was opened, and where. */
type OpenedVideo<Video> = VideoLink & { readonly video: Video };

type OpenVideo<Video> = (operation: Operation, link: VideoLink) => Promise<Video>;

/** The camera of an event, which is found by its ids alone, or one that a user names. */
type NamedCamera = { whenOffline: WhenOffline } & ({ ids: EventIds } | { name: string });

/** What one data source offers: its links, and the remote id that it shows. */
interface DataSource {
  readonly resource: JsonRecord;
  /** The address that its links are relative to. */
  readonly url: URL;
  readonly remoteId: string | undefined;
  /** Its links that were used before, as absolute addresses. */
  readonly addresses: Map<string, TrustedUrl>;
}

/** The data sources of one camera, video sources first. */
interface CameraSources {
  /** The link they were read from; if the camera's link changes, they are requested again. */
  readonly from: string;
  readonly sources: readonly DataSource[];
}

/** The remote id of a camera's own resource, undefined if it has none; and until when that is valid. */
interface ShownRemoteId {
  readonly remoteId: string | undefined;
  readonly until: number;
}

/** Maximum number of cameras whose details are requested to find one by its remote id alone. */
const MAX_DETAILS = 500;
/** Milliseconds until details are requested again after a failure. */
const FAILED_DETAILS_MS = 5 * 60000;

/**
 * Finds the camera that an event or a user names, the remote id that the service wants for it, and its links: on its data
 * sources, PTZ controller and record, cached (specification, section 4, optimization).
 */
export class CameraResolver {
  readonly #sources = new Map<string, CameraSources>();
  readonly #controllers = new Map<string, DataSource>();
  readonly #askingSources = new SingleFlight<readonly DataSource[]>();
  /** Remote ids that only the cameras' own resources show; each resource is requested once. */
  readonly #shown = new Map<string, ShownRemoteId>();
  readonly #askingDetails = new SingleFlight<string | undefined>();
  /** Remote ids learned from earlier events, by device id; and the reverse map. */
  readonly #learned = new Map<string, string>();
  readonly #learnedDevices = new Map<string, string>();

  constructor(
    private readonly session: StationSession,
    private readonly directory: DeviceDirectory,
    private readonly lastRun: LastRun,
    private readonly origins: Origins,
  ) {}

  /**
   * Opens the video of a camera; until this run has a list, at the link of the last run. What has led to it is learned.
   * @throws RvmError DEVICE_NOT_FOUND, DEVICE_OFFLINE, LINK_NOT_OFFERED, and those of `open` and the session
   */
  async withVideo<Video>(
    operation: Operation,
    named: NamedCamera,
    open: OpenVideo<Video>,
  ): Promise<OpenedVideo<Video>> {
    const ids = 'ids' in named ? named.ids : NO_IDS;
    const early = this.directory.isLoaded ? undefined : await this.#asInLastRun(operation, ids, open);
    const opened = early ?? (await this.#openNow(operation, named, ids, open));
    const { entry, at } = opened;
    this.#learn(entry, ids.remoteId);
    this.lastRun.learn(entry, ids.remoteId, at);
    return opened;
  }

  async #openNow<Video>(
    operation: Operation,
    named: NamedCamera,
    ids: EventIds,
    open: OpenVideo<Video>,
  ): Promise<OpenedVideo<Video>> {
    const found = await this.#usable(operation, named);
    return this.withLink(operation, found, [relations.rtsp], async ({ url, relation, ...offer }, entry) => {
      const remoteId = await this.#remoteId(operation, entry, ids, offer.remoteId);
      const link = { entry, remoteId, at: { url, relation } };
      return { ...link, video: await open(operation, link) };
    });
  }

  /** One attempt at the link of the last run; undefined if that fails, so that the standard steps follow. */
  async #asInLastRun<Video>(
    operation: Operation,
    ids: EventIds,
    open: OpenVideo<Video>,
  ): Promise<OpenedVideo<Video> | undefined> {
    const hint = await this.lastRun.video(operation, ids);
    if (hint === undefined || ids.remoteId === undefined) return undefined;
    const { entry, ...at } = hint;
    const link = { entry, remoteId: ids.remoteId, at };
    const request = operation.hint((once) => open(once, link), true);
    const video = await undefinedOnServiceError(operation, request);
    if (video === undefined) this.lastRun.forgetVideo(entry.device.id);
    else this.directory.loadBehind();
    return video === undefined ? undefined : { ...link, video };
  }

  /**
   * The camera that a user names, by its exact id, else its remote id, else its exact name if no other camera
   * has it.
   * @throws RvmError BAD_INPUT where several have that name, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of
   *   the session
   */
  chosen(operation: Operation, name: string, whenOffline: WhenOffline = 'fail'): Promise<DeviceEntry> {
    return this.#usable(operation, { name, whenOffline });
  }

  /**
   * The camera id of the RTSP session request: the event's remote id; that of the device's record, of its data sources or of
   * its details; one learned from an earlier event, of this run or the last; at last the device's own id.
   */
  #remoteId(
    operation: Operation,
    entry: DeviceEntry,
    ids: EventIds,
    inSources: string | undefined,
  ): string | Promise<string> {
    const near = ids.remoteId ?? remoteIdOf(entry.device) ?? inSources;
    return near ?? this.#remoteIdFurtherOff(operation, entry);
  }

  async #remoteIdFurtherOff(operation: Operation, entry: DeviceEntry): Promise<string> {
    const request = operation.hint((hint) => this.#remoteIdInDetails(hint, entry));
    const inDetails = await undefinedOnServiceError(operation, request);
    const { id } = entry.device;
    return inDetails ?? this.#learned.get(id) ?? (await this.#ofLastRun(id)) ?? id;
  }

  /** The remote id from the last run, unless another camera is known to have it now. */
  async #ofLastRun(id: string): Promise<string | undefined> {
    const remoteId = await this.lastRun.remoteIdOf(id);
    const owner = remoteId === undefined ? undefined : this.#byRemoteId(remoteId);
    return owner === undefined || owner.device.id === id ? remoteId : undefined;
  }

  /** Stores the remote id of an event; called once the service has accepted it. */
  #learn(entry: DeviceEntry, remoteId: string | undefined): void {
    if (remoteId === undefined) return;
    const { id } = entry.device;
    const former = this.#learnedDevices.get(remoteId);
    if (former !== undefined && former !== id) this.#learned.delete(former);
    const before = this.#learned.get(id);
    // Another camera may have it by now.
    if (before !== undefined && before !== remoteId) this.#learnedDevices.delete(before);
    this.#learned.set(id, remoteId);
    this.#learnedDevices.set(remoteId, id);
  }

  /** Drops cameras that are no longer in the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const cache of [this.#sources, this.#controllers, this.#shown]) {
      for (const id of cache.keys()) if (!present(id)) cache.delete(id);
    }
    for (const [id, remoteId] of this.#learned) {
      if (present(id)) continue;
      this.#learned.delete(id);
      this.#learnedDevices.delete(remoteId);
    }
  }

  /**
   * The first of these relations that the camera offers: on one of its data sources, else on its own record. After an error the
   * cached links are dropped, so that the next operation requests them again.
   * @param isPtz they may also be on a PTZ controller, which is one link further
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the session
   */
  async offer(
    operation: Operation,
    entry: DeviceEntry,
    wanted: readonly string[],
    isPtz = false,
  ): Promise<Offer> {
    const sources = await this.#sourcesOf(operation, entry);
    try {
      const near = this.#find(entry, sources, wanted);
      if (near !== undefined) return near;
      const controller = isPtz ? await this.#controller(operation, entry, sources) : undefined;
      const far = controller && this.#find(entry, [controller], wanted);
      if (far === undefined) throw missing(entry, sources, wanted);
      return far;
    } catch (error) {
      this.#forget(entry.device.id);
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
      if (isRejected(error)) this.#forget(entry.device.id);
      if (!isGone(error)) throw error;
      const near = used && (await unlessGone(find(entry)));
      if (near !== undefined && near.url.href !== used?.url.href) return send(near, entry);
      await this.directory.refreshOnMiss(operation, 'gone');
      const current = this.directory.index.byId(entry.device.id) ?? entry;
      const far = await find(current);
      if (far.url.href === used?.url.href) throw error;
      return send(far, current);
    }
  }

  /** The same for the first of these relations that the camera offers. @throws RvmError as `offer` and `call` */
  withLink<Result>(
    operation: Operation,
    entry: DeviceEntry,
    wanted: readonly string[],
    send: (offer: Offer, entry: DeviceEntry) => Promise<Result>,
    isPtz = false,
  ): Promise<Result> {
    return this.call(operation, entry, (camera) => this.offer(operation, camera, wanted, isPtz), send);
  }

  /** Drops the cached links of a camera, because the service rejected them. */
  #forget(id: string): void {
    for (const cache of [this.#sources, this.#controllers, this.#shown]) cache.delete(id);
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
      const address = this.origins.resolve(own, url, relation);
      return { url: address, relation, remoteId: anyRemoteId(sources) };
    }
    return undefined;
  }

  /** Cached: resolving an address costs more than finding its link. */
  #addressOf({ addresses, url }: DataSource, link: string, relation: string): TrustedUrl {
    const known = addresses.get(link);
    if (known !== undefined) return known;
    const address = this.origins.resolve(link, url, relation);
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
    const answer = await this.session.follow(operation, { method: 'GET', url, relation });
    const resource = unwrapRecord(answer.json());
    const controller = { resource, url: answer.url, remoteId: undefined, addresses: new Map() };
    this.#controllers.set(id, controller);
    return controller;
  }

  #sourcesOf(
    operation: Operation,
    entry: DeviceEntry,
  ): readonly DataSource[] | Promise<readonly DataSource[]> {
    const link = findLink(entry.device, relations.dataSources);
    if (link === undefined) return [];
    const from = `${entry.url.origin} ${link}`;
    const { id } = entry.device;
    const known = this.#sources.get(id);
    if (known?.from === from) return known.sources;
    const ask = async (shared: Operation): Promise<readonly DataSource[]> => {
      const sources = await this.#askSources(shared, entry, link);
      this.#sources.set(id, { from, sources });
      return sources;
    };
    return this.#askingSources.run(operation, ask, id);
  }

  async #askSources(operation: Operation, entry: DeviceEntry, link: string): Promise<DataSource[]> {
    const relation = relations.dataSources;
    const url = this.origins.resolve(link, entry.url, relation);
    return dataSourcesIn(await this.session.follow(operation, { method: 'GET', url, relation }));
  }

  /** @throws RvmError those of the session */
  async #remoteIdInDetails(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    const known = this.#shown.get(id);
    if (known !== undefined && performance.now() < known.until) return known.remoteId;
    return this.#askingDetails.run(operation, (shared) => this.#askRemoteId(shared, entry), id);
  }

  async #askRemoteId(operation: Operation, entry: DeviceEntry): Promise<string | undefined> {
    const { id } = entry.device;
    try {
      const details = await this.directory.askDetails(operation, entry);
      const remoteId = details && remoteIdOf(details);
      this.#shown.set(id, { remoteId, until: Infinity });
      return remoteId;
    } catch (error) {
      // The details are only a hint, not worth a request for each message: the failure is cached, unless the
      // service was not reached at all.
      const until = performance.now() + FAILED_DETAILS_MS;
      if (isOfTheCamera(error)) this.#shown.set(id, { remoteId: undefined, until });
      throw error;
    }
  }

  /**
   * If the directory does not contain the camera, or lists it as unusable, the service is queried once more before the message
   * fails.
   */
  async #usable(operation: Operation, named: NamedCamera): Promise<DeviceEntry> {
    const known = await this.#known(operation, named);
    const entry = known ?? (await this.#findAgain(operation, named));
    if (entry.device.online || named.whenOffline === 'try') return entry;
    const now = known === undefined ? entry : await this.#askAgain(operation, entry, named);
    if (now.device.online) return now;
    throw offline(now);
  }

  /** From the directory; until that is loaded, from the page where the last run found the camera. */
  async #known(operation: Operation, named: NamedCamera): Promise<DeviceEntry | undefined> {
    if (!this.directory.isLoaded) {
      const isUnique = 'ids' in named;
      const id = isUnique ? named.ids.cameraId : named.name;
      const early = id === undefined ? undefined : await this.lastRun.onItsPage(operation, id);
      if (early !== undefined) return early;
      // A later page may contain the same name again, but not the same id.
      await this.directory.ensureLoaded(operation, () => isUnique && this.#lookUp(named) !== undefined);
    }
    return this.#lookUp(named);
  }

  #lookUp(named: NamedCamera): DeviceEntry | undefined {
    if ('name' in named) return this.#lookUpName(named.name);
    const { cameraId, remoteId } = named.ids;
    const { index } = this.directory;
    if (cameraId !== undefined) return index.byId(cameraId);
    if (remoteId === undefined) return undefined;
    return this.#byRemoteId(remoteId) ?? index.byId(remoteId);
  }

  #lookUpName(name: string): DeviceEntry | undefined {
    const { index } = this.directory;
    const byId = index.byId(name) ?? this.#byRemoteId(name);
    if (byId !== undefined) return byId;
    const [only, ...others] = index.byName(name);
    if (others.length === 0) return only;
    throw new RvmError(
      'BAD_INPUT',
      `${others.length + 1} cameras have the name ${quote(name)}: name the camera by its id.`,
    );
  }

  #byRemoteId(remoteId: string): DeviceEntry | undefined {
    const learned = this.#learnedDevices.get(remoteId);
    const { index } = this.directory;
    return index.byRemoteId(remoteId) ?? (learned === undefined ? undefined : index.byId(learned));
  }

  async #findAgain(operation: Operation, named: NamedCamera): Promise<DeviceEntry> {
    await this.directory.refreshOnMiss(operation, 'unknown');
    const found = this.#lookUp(named) ?? (await this.#searchDetails(operation, named));
    if (found === undefined) throw notFound(named);
    return found;
  }

  /** Last resort for a remote id: requests the details of the cameras whose records show none. */
  async #searchDetails(operation: Operation, named: NamedCamera): Promise<DeviceEntry | undefined> {
    const remoteId = 'name' in named ? named.name : named.ids.remoteId;
    // A remote id contains no white space, and the details of all cameras are many requests.
    const isInVain = 'name' in named ? /\s/.test(named.name) : named.ids.cameraId !== undefined;
    for (const entry of isInVain ? [] : this.directory.index.withoutRemoteId(MAX_DETAILS)) {
      const request = operation.hint((hint) => this.#remoteIdInDetails(hint, entry), true);
      const inDetails = await undefinedOnServiceError(operation, request, FATAL_CODES);
      if (inDetails !== undefined && inDetails === remoteId) return entry;
    }
    return undefined;
  }

  async #askAgain(operation: Operation, entry: DeviceEntry, named: NamedCamera): Promise<DeviceEntry> {
    const request = operation.hint((hint) => this.directory.askStatus(hint, entry));
    const own = await undefinedOnServiceError(operation, request);
    if (own !== undefined) return own;
    await this.directory.refreshOnMiss(operation, 'unknown');
    const found = this.#lookUp(named);
    if (found === undefined) throw notFound(named);
    return found;
  }
}

function nameIn(named: NamedCamera): string {
  if ('name' in named) return `id, remote id or name ${quote(named.name)}`;
  const { cameraId, remoteId } = named.ids;
  return cameraId === undefined ? `remote id ${quote(remoteId ?? '')}` : `id ${quote(cameraId)}`;
}

function notFound(named: NamedCamera): RvmError {
  return new RvmError(
    'DEVICE_NOT_FOUND',
    `The service lists no camera with the ${nameIn(named)}, letter by letter; check whether the customer's site is accepted for this Central Station.`,
  );
}

function offline({ device }: DeviceEntry): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    `The camera ${quote(device.name || device.id)} is not online (status ${quote(device.status)}); try again when it is, or let get RTSP ask for its recorded video all the same.`,
  );
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

function missing(
  { device }: DeviceEntry,
  [first]: readonly DataSource[],
  wanted: readonly string[],
): RvmError {
  const hasSources = findLink(device, relations.dataSources) !== undefined;
  const relation = (hasSources ? wanted[0] : undefined) ?? relations.dataSources;
  return notOffered(relation, `The camera ${quote(device.name || device.id)}`, first?.resource ?? device);
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

/** True for a failure of this camera alone: the service answered, or this one request timed out. */
function isOfTheCamera(error: unknown): boolean {
  if (!(error instanceof RvmError)) return false;
  return error.cause.status !== undefined || error.code === 'TIMEOUT';
}
