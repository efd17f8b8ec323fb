import { RvmError } from '../error';
import type { JsonRecord } from '../json-record';
import type { Answer } from './answer';
import type { PtzAccepted, PtzCommand, PtzList, PtzTarget } from './calls';
import { cameraBusy } from './camera-errors';
import type { CameraFinder } from './camera-finder';
import type { CameraLinks, Offer } from './camera-links';
import type { DeviceEntry } from './device-index';
import { DIALECT } from './dialect';
import { InTurn } from './in-turn';
import { findAnyLink } from './links';
import type { Operation } from './operation';
import type { Origins } from './origin';
import { findTarget, homePreset, readTargets, type ListedTarget, type TargetList } from './ptz-targets';
import type { SessionKeeper } from './session';
import { notOffered } from './system-resource';
import { jsonBody, type RequestBody } from './transport';

/** Where the lists of presets and tours, and the home position, are looked for. */
export interface PtzRelations {
  presets: readonly string[];
  tours: readonly string[];
  home: readonly string[];
}

/** A call that carries a command out. */
interface Action {
  url: Offer['url'];
  relation: string;
  body?: RequestBody;
}

const { relations, ptz: FACTS } = DIALECT;

/** Presets, tours and the home position of the cameras. What each camera has is asked for anew: users change it. */
export class Ptz {
  readonly #session: SessionKeeper;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #origins: Origins;
  readonly #relations: PtzRelations;
  /** Commands to one camera go out in the order in which they came in, or it would end where nobody sent it. */
  readonly #inTurn = new InTurn();
  /** The tour that was started last, by device id: a stop that names none means this one. */
  readonly #started = new Map<string, string>();

  constructor(
    session: SessionKeeper,
    finder: CameraFinder,
    links: CameraLinks,
    origins: Origins,
    wanted: PtzRelations,
  ) {
    this.#session = session;
    this.#finder = finder;
    this.#links = links;
    this.#origins = origins;
    this.#relations = wanted;
  }

  /** @throws RvmError LINK_NOT_OFFERED for a fixed camera, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of the session */
  async targets(operation: Operation, camera: string, list: PtzList): Promise<PtzTarget[]> {
    const entry = await this.#finder.chosen(operation, camera, 'try');
    return (await this.#list(operation, entry, list)).targets.map(({ target }) => target);
  }

  /**
   * Sends a command, once: the service accepts it, and whether the camera has moved it does not say.
   * @throws RvmError TARGET_NOT_FOUND, BAD_INPUT, CAMERA_BUSY, and as `targets`
   */
  async send(operation: Operation, camera: string, { action, target }: PtzCommand): Promise<PtzAccepted> {
    const entry = await this.#finder.chosen(operation, camera);
    const { id } = entry.device;
    const reached = await this.#inTurn.run(id, operation, () => {
      switch (action) {
        case 'goto-preset':
          return this.#goToPreset(operation, entry, required(target, 'preset'));
        case 'goto-home':
          return this.#goHome(operation, entry);
        case 'start-tour':
          return this.#startTour(operation, entry, required(target, 'tour'));
        case 'stop-tour':
          return this.#stopTour(operation, entry, target);
        default:
          return action satisfies never;
      }
    });
    return { action, cameraId: id, target: reached?.target ?? null, accepted: true };
  }

  /** Keeps what was started no larger than the directory. */
  forgetAllBut(present: (id: string) => boolean): void {
    for (const id of this.#started.keys()) if (!present(id)) this.#started.delete(id);
  }

  async #goToPreset(operation: Operation, entry: DeviceEntry, wanted: string): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'presets');
    return this.#goTo(operation, list, findTarget(list, wanted));
  }

  async #goTo(operation: Operation, list: TargetList, preset: ListedTarget): Promise<ListedTarget> {
    const own = this.#link(list, preset.record, relations.gotoPreset);
    const ofList = this.#link(list, list.record, relations.gotoPresetOfList);
    const body = bodyFor(preset, FACTS.presetId);
    await this.#command(operation, own ?? (ofList && { ...ofList, body }), relations.gotoPreset);
    return preset;
  }

  async #goHome(operation: Operation, entry: DeviceEntry): Promise<ListedTarget | undefined> {
    try {
      await this.#links.call(
        operation,
        entry,
        (camera) => this.#links.ptzOffer(operation, camera, this.#relations.home),
        (offer) => this.#post(operation, offer),
      );
      return undefined;
    } catch (error) {
      if (!(error instanceof RvmError) || error.code !== 'LINK_NOT_OFFERED') throw error;
      return this.#goToHomePreset(operation, entry, error);
    }
  }

  /** Where no home position is on offer, a preset may be marked as such. */
  async #goToHomePreset(operation: Operation, entry: DeviceEntry, reason: RvmError): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'presets').catch(() => undefined);
    const home = list && homePreset(list);
    if (list === undefined || home === undefined) throw reason;
    return this.#goTo(operation, list, home);
  }

  async #startTour(operation: Operation, entry: DeviceEntry, wanted: string): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'tours');
    const tour = findTarget(list, wanted);
    const own = this.#link(list, tour.record, relations.startTour);
    const ofList = this.#link(list, list.record, relations.startTourOfList);
    const body = bodyFor(tour, FACTS.tourId);
    await this.#command(operation, own ?? (ofList && { ...ofList, body }), relations.startTour);
    this.#started.set(entry.device.id, String(tour.target.id));
    return tour;
  }

  /** Without a tour the one that runs is meant: by a link for all, else the one started last, else whichever it is. */
  async #stopTour(
    operation: Operation,
    entry: DeviceEntry,
    wanted: string | undefined,
  ): Promise<ListedTarget | undefined> {
    const list = await this.#list(operation, entry, 'tours');
    const ofList = this.#link(list, list.record, relations.stopTourOfList);
    if (wanted !== undefined) {
      const tour = findTarget(list, wanted);
      const own = this.#link(list, tour.record, relations.stopTour);
      const body = bodyFor(tour, FACTS.tourId);
      await this.#command(operation, own ?? (ofList && { ...ofList, body }), relations.stopTour);
      return tour;
    }
    if (ofList !== undefined) {
      await this.#command(operation, ofList, relations.stopTour);
      return undefined;
    }
    return this.#stopRunning(operation, entry, list);
  }

  async #stopRunning(
    operation: Operation,
    entry: DeviceEntry,
    list: TargetList,
  ): Promise<ListedTarget | undefined> {
    const started = this.#started.get(entry.device.id);
    const last = list.targets.find(({ target }) => String(target.id) === started);
    const stoppable = (last === undefined ? list.targets : [last]).map((tour) => ({
      tour,
      action: this.#link(list, tour.record, relations.stopTour),
    }));
    if (stoppable.length === 0)
      throw new RvmError('TARGET_NOT_FOUND', 'The camera has no tour to be stopped.');
    for (const { action } of stoppable) await this.#command(operation, action, relations.stopTour);
    return last;
  }

  async #list(operation: Operation, entry: DeviceEntry, list: PtzList): Promise<TargetList> {
    const answer = await this.#links.call(
      operation,
      entry,
      (camera) => this.#links.ptzOffer(operation, camera, this.#relations[list]),
      ({ url, relation }) => this.#session.follow(operation, { method: 'GET', url, relation }),
    );
    return readTargets(answer, DIALECT.collection[list]);
  }

  #link(list: TargetList, record: JsonRecord, wanted: readonly string[]): Action | undefined {
    const found = findAnyLink(record, wanted);
    if (found === undefined) return undefined;
    const { relation, address } = found;
    return { relation, url: this.#origins.resolve(address, list.url, relation) };
  }

  async #command(
    operation: Operation,
    action: Action | undefined,
    wanted: readonly [string, ...string[]],
  ): Promise<void> {
    await this.#post(operation, action ?? notOffered(wanted[0], 'The camera'));
  }

  /** By POST; by PUT where the service says that it takes no POST, and so has not carried it out. */
  async #post(operation: Operation, { url, relation, body }: Action): Promise<Answer> {
    const wanted = { url, relation, ...(body === undefined ? {} : { body }) };
    try {
      return await this.#session.follow(operation, { ...wanted, method: 'POST' });
    } catch (error) {
      if (!(error instanceof RvmError) || error.code !== 'HTTP_ERROR') throw error;
      if (error.cause.status === 405) return this.#session.follow(operation, { ...wanted, method: 'PUT' });
      throw DIALECT.error.busyStatuses.includes(error.cause.status ?? 0) ? cameraBusy(error.cause) : error;
    }
  }
}

function bodyFor({ target: { id } }: ListedTarget, field: string): RequestBody {
  return jsonBody({ _type: FACTS.bodyType, value: id, [field]: id });
}

function required(target: string | undefined, what: 'preset' | 'tour'): string {
  if (target !== undefined && target !== '') return target;
  throw new RvmError('BAD_INPUT', `No ${what} is named: set the target of this node to its id or name.`);
}
