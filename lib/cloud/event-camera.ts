import { RvmError } from '../error';
import type { RvmEvent } from '../event';
import type { DataSources } from './data-sources';
import type { DeviceDirectory, DeviceEntry } from './device-directory';
import { remoteIdOf } from './device-record';
import { asText, firstField } from './json-field';
import type { Operation } from './operation';

/** The ids by which an event names its camera (specification, section 2, Payload). */
export interface EventIds {
  cameraId: string | undefined;
  remoteId: string | undefined;
}

/** Failures of a camera's own resource that fail no message: what it would tell is then simply not known. */
const NO_DETAILS: ReadonlySet<string> = new Set(['HTTP_ERROR', 'BAD_RESPONSE', 'PERMISSION_DENIED']);

/** At most so many cameras are asked for their details to find one by its remote id alone. */
const MAX_DETAILS = 500;

/** @throws RvmError EVENT_WITHOUT_CAMERA if the event has neither id */
export function idsOf(event: RvmEvent): EventIds {
  const cameraId = asText(firstField(event, ['cameraId']));
  const remoteId = asText(firstField(event, ['cameraRemoteId']));
  if (cameraId !== undefined || remoteId !== undefined) return { cameraId, remoteId };
  throw new RvmError(
    'EVENT_WITHOUT_CAMERA',
    'The event names no camera, so there is no video to ask for; route such events past this node.',
  );
}

/** Finds the camera of an event, and the remote id that the service wants for it. */
export class EventCamera {
  readonly #directory: DeviceDirectory;
  readonly #sources: DataSources;
  /** Remote ids learned from earlier events, by device id, and the way back. */
  readonly #learned = new Map<string, string>();
  readonly #learnedDevices = new Map<string, string>();

  constructor(directory: DeviceDirectory, sources: DataSources) {
    this.#directory = directory;
    this.#sources = sources;
  }

  /**
   * The camera of an event, online. One that the directory does not know, or knows as not usable, is asked for
   * once more before the message fails.
   * @throws RvmError DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of the session
   */
  async find(operation: Operation, ids: EventIds): Promise<DeviceEntry> {
    await this.#directory.ensureLoaded(operation);
    const known = this.#lookUp(ids);
    const entry = known ?? (await this.#findAgain(operation, ids));
    if (entry === undefined) throw notFound(ids);
    if (entry.device.online) return entry;
    const now = known === undefined ? entry : await this.#askAgain(operation, entry, ids);
    if (now.device.online) return now;
    throw offline(now);
  }

  /**
   * The camera id of the RTSP session request: the event's remote id; that of the device's record, of its data
   * sources or of its details; one learned from an earlier event; at last the device's own id.
   */
  async remoteId(
    operation: Operation,
    entry: DeviceEntry,
    ids: EventIds,
    inSources: string | undefined,
  ): Promise<string> {
    const near = ids.remoteId ?? remoteIdOf(entry.device) ?? inSources;
    if (near !== undefined) return near;
    const inDetails = await orNothing(this.#sources.remoteIdInDetails(operation, entry));
    return inDetails ?? this.#learned.get(entry.device.id) ?? entry.device.id;
  }

  /** Remembers what an event has shown; called once the service has accepted it. */
  learn(entry: DeviceEntry, remoteId: string | undefined): void {
    if (remoteId === undefined) return;
    this.#learned.set(entry.device.id, remoteId);
    this.#learnedDevices.set(remoteId, entry.device.id);
  }

  /** Keeps what was learned no larger than the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const [id, remoteId] of this.#learned) {
      if (present(id)) continue;
      this.#learned.delete(id);
      this.#learnedDevices.delete(remoteId);
    }
  }

  #lookUp({ cameraId, remoteId }: EventIds): DeviceEntry | undefined {
    if (cameraId !== undefined) return this.#directory.byId(cameraId);
    if (remoteId === undefined) return undefined;
    const learned = this.#learnedDevices.get(remoteId);
    return (
      this.#directory.byRemoteId(remoteId) ??
      (learned === undefined ? undefined : this.#directory.byId(learned)) ??
      this.#directory.byId(remoteId)
    );
  }

  async #findAgain(operation: Operation, ids: EventIds): Promise<DeviceEntry | undefined> {
    await this.#directory.refreshOnMiss(operation);
    const found = this.#lookUp(ids);
    if (found !== undefined || ids.cameraId !== undefined || ids.remoteId === undefined) return found;
    return this.#searchDetails(operation, ids.remoteId);
  }

  /** With only a remote id, and no record that shows one, the details of the cameras are the last resort. */
  async #searchDetails(operation: Operation, remoteId: string): Promise<DeviceEntry | undefined> {
    for (const entry of this.#directory.all().slice(0, MAX_DETAILS)) {
      const shown = await orNothing(this.#sources.remoteIdInDetails(operation, entry));
      if (shown === remoteId) return entry;
    }
    return undefined;
  }

  async #askAgain(operation: Operation, entry: DeviceEntry, ids: EventIds): Promise<DeviceEntry> {
    const own = await orNothing(this.#directory.askStatus(operation, entry));
    if (own !== undefined) return own;
    await this.#directory.refreshOnMiss(operation);
    const found = this.#lookUp(ids);
    if (found === undefined) throw notFound(ids);
    return found;
  }
}

/** What a camera's own resource tells, or undefined where it cannot be had. */
async function orNothing<T>(asked: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RvmError && NO_DETAILS.has(error.code)) return undefined;
    throw error;
  }
}

function notFound({ cameraId, remoteId }: EventIds): RvmError {
  const named = cameraId === undefined ? `remote id ${shown(remoteId)}` : `id ${shown(cameraId)}`;
  return new RvmError(
    'DEVICE_NOT_FOUND',
    `The service lists no camera with the ${named}; check whether the customer's site is accepted for this Central Station.`,
  );
}

function offline({ device }: DeviceEntry): RvmError {
  return new RvmError(
    'DEVICE_OFFLINE',
    `The camera ${shown(device.name || device.id)} is not online (status ${shown(device.status)}); try again when it is.`,
  );
}

/** Texts of the service in a message: one short line. */
function shown(text: string | undefined): string {
  return `"${(text ?? '').replace(/[\p{C}\s]+/gu, ' ').slice(0, 80)}"`;
}
