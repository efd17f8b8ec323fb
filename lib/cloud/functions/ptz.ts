import { Semaphore } from '../../concurrency/semaphore';
import { RvmError } from '../../error';
import type { JsonRecord } from '../../json/json';
import type { PtzAccepted, PtzCommand, PtzList, PtzTarget } from '../calls';
import type { CameraResolver, Offer } from '../cameras/camera-resolver';
import type { DeviceEntry } from '../cameras/device-directory';
import { DIALECT } from '../dialect';
import { type Answer, cameraBusy, firstField, firstText } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import {
  type FetchedPage,
  findAnyLink,
  isSameRelation,
  jsonBody,
  pagesFrom,
  wrappedLinks,
} from '../http/records';
import type { RequestBody } from '../http/transport';
import type { Operation } from '../operation';
import { quote, quoteBare } from '../secret-mask';
import type { StationSession } from '../session/session';
import { notOffered } from '../session/system';

/** Relations of the lists of presets and tours, of the home position, and of the commands to a target. */
interface PtzRelations {
  presets: readonly string[];
  tours: readonly string[];
  home: readonly string[];
  commands: PtzCommandLinks;
}

interface Link {
  relation: string;
  address: string;
  base: URL;
}

/** The request that carries a command out. */
interface Action {
  url: Offer['url'];
  relation: string;
  body?: RequestBody;
}

const { collection, relations, ptz: FACTS } = DIALECT;
/** No camera has more tours; further ones are not stopped. */
const MOST_STOPS = 50;

/** Presets, tours and home positions of the cameras. They are requested each time, because users change them. */
export class PtzClient {
  /** Commands to one camera are sent in the order of the calls, or the camera would end at the wrong position. */
  readonly #turns = new Map<string, Semaphore>();

  /** @param queueTimeoutMs milliseconds; a command that waits longer for earlier ones is not sent */
  constructor(
    private readonly session: StationSession,
    private readonly cameras: CameraResolver,
    private readonly origins: Origins,
    private readonly relations: PtzRelations,
    private readonly queueTimeoutMs: number,
  ) {}

  /** As `StationClient.ptzTargets`. */
  async targets(operation: Operation, camera: string, list: PtzList): Promise<PtzTarget[]> {
    const entry = await this.cameras.chosen(operation, camera, 'try');
    return (await this.#list(operation, entry, list)).targets.map(({ target }) => target);
  }

  /** As `StationClient.checkPtz`: 0 for a fixed camera; sends no command. */
  async check(operation: Operation, camera: string): Promise<number> {
    const entry = await this.cameras.chosen(operation, camera, 'try');
    let count = 0;
    for (const [name, command] of [
      ['presets', 'goto'],
      ['tours', 'start'],
    ] as const) {
      const list = await this.#list(operation, entry, name).catch((error: unknown) => {
        if (!isNotOffered(error)) throw error;
      });
      if (list === undefined) continue;
      for (const target of list.targets)
        await this.#action(this.relations.commands[command], operation, entry, list, target);
      count += list.targets.length;
    }
    return count;
  }

  /** As `StationClient.ptz`. The service says that it has accepted the command, not whether the camera has moved. */
  async send(operation: Operation, camera: string, { action, target }: PtzCommand): Promise<PtzAccepted> {
    const entry = await this.cameras.chosen(operation, camera);
    const { id } = entry.device;
    const reached = await this.#inTurn(id, operation, () => {
      switch (action) {
        case 'goto-preset':
          return this.#toTarget('goto', operation, entry, 'presets', required(target, 'preset'));
        case 'goto-home':
          return this.#goHome(operation, entry);
        case 'start-tour':
          return this.#toTarget('start', operation, entry, 'tours', required(target, 'tour'));
        case 'stop-tour':
          return target === undefined || target === ''
            ? this.#stopTours(operation, entry)
            : this.#toTarget('stop', operation, entry, 'tours', target);
        default:
          return action satisfies never;
      }
    });
    return { action, cameraId: id, target: reached?.target ?? null, accepted: true };
  }

  /**
   * Does work after all earlier work on this camera has ended, successfully or not.
   * @throws RvmError TIMEOUT, CANCELLED if the caller gives up while the work waits
   */
  async #inTurn<T>(id: string, operation: Operation, work: () => Promise<T>): Promise<T> {
    const requestedAt = performance.now();
    const turn = this.#turns.get(id) ?? new Semaphore(1);
    this.#turns.set(id, turn);
    const leave = await operation.takeTurn(turn);
    try {
      // Work that has waited longer is not done, because it would come too late.
      if (performance.now() - requestedAt > this.queueTimeoutMs) {
        throw new RvmError(
          'TIMEOUT',
          'Earlier commands to this camera took so long that this one was not sent; send it again if it is still wanted.',
        );
      }
      return await work();
    } finally {
      if (turn.waiting === 0) this.#turns.delete(id);
      leave();
    }
  }

  async #toTarget(
    command: keyof PtzCommandLinks,
    operation: Operation,
    entry: DeviceEntry,
    listed: PtzList,
    wanted: string,
  ): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, listed);
    return this.#do(command, operation, entry, list, findTarget(list, wanted, entry.device));
  }

  async #goHome(operation: Operation, entry: DeviceEntry): Promise<ListedTarget | undefined> {
    try {
      const post = ({ url, relation }: Offer) => this.#post(operation, { url, relation });
      await this.cameras.withLink(operation, entry, this.relations.home, post, true);
      return undefined;
    } catch (error) {
      if (!isNotOffered(error)) throw error;
      return this.#goToHomePreset(operation, entry, error);
    }
  }

  /** If no home position is offered, a preset may be marked as such. */
  async #goToHomePreset(operation: Operation, entry: DeviceEntry, reason: RvmError): Promise<ListedTarget> {
    const list = await this.#list(operation, entry, 'presets').catch((error: unknown) => {
      throw isNotOffered(error) ? reason : error;
    });
    const home = homePreset(list);
    if (home === undefined) throw reason;
    return this.#do('goto', operation, entry, list, home);
  }

  async #stopTours(operation: Operation, entry: DeviceEntry): Promise<undefined> {
    const list = await this.#list(operation, entry, 'tours');
    const halt = linkOf(list.record, list.url, [FACTS.stopsAll]);
    if (halt === undefined) return this.#stopEach(operation, entry, list);
    await this.#post(operation, this.#resolved(halt));
    return undefined;
  }

  /**
   * The service does not say which tour runs, and another user may have started it: all are stopped, and those that do not run
   * may refuse.
   */
  async #stopEach(operation: Operation, entry: DeviceEntry, list: TargetList): Promise<undefined> {
    if (list.targets.length === 0) {
      throw new RvmError(
        'TARGET_NOT_FOUND',
        `The camera ${quote(entry.device.name)} has no tour that could be stopped; get device lists the tours of a camera.`,
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
    const get = (url: TrustedUrl, relation: string): Promise<Answer> =>
      this.session.follow(operation, { method: 'GET', url, relation });
    const first = ({ url, relation }: Offer) => get(url, relation);
    const answer = await this.cameras.withLink(operation, entry, this.relations[list], first, true);
    const ask = (url: TrustedUrl) => get(url, answer.relation);
    return readTargets(
      answer,
      pagesFrom(answer, collection[list], this.origins, ask, collection.maxTargetPages),
    );
  }

  /** Uses the link on the target itself; else one for all targets, on the list or the camera, with a body. */
  async #do(
    command: keyof PtzCommandLinks,
    operation: Operation,
    entry: DeviceEntry,
    list: TargetList,
    target: ListedTarget,
  ): Promise<ListedTarget> {
    await this.#post(
      operation,
      await this.#action(this.relations.commands[command], operation, entry, list, target),
    );
    return target;
  }

  async #action(
    { to, onTarget, onList, onCamera, field }: PtzCommandLink,
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
    const { url, relation } = await this.cameras
      .offer(operation, entry, onCamera, true)
      .catch((error: unknown) => {
        throw isNotOffered(error) ? notOfferedBy(to, target, list, onTarget) : error;
      });
    return actionAt(url, relation, body);
  }

  #resolved({ relation, address, base }: Link, body?: RequestBody): Action {
    return actionAt(this.origins.resolve(address, base, relation), relation, body);
  }

  /** By POST; by PUT after a 405, which says that the POST was not carried out. */
  async #post(operation: Operation, action: Action, method: 'POST' | 'PUT' = 'POST'): Promise<Answer> {
    try {
      return await this.session.follow(operation, { ...action, method });
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

/** @param body omitted if the action applies to all targets */
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

/** The relations that the user sets for commands to a preset or tour; empty for none. */
export interface PtzCommandNames {
  gotoPreset: string;
  startTour: string;
  stopTour: string;
}

/** Relations of one PTZ command, by the resources they may be on, in the order of the search. */
interface PtzCommandLink {
  /** What the command applies to. */
  readonly to: 'preset' | 'tour';
  /** On the target itself. */
  readonly onTarget: readonly string[];
  /** On the list, for all its targets: the body names the target. */
  readonly onList: readonly string[];
  /** The same on the resources that may link the list. */
  readonly onCamera: readonly string[];
  /** Field of such a body that names the target. */
  readonly field: string;
}

type PtzCommandLinks = Readonly<Record<'goto' | 'start' | 'stop', PtzCommandLink>>;

/** Relations set by the user come first, then the likely ones. */
export function linksByCommand({ gotoPreset, startTour, stopTour }: PtzCommandNames): PtzCommandLinks {
  return {
    goto: command('preset', gotoPreset, relations.gotoPreset, relations.gotoAnyPreset),
    start: command('tour', startTour, relations.startTour, relations.startAnyTour),
    stop: command('tour', stopTour, relations.stopTour, relations.stopAnyTour),
  };
}

function command(
  to: PtzCommandLink['to'],
  named: string,
  own: readonly string[],
  forAll: readonly string[],
): PtzCommandLink {
  const relation = named.trim();
  const first = relation === '' ? [] : [relation];
  // The list and the camera have `rel/self` too, and a command to that would mean something else.
  const onCamera = isSameRelation(relation, relations.itself) ? forAll : [...first, ...forAll];
  const field = to === 'preset' ? FACTS.presetId : FACTS.tourId;
  return { to, onTarget: [...first, ...own], onList: [...onCamera, ...own], onCamera, field };
}

/** A preset or tour of a list, with its record, which may have links of its own. */
interface ListedTarget {
  readonly target: PtzTarget;
  readonly record: JsonRecord;
  /** Base address of these links. */
  readonly url: URL;
}

/** The presets or tours of a camera, as served. */
interface TargetList {
  readonly targets: readonly ListedTarget[];
  /** The links of the list itself, which may apply to all targets. */
  readonly record: JsonRecord;
  readonly url: URL;
}

/** @param answer the first page; its links are those of the list */
async function readTargets(answer: Answer, pages: AsyncIterable<FetchedPage>): Promise<TargetList> {
  const targets: ListedTarget[] = [];
  for await (const { records, url } of pages) {
    for (const record of records) {
      const target = targetOf(record);
      if (target !== undefined) targets.push({ target, record, url });
    }
  }
  const record = wrappedLinks(answer.empty ? {} : answer.json());
  return { targets, record, url: answer.url };
}

/**
 * The target that a user names: by its id, compared as text, else by its exact name.
 * @param camera for the error text
 * @throws RvmError TARGET_NOT_FOUND, BAD_INPUT if several targets have that name
 */
function findTarget({ targets }: TargetList, wanted: string, camera: { name: string }): ListedTarget {
  const byId = targets.find(({ target }) => String(target.id) === wanted);
  if (byId !== undefined) return byId;
  const [only, ...others] = targets.filter(({ target }) => target.name === wanted);
  if (others.length > 0) {
    throw new RvmError(
      'BAD_INPUT',
      `${others.length + 1} targets have the name ${quote(wanted)}: name one by its id.`,
    );
  }
  if (only !== undefined) return only;
  throw new RvmError(
    'TARGET_NOT_FOUND',
    `The camera ${quote(camera.name)} has no ${quote(wanted)}, letter by letter; it has ${listed(targets)}.`,
  );
}

/** The preset that is marked as the home position. */
function homePreset({ targets }: TargetList): ListedTarget | undefined {
  return targets.find(({ record }) => FACTS.home.some((name) => firstField(record, [name]) === true));
}

/**
 * The error for a target that lacks the relation. It names what the target offers, because the user can set a relation in the
 * cloud; for a target without any links, what its list offers.
 * @param wanted the relations that were searched, the likeliest first
 */
function notOfferedBy(
  what: 'preset' | 'tour',
  { target: { id, name }, record }: ListedTarget,
  list: TargetList,
  [relation = '']: readonly string[],
): RvmError {
  const hasLinks = Object.keys(wrappedLinks(record)._links).length > 0;
  return notOffered(
    relation,
    `The ${what} ${quote(name === '' ? `${id}` : name)}`,
    hasLinks ? record : list.record,
  );
}

function targetOf(record: JsonRecord): PtzTarget | undefined {
  const name = firstText(record, FACTS.name) ?? '';
  for (const field of FACTS.id) {
    const id = firstField(record, [field]);
    if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return { id, name };
  }
  // A target without an id is identified by its name.
  return name === '' ? undefined : { id: name, name };
}

/** The first few names, so that a typing error is visible. */
function listed(targets: readonly ListedTarget[]): string {
  if (targets.length === 0) return 'none';
  const named = targets
    .slice(0, 5)
    .map(({ target: { id, name } }) => (name === '' || name === id ? `${id}` : `${id} (${name})`));
  const more = targets.length > named.length ? ', …' : '';
  return quoteBare(named.join(', ') + more, 200);
}
