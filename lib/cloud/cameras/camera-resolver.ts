import { RvmError } from '../../error';
import type { RvmEvent } from '../../event';
import type { WhenOffline } from '../calls';
import { asText, firstField } from '../http/answer';
import { FATAL_CODES, undefinedOnServiceError } from '../http/retry-policy';
import { type Operation } from '../operation';
import { quote } from '../secret-mask';
import type { LastRun } from './camera-cache';
import type { RemoteIds } from './camera-links';
import { type DeviceDirectory, type DeviceEntry, remoteIdOf } from './device-directory';

/** The ids by which an event names its camera (specification, section 2, Payload). */
export interface EventIds {
  cameraId: string | undefined;
  remoteId: string | undefined;
}

/** Maximum number of cameras whose details are requested to find one by its remote id alone. */
const MAX_DETAILS = 500;

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

/** Finds the camera that an event or a user names, and the remote id that the service wants for it. */
export class CameraResolver {
  readonly #directory: DeviceDirectory;
  readonly #remoteIds: RemoteIds;
  readonly #lastRun: LastRun;
  /** Remote ids learned from earlier events, by device id; and the reverse map. */
  readonly #learned = new Map<string, string>();
  readonly #learnedDevices = new Map<string, string>();

  constructor(directory: DeviceDirectory, remoteIds: RemoteIds, lastRun: LastRun) {
    this.#directory = directory;
    this.#remoteIds = remoteIds;
    this.#lastRun = lastRun;
  }

  /**
   * The camera of an event. If the directory does not contain it, or lists it as unusable, the service is queried once more
   * before the message fails.
   * @throws RvmError DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of the session
   */
  ofEvent(operation: Operation, ids: EventIds, whenOffline: WhenOffline): Promise<DeviceEntry> {
    return this.#usable(operation, whenOffline, {
      id: ids.cameraId,
      isUnique: true,
      lookUp: () => this.#lookUp(ids),
      search: () => (ids.cameraId === undefined ? this.#searchDetails(operation, ids.remoteId) : undefined),
      notFound: () => notFound(named(ids)),
    });
  }

  /**
   * The camera that a user names, by its exact id, else its remote id, else its exact name if no other camera
   * has it.
   * @throws RvmError BAD_INPUT where several have that name, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of
   *   the session
   */
  chosen(operation: Operation, name: string, whenOffline: WhenOffline = 'fail'): Promise<DeviceEntry> {
    return this.#usable(operation, whenOffline, {
      id: name,
      isUnique: false,
      lookUp: () => this.#lookUpName(name),
      // A remote id contains no white space, and the details of all cameras are many requests.
      search: () => (/\s/.test(name) ? undefined : this.#searchDetails(operation, name)),
      notFound: () => notFound(`id, remote id or name ${quote(name)}`),
    });
  }

  /**
   * The camera id of the RTSP session request: the event's remote id; that of the device's record, of its data sources or of
   * its details; one learned from an earlier event, of this run or the last; at last the device's own id.
   */
  remoteId(
    operation: Operation,
    entry: DeviceEntry,
    ids: EventIds,
    inSources: string | undefined,
  ): string | Promise<string> {
    const near = ids.remoteId ?? remoteIdOf(entry.device) ?? inSources;
    return near ?? this.#remoteIdFurtherOff(operation, entry);
  }

  async #remoteIdFurtherOff(operation: Operation, entry: DeviceEntry): Promise<string> {
    const request = operation.hint((hint) => this.#remoteIds.inDetails(hint, entry));
    const inDetails = await undefinedOnServiceError(operation, request);
    const { id } = entry.device;
    return inDetails ?? this.#learned.get(id) ?? (await this.#ofLastRun(id)) ?? id;
  }

  /** The remote id from the last run, unless another camera is known to have it now. */
  async #ofLastRun(id: string): Promise<string | undefined> {
    const remoteId = await this.#lastRun.remoteIdOf(id);
    const owner = remoteId === undefined ? undefined : this.#byRemoteId(remoteId);
    return owner === undefined || owner.device.id === id ? remoteId : undefined;
  }

  /** Stores the remote id of an event; called once the service has accepted it. */
  learn(entry: DeviceEntry, remoteId: string | undefined): void {
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

  /** Drops what was learned of cameras that are no longer in the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const [id, remoteId] of this.#learned) {
      if (present(id)) continue;
      this.#learned.delete(id);
      this.#learnedDevices.delete(remoteId);
    }
  }

  async #usable(operation: Operation, whenOffline: WhenOffline, wanted: Wanted): Promise<DeviceEntry> {
    const known = await this.#known(operation, wanted);
    const entry = known ?? (await this.#findAgain(operation, wanted));
    if (entry.device.online || whenOffline === 'try') return entry;
    const now = known === undefined ? entry : await this.#askAgain(operation, entry, wanted);
    if (now.device.online) return now;
    throw offline(now);
  }

  /** From the directory; until that is loaded, from the page where the last run found the camera. */
  async #known(operation: Operation, wanted: Wanted): Promise<DeviceEntry | undefined> {
    if (!this.#lastRun.isOver) {
      const early = wanted.id === undefined ? undefined : await this.#lastRun.onItsPage(operation, wanted.id);
      if (early !== undefined) return early;
      // A later page may contain the same name again, but not the same id.
      await this.#directory.ensureLoaded(operation, () => wanted.isUnique && wanted.lookUp() !== undefined);
    }
    return wanted.lookUp();
  }

  #lookUp({ cameraId, remoteId }: EventIds): DeviceEntry | undefined {
    const { index } = this.#directory;
    if (cameraId !== undefined) return index.byId(cameraId);
    if (remoteId === undefined) return undefined;
    return this.#byRemoteId(remoteId) ?? index.byId(remoteId);
  }

  #lookUpName(name: string): DeviceEntry | undefined {
    const { index } = this.#directory;
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
    const { index } = this.#directory;
    return index.byRemoteId(remoteId) ?? (learned === undefined ? undefined : index.byId(learned));
  }

  async #findAgain(operation: Operation, wanted: Wanted): Promise<DeviceEntry> {
    await this.#directory.refreshOnMiss(operation, 'unknown');
    const found = wanted.lookUp() ?? (await wanted.search());
    if (found === undefined) throw wanted.notFound();
    return found;
  }

  /** Last resort for a remote id: requests the details of the cameras whose records show none. */
  async #searchDetails(operation: Operation, remoteId: string | undefined): Promise<DeviceEntry | undefined> {
    for (const entry of this.#directory.index.withoutRemoteId(MAX_DETAILS)) {
      const request = operation.hint((hint) => this.#remoteIds.inDetails(hint, entry), true);
      const inDetails = await undefinedOnServiceError(operation, request, FATAL_CODES);
      if (inDetails !== undefined && inDetails === remoteId) return entry;
    }
    return undefined;
  }

  async #askAgain(operation: Operation, entry: DeviceEntry, wanted: Wanted): Promise<DeviceEntry> {
    const request = operation.hint((hint) => this.#directory.askStatus(hint, entry));
    const own = await undefinedOnServiceError(operation, request);
    if (own !== undefined) return own;
    await this.#directory.refreshOnMiss(operation, 'unknown');
    const found = wanted.lookUp();
    if (found === undefined) throw wanted.notFound();
    return found;
  }
}

/** How a camera is searched. */
interface Wanted {
  /** The id that the camera may have in the list. */
  id: string | undefined;
  /** True if the first match is the right one: an id is unique, a name may not be. */
  isUnique: boolean;
  /** Searches the directory. */
  lookUp: () => DeviceEntry | undefined;
  /** Searches outside the directory, as the last resort. */
  search: () => Promise<DeviceEntry | undefined> | undefined;
  notFound: () => RvmError;
}

function named({ cameraId, remoteId }: EventIds): string {
  return cameraId === undefined ? `remote id ${quote(remoteId ?? '')}` : `id ${quote(cameraId)}`;
}

function notFound(name: string): RvmError {
  return new RvmError(
    'DEVICE_NOT_FOUND',
    `The service lists no camera with the ${name}, letter by letter; check whether the customer's site is accepted for this Central Station.`,
  );
}

function offline({ device }: DeviceEntry): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    `The camera ${quote(device.name || device.id)} is not online (status ${quote(device.status)}); try again when it is, or let get RTSP ask for its recorded video all the same.`,
  );
}
