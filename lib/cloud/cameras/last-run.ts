import type { Device } from '../../device';
import { DIALECT } from '../dialect';
import { readPage } from '../http/collection';
import type { Origins, TrustedUrl } from '../http/origin';
import type { Operation } from '../operation';
import type { SessionKeeper } from '../session/session-keeper';
import { KeyedFlight } from '../single-flight';
import type { DeviceDirectory } from './device-directory';
import type { DeviceEntry } from './device-index';
import { toDevice } from './device-record';
import type { CameraHints, OpenedAt } from './hints/camera-hints';
import { isTelling } from './hints/telling-address';
import { orNothing } from './or-nothing';

/** How the video of a camera was opened in the last run. */
export interface VideoHint {
  readonly entry: DeviceEntry;
  readonly url: TrustedUrl;
  readonly relation: string;
}

/**
 * What the last run knew, as far as it spares an alarm the wait for the list of this one, which may take minutes. It counts no
 * more once that is there.
 */
export class LastRun {
  readonly #hints: CameraHints;
  readonly #session: SessionKeeper;
  readonly #directory: DeviceDirectory;
  readonly #origins: Origins;
  readonly #asking = new KeyedFlight<readonly DeviceEntry[]>();

  constructor(hints: CameraHints, session: SessionKeeper, directory: DeviceDirectory, origins: Origins) {
    this.#hints = hints;
    this.#session = session;
    this.#directory = directory;
    this.#origins = origins;
  }

  /** True once this run has a list of its own. */
  get isOver(): boolean {
    return this.#directory.isLoaded;
  }

  /**
   * Where the video of an event's camera was opened, after login if need be. Only for an event that names its camera by both
   * ids: the one decides which camera, and the other, in the body, tells the service so.
   */
  async video(
    operation: Operation,
    { cameraId, remoteId }: { cameraId: string | undefined; remoteId: string | undefined },
  ): Promise<VideoHint | undefined> {
    if (cameraId === undefined || remoteId === undefined || this.#isListed(cameraId)) return undefined;
    const learned = await this.#hints.learned(cameraId);
    if (learned?.link === undefined) return undefined;
    const { relation, address } = learned.link;
    const url = this.#resolved(address, relation);
    if (url === undefined || !isTelling(url, [cameraId, remoteId], this.#origins.system)) return undefined;
    await this.#session.link(operation, DIALECT.relations.devices);
    const device = { ...learned.device, site: '', online: true };
    return { entry: { device, url }, url, relation };
  }

  /** Forgets where the video of a camera was opened: it led nowhere. */
  forgetVideo(id: string): void {
    this.#hints.forgetLink(id);
  }

  /** Remembers for the next run how the video of a camera was opened. A camera that is not online is asked about first. */
  learn({ device }: DeviceEntry, remoteId: string | undefined, openedAt: OpenedAt): void {
    const { id, name, status, online } = device;
    this.#hints.learn({ device: { id, name, status }, remoteId }, online ? openedAt : undefined);
  }

  /** The remote id that an event of the last run has told of a camera. */
  async remoteIdOf(id: string): Promise<string | undefined> {
    return (await this.#hints.learned(id))?.remoteId;
  }

  /**
   * The camera as the service lists it now, on the page where it stood: one request in place of all pages. Undefined where it
   * is not there, or where the list of this run comes as soon.
   */
  async onItsPage(operation: Operation, id: string): Promise<DeviceEntry | undefined> {
    if (this.#isListed(id)) return undefined;
    const address = await this.#hints.page(id);
    const { devices } = DIALECT.relations;
    const url = address === undefined ? undefined : this.#resolved(address, devices);
    if (url === undefined) return undefined;
    const first = await this.#session.link(operation, devices);
    if (first.href === url.href) return undefined;
    const asked = this.#asking.run(url.href, operation, (shared) =>
      shared.hint((once) => this.#page(once, url), true),
    );
    const found = (await orNothing(operation, asked))?.find(({ device }) => device.id === id);
    if (found !== undefined) this.#directory.loadBehind();
    return found;
  }

  /** Lets the list of this run come behind an alarm that did not wait for it. */
  follow(): void {
    this.#directory.loadBehind();
  }

  #isListed(id: string): boolean {
    return this.isOver || this.#directory.index.byId(id) !== undefined;
  }

  async #page(operation: Operation, url: TrustedUrl): Promise<DeviceEntry[]> {
    const relation = DIALECT.relations.devices;
    const answer = await this.#session.follow(operation, { method: 'GET', url, relation });
    const { records } = readPage(answer.json(), DIALECT.collection.devices);
    return records.map((record): { device: Device; url: URL } => ({
      device: toDevice(record),
      url: answer.url,
    }));
  }

  /** Undefined where a link of the last run is trusted no more. */
  #resolved(address: string, relation: string): TrustedUrl | undefined {
    try {
      return this.#origins.resolve(address, this.#origins.system, relation);
    } catch {
      return undefined;
    }
  }
}
