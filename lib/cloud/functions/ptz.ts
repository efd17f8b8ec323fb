import { RvmError } from '../../error';
import type { JsonRecord } from '../../json/json';
import type { Answer } from '../http/answer';
import type { PtzAccepted, PtzCommand, PtzList, PtzTarget } from '../calls';
import { cameraBusy } from '../http/camera-errors';
import type { CameraFinder } from '../cameras/camera-finder';
import type { CameraLinks, Offer } from '../cameras/camera-links';
import type { DeviceEntry } from '../cameras/device-index';
import { DIALECT } from '../dialect';
import { InTurn } from './in-turn';
import type { Deed, Deeds } from './ptz-deeds';
import { findAnyLink } from '../http/links';
import type { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import { pagesFrom } from '../http/pages';
import {
  findTarget,
  homePreset,
  notOfferedBy,
  readTargets,
  type ListedTarget,
  type TargetList,
} from './ptz-targets';
import type { SessionKeeper } from '../session/session-keeper';
import { shown } from '../shown';
import { jsonBody, type RequestBody } from '../http/transport';

/** Where the lists of presets and tours, the home position, and what is done with a target are looked for. */
export interface PtzRelations {
  presets: readonly string[];
  tours: readonly string[];
  home: readonly string[];
  deeds: Deeds;
}

interface Link {
  relation: string;
  address: string;
  base: URL;
}

/** A call that carries a command out. */
interface Action {
  url: Offer['url'];
  relation: string;
  body?: RequestBody;
}

const { collection, ptz: FACTS } = DIALECT;
/** No camera has more tours; more are not stopped one by one. */
const MOST_STOPS = 50;

/** Presets, tours and the home position of the cameras. What each camera has is asked for anew: users change it. */
export class Ptz {
  readonly #session: SessionKeeper;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #origins: Origins;
  readonly #relations: PtzRelations;
  /** Commands to one camera go out in the order in which they came in, or it would end where nobody sent it. */
  readonly #inTurn = new InTurn();
  readonly #patienceMs: number;

  /** @param patienceMs a command whose turn has not come by then is not sent */
  constructor(
    session: SessionKeeper,
    finder: CameraFinder,
    links: CameraLinks,
    origins: Origins,
    wanted: PtzRelations,
    patienceMs: number,
  ) {
    this.#session = session;
    this.#finder = finder;
    this.#links = links;
    this.#origins = origins;
    this.#relations = wanted;
    this.#patienceMs = patienceMs;
  }

  /** @throws RvmError LINK_NOT_OFFERED for a fixed camera, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those of the session */
  async targets(operation: Operation, camera: string, list: PtzList): Promise<PtzTarget[]> {
    const entry = await this.#finder.chosen(operation, camera, 'try');
    return (await this.#list(operation, entry, list)).targets.map(({ target }) => target);
  }

  /**
   * Looks whether each preset could be gone to, and each tour started, as far as links tell: nothing is sent.
   * @returns how many the camera has; none for a fixed one
   * @throws RvmError LINK_NOT_OFFERED names one that could not, and what it does offer; UNTRUSTED_LINK, and as `targets`
   */
  async check(operation: Operation, camera: string): Promise<number> {
    const entry = await this.#finder.chosen(operation, camera, 'try');
    let count = 0;
    for (const [name, deed] of [
      ['presets', 'goto'],
      ['tours', 'start'],
    ] as const) {
      const list = await this.#list(operation, entry, name).catch((error: unknown) => {
        if (!isNotOffered(error)) throw error;
      });
      if (list === undefined) continue;
      for (const target of list.targets)
        await this.#action(this.#relations.deeds[deed], operation, entry, list, target);
      count += list.targets.length;
    }
    return count;
  }

  /**
   * Has a command carried out, at most once: the service accepts it, and whether the camera has moved it does not say.
   * @throws RvmError TARGET_NOT_FOUND, BAD_INPUT, CAMERA_BUSY, and as `targets`
   */
  async send(operation: Operation, camera: string, { action, target }: PtzCommand): Promise<PtzAccepted> {
    const entry = await this.#finder.chosen(operation, camera);
    const { id } = entry.device;
    const reached = await this.#inTurn.run(id, operation, this.#patienceMs, () => {
      switch (action) {
        case 'goto-preset':
          return this.#goToPreset(operation, entry, required(target, 'preset'));
        case 'goto-home':
          return this.#goHome(operation, entry);
        case 'start-tour':
          return this.#startTour(operation, entry, required(target, 'tour'));
        case 'stop-tour':
          return this.#stopTour(operation, entry, target === '' ? undefined : target);
        default:
          return action satisfies never;
      }
    });
    return { action, cameraId: id, target: reached?.target ?? null, accepted: true };
  }

  async #goToPreset(operation: Operation, entry: DeviceEntry, wanted: string): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'presets');
    return this.#do('goto', operation, entry, list, findTarget(list, wanted, entry.device));
  }

  async #goHome(operation: Operation, entry: DeviceEntry): Promise<ListedTarget | undefined> {
    try {
      await this.#links.call(
        operation,
        entry,
        (camera) => this.#links.ptzOffer(operation, camera, this.#relations.home),
        ({ url, relation }) => this.#post(operation, { url, relation }),
      );
      return undefined;
    } catch (error) {
      if (!isNotOffered(error)) throw error;
      return this.#goToHomePreset(operation, entry, error);
    }
  }

  /** Where no home position is on offer, a preset may be marked as such. */
  async #goToHomePreset(operation: Operation, entry: DeviceEntry, reason: RvmError): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'presets').catch((error: unknown) => {
      throw isNotOffered(error) ? reason : error;
    });
    const home = homePreset(list);
    if (home === undefined) throw reason;
    return this.#do('goto', operation, entry, list, home);
  }

  async #startTour(operation: Operation, entry: DeviceEntry, wanted: string): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'tours');
    return this.#do('start', operation, entry, list, findTarget(list, wanted, entry.device));
  }

  async #stopTour(
    operation: Operation,
    entry: DeviceEntry,
    wanted: string | undefined,
  ): Promise<ListedTarget | undefined> {
    const list = await this.#list(operation, entry, 'tours');
    if (wanted !== undefined) {
      return this.#do('stop', operation, entry, list, findTarget(list, wanted, entry.device));
    }
    const halt = linkOf(list.record, list.url, [FACTS.stopsAll]);
    if (halt === undefined) return this.#stopEach(operation, entry, list);
    await this.#post(operation, this.#resolved(halt));
    return undefined;
  }

  /** Which one runs nobody tells, and others may have started it: all of them, and those that do not run may refuse. */
  async #stopEach(operation: Operation, entry: DeviceEntry, list: TargetList): Promise<undefined> {
    if (list.targets.length === 0) {
      throw new RvmError(
        'TARGET_NOT_FOUND',
        `The camera ${shown(entry.device.name)} has no tour that could be stopped; get device lists the tours of a camera.`,
      );
    }
    const refusals: RvmError[] = [];
    for (const tour of list.targets.slice(0, MOST_STOPS)) {
      await this.#do('stop', operation, entry, list, tour).catch((error: unknown) => {
        if (!isRefusedStop(error)) throw error;
        refusals.push(error);
      });
    }
    const [first] = refusals;
    if (first !== undefined && refusals.length === Math.min(list.targets.length, MOST_STOPS)) throw first;
  }

  async #list(operation: Operation, entry: DeviceEntry, list: PtzList): Promise<TargetList> {
    const answer = await this.#links.call(
      operation,
      entry,
      (camera) => this.#links.ptzOffer(operation, camera, this.#relations[list]),
      ({ url, relation }) => this.#session.follow(operation, { method: 'GET', url, relation }),
    );
    const ask = (url: TrustedUrl): Promise<Answer> =>
      this.#session.follow(operation, { method: 'GET', url, relation: answer.relation });
    return readTargets(
      answer,
      pagesFrom(answer, collection[list], this.#origins, ask, collection.maxTargetPages),
    );
  }

  /** By the link on the target itself; else by one for all targets, on the list or wherever that may stand, with a body. */
  async #do(
    deed: keyof Deeds,
    operation: Operation,
    entry: DeviceEntry,
    list: TargetList,
    target: ListedTarget,
  ): Promise<ListedTarget> {
    await this.#post(
      operation,
      await this.#action(this.#relations.deeds[deed], operation, entry, list, target),
    );
    return target;
  }

  async #action(
    { to, onTarget, onList, onCamera, field }: Deed,
    operation: Operation,
    entry: DeviceEntry,
    list: TargetList,
    target: ListedTarget,
  ): Promise<Action> {
    const near = linkOf(target.record, target.url, onTarget);
    if (near !== undefined) return this.#resolved(near);
    const body = bodyFor(target, field);
    const ofList = linkOf(list.record, list.url, onList);
    if (ofList !== undefined) return this.#resolved(ofList, body);
    const { url, relation } = await this.#links
      .ptzOffer(operation, entry, onCamera)
      .catch((error: unknown) => {
        throw isNotOffered(error) ? notOfferedBy(to, target, list, onTarget) : error;
      });
    return actionAt(url, relation, body);
  }

  #resolved({ relation, address, base }: Link, body?: RequestBody): Action {
    return actionAt(this.#origins.resolve(address, base, relation), relation, body);
  }

  /** By POST; by PUT where the service says that it takes no POST, and so has not carried it out. */
  async #post(operation: Operation, action: Action, method: 'POST' | 'PUT' = 'POST'): Promise<Answer> {
    try {
      return await this.#session.follow(operation, { ...action, method });
    } catch (error) {
      if (!(error instanceof RvmError) || error.code !== 'HTTP_ERROR') throw error;
      const { status = 0 } = error.cause;
      if (status === 405 && method === 'POST') return this.#post(operation, action, 'PUT');
      throw DIALECT.error.busyStatuses.includes(status) ? cameraBusy(error.cause) : error;
    }
  }
}

function linkOf(record: JsonRecord, base: URL, wanted: readonly string[]): Link | undefined {
  const found = findAnyLink(record, wanted);
  return found && { ...found, base };
}

/** @param body left out where the action is for all targets, whichever that names */
function actionAt(url: TrustedUrl, relation: string, body: RequestBody | undefined): Action {
  return body === undefined || relation === FACTS.stopsAll ? { url, relation } : { url, relation, body };
}

function isNotOffered(error: unknown): error is RvmError {
  return error instanceof RvmError && error.code === 'LINK_NOT_OFFERED';
}

/** A tour that does not run may refuse to be stopped. */
function isRefusedStop(error: unknown): error is RvmError {
  return error instanceof RvmError && (error.code === 'HTTP_ERROR' || error.code === 'CAMERA_BUSY');
}

function bodyFor({ target: { id } }: ListedTarget, field: string): RequestBody {
  return jsonBody({ _type: FACTS.bodyType, value: id, [field]: id });
}

function required(target: string | undefined, what: 'preset' | 'tour'): string {
  if (target !== undefined && target !== '') return target;
  throw new RvmError('BAD_INPUT', `No ${what} is named: set the target of this node to its id or name.`);
}
