import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { forEachTimeSliced } from '../../concurrency/iteration';
import type { Device } from '../../device';
import { toError } from '../../error';
import { JsonFile } from '../../files';
import { isRecord } from '../../json/json';
import { guidForm } from '../../text';
import { DIALECT } from '../dialect';
import type { Origins, TrustedUrl } from '../http/origins';
import { readPage } from '../http/records';
import { undefinedOnServiceError } from '../http/retry-policy';
import { type Operation, SingleFlight } from '../operation';
import { redact } from '../secret-mask';
import type { StationSession } from '../session/session';
import { type DeviceDirectory, type DeviceEntry, type DeviceIndex, toDevice } from './device-directory';

/** Maximum number of cached cameras; the one whose video was opened longest ago is dropped. */
const MAX_LEARNED = 5_000;
/** Milliseconds from a new entry to the write: what was learned must outlive a crash, but alarms come in bursts. */
const WRITE_AFTER_MS = 500;
/** Milliseconds between two clean-ups of the folder: one day. */
const TEND_AGAIN_MS = 24 * 3600_000;
/** Milliseconds: files that no run has touched for so long belong to a deleted cloud or Agent User. */
const LONGEST_UNUSED_MS = 30 * 24 * 3600_000;
const OURS = /^[0-9a-f]{32}\.cameras(?:\.new)?$/;

/** The service and the Agent User that the cached cameras belong to. */
interface HintOwner {
  /** The address of the System resource. */
  readonly system: URL;
  readonly username: string;
  /** Texts that must not be written to disk. */
  readonly secrets: readonly string[];
}

/** Where the cache is stored between two runs. */
export interface HintOptions {
  /** Created when there is something to store; must contain nothing else. */
  readonly folder: string;
  /** Called once, when the cache cannot be stored; the client works without it. */
  readonly onFault: (error: Error) => void;
}

/** Where the video of a camera was opened. */
interface OpenedAt {
  readonly relation: string;
  readonly url: URL;
}

/** A cached camera: the device fields that a message contains, and where it and its video were found. */
interface LearnedCamera {
  readonly device: Pick<Device, 'id' | 'name' | 'status'>;
  /** The id by which the site knows the camera, from an event. */
  readonly remoteId?: string | undefined;
  /** The page of the device list; undefined if its address may hold more than the number of a page. */
  readonly page?: string | undefined;
  /** Where sessions are opened; undefined if the address could become that of another camera. */
  readonly link?: { readonly relation: string; readonly address: string } | undefined;
}

interface CachedCamera {
  readonly camera: LearnedCamera;
  /** The addresses that were checked for it: each is checked once. */
  readonly checked: string;
}

/**
 * Persistent cache that one run writes for the next, of the cameras that had video: on which page of the device list each is,
 * and how its video was opened. No entry is trusted: each is confirmed by the service, or harmless if wrong.
 */
export class CameraHints {
  readonly #owner: HintOwner;
  readonly #options: HintOptions | undefined;
  readonly #file: JsonFile | undefined;
  /** In order of use, the most recent last. */
  #learned = new Map<string, CachedCamera>();
  #reading: Promise<void> | undefined;
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #tendedAt = -Infinity;
  #isFaulty = false;

  /** @param options undefined: nothing is stored or read */
  constructor(owner: HintOwner, options: HintOptions | undefined) {
    this.#owner = owner;
    this.#options = options;
    if (options === undefined) return;
    // A digest, so that the name reveals neither Agent User nor cloud.
    const key = JSON.stringify([owner.system.href, owner.username]);
    const name = createHash('sha256').update(key).digest('hex').slice(0, 32);
    this.#file = new JsonFile(path.join(options.folder, `${name}.cameras`), name);
  }

  /** The cached entry of a camera, by the camera's id in the list. */
  async learned(id: string): Promise<LearnedCamera | undefined> {
    await this.#read();
    return this.#learned.get(id)?.camera;
  }

  /**
   * Caches how the video of a camera was opened; called once the service has granted the session.
   * @param page where the list of devices has the camera; undefined if that is known from the last run alone
   * @param opened where the session was opened; undefined if the link must not be used again
   */
  learn({ device, remoteId }: LearnedCamera, page: URL | undefined, opened: OpenedAt | undefined): void {
    if (this.#file === undefined) return;
    const { id } = device;
    const before = this.#learned.get(id);
    const known = remoteId ?? before?.camera.remoteId;
    const checked = `${opened?.url.href ?? ''} ${page?.href ?? ''}`;
    if (before?.checked === checked && isSame(before.camera, device, known)) {
      this.#putLast(id, before);
      return;
    }
    if (known !== undefined) this.#takeFromOthers(id, known);
    this.#learned.delete(id);
    const camera = {
      device,
      remoteId: known,
      page: page === undefined ? before?.camera.page : this.#keptPage(page),
      link: opened && this.#keptLink(id, known, opened),
    };
    const text = JSON.stringify(camera);
    if (!isShort(camera) || !this.#isClean(text)) return;
    this.#putLast(id, { camera, checked });
    const [oldest] = this.#learned.keys();
    if (this.#learned.size > MAX_LEARNED && oldest !== undefined) this.#learned.delete(oldest);
    if (text !== JSON.stringify(before?.camera)) this.#writeLater();
  }

  /** Drops the link of a camera, because it no longer works. */
  forgetLink(id: string): void {
    const known = this.#learned.get(id);
    if (known !== undefined) this.#change(id, { ...known.camera, link: undefined });
  }

  /** Takes over the list of this run: cameras that are gone are dropped, and others may be on another page now. */
  listed(index: DeviceIndex): void {
    if (this.#file === undefined) return;
    this.#inTurn(async () => {
      await this.#read();
      const pages = new Map<string, string | undefined>();
      await forEachTimeSliced([...this.#learned.keys()], (id) => {
        const url = index.byId(id)?.url;
        const camera = this.#learned.get(id)?.camera;
        if (url === undefined) this.#drop(id);
        if (url === undefined || camera === undefined) return;
        if (!pages.has(url.href)) pages.set(url.href, this.#keptPage(url));
        const page = pages.get(url.href);
        if (page !== camera.page) this.#change(id, { ...camera, page });
      });
      await this.#tend();
    });
  }

  /** Writes pending changes. */
  async close(): Promise<void> {
    await this.#working;
    if (this.#timer !== undefined) this.#write();
    await this.#working;
  }

  /** The link, unless its address could become that of another camera. */
  #keptLink(id: string, remoteId: string | undefined, { relation, url }: OpenedAt): LearnedCamera['link'] {
    const ids = remoteId === undefined ? [id] : [id, remoteId];
    return identifiesCamera(url, ids, this.#owner.system) ? { relation, address: url.href } : undefined;
  }

  #keptPage(url: URL): string | undefined {
    return isPlain(url, this.#owner.system) && this.#isClean(url.href) ? url.href : undefined;
  }

  /** A remote id belongs to one camera: other entries with it are dropped. */
  #takeFromOthers(id: string, remoteId: string): void {
    for (const [other, { camera }] of this.#learned) {
      if (other !== id && camera.remoteId === remoteId) this.#learned.delete(other);
    }
  }

  #putLast(id: string, cached: CachedCamera): void {
    this.#learned.delete(id);
    this.#learned.set(id, cached);
  }

  /** The next alarm of the camera has its addresses checked again. */
  #change(id: string, camera: LearnedCamera): void {
    this.#learned.set(id, { camera, checked: '' });
    this.#writeLater();
  }

  #drop(id: string): void {
    this.#learned.delete(id);
    this.#writeLater();
  }

  #isClean(text: string): boolean {
    return redact(text, this.#owner.secrets, Infinity) === text;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readFile();
    return this.#reading;
  }

  async #readFile(): Promise<void> {
    const stored = camerasIn((await this.#file?.read()) ?? '');
    const ofThisRun = this.#learned;
    this.#learned = new Map(stored.map((camera) => [camera.device.id, { camera, checked: '' }]));
    // Entries of this run replace those of the file.
    for (const [id, { camera, checked }] of ofThisRun) {
      const remoteId = camera.remoteId ?? this.#learned.get(id)?.camera.remoteId;
      if (remoteId !== undefined) this.#takeFromOthers(id, remoteId);
      this.#putLast(id, { camera: { ...camera, remoteId }, checked });
    }
  }

  #writeLater(): void {
    if (this.#file === undefined) return;
    this.#timer ??= setTimeout(() => this.#write(), WRITE_AFTER_MS).unref();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#inTurn(async () => {
      await this.#read();
      const lines: string[] = [];
      await forEachTimeSliced([...this.#learned.values()], ({ camera }) =>
        lines.push(JSON.stringify(camera)),
      );
      await this.#file?.write(`[${lines.join(',\n')}]`);
    });
  }

  /** Once a day: marks the file as used, and removes those from the folder that no run has used for 30 days. */
  async #tend(): Promise<void> {
    if (this.#options === undefined || performance.now() - this.#tendedAt < TEND_AGAIN_MS) return;
    this.#tendedAt = performance.now();
    await this.#file?.touch();
    const names = await fs.readdir(this.#options.folder).catch(() => []);
    const before = Date.now() - LONGEST_UNUSED_MS;
    for (const name of names.filter((candidate) => OURS.test(candidate))) {
      const file = path.join(this.#options.folder, name);
      const { mtimeMs } = await fs.stat(file).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < before) await fs.rm(file, { force: true }).catch(() => undefined);
    }
  }

  /** Runs tasks one after the other. Only the first failure is reported: the cache is optional. */
  #inTurn(work: () => Promise<void>): void {
    this.#working = this.#working.then(work).catch((error: unknown) => {
      if (!this.#isFaulty) this.#options?.onFault(toError(error));
      this.#isFaulty = true;
    });
  }
}

function isSame(
  known: LearnedCamera,
  { name, status }: LearnedCamera['device'],
  remoteId: string | undefined,
): boolean {
  const { device } = known;
  return device.name === name && device.status === status && known.remoteId === remoteId;
}

/** Characters of one text; a camera with a longer one is not cached. */
const MAX_TEXT = 1024;

function isShort({ device, remoteId = '', page = '', link }: LearnedCamera): boolean {
  const texts = [device.id, device.name, device.status, remoteId, page, link?.address, link?.relation];
  return texts.every((text = '') => text.length <= MAX_TEXT);
}

/** The cameras of a file; what is no camera is skipped. */
function camerasIn(text: string): LearnedCamera[] {
  const values: unknown = text === '' ? [] : JSON.parse(text);
  return Array.isArray(values) ? values.flatMap((value) => cameraIn(value) ?? []) : [];
}

function cameraIn(value: unknown): LearnedCamera | undefined {
  if (!isRecord(value) || !isRecord(value['device'])) return undefined;
  const { id, name, status } = value['device'];
  if (!isText(id) || !isText(name) || !isText(status)) return undefined;
  const { remoteId, page, link } = value;
  const { relation, address } = isRecord(link) ? link : {};
  return {
    device: { id, name, status },
    remoteId: isText(remoteId) ? remoteId : undefined,
    page: isText(page) ? page : undefined,
    link: isText(relation) && isText(address) ? { relation, address } : undefined,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Query of a page: numbers and short words. A longer value could be a session or a token. */
const PLAIN_VALUE = /^(?:\d{1,12}|[A-Za-z_-]{0,12})$/;
const PLAIN_NAME = /^[\w$.[\]-]{1,24}$/;

/**
 * Whether the address of a page can hold no secret of the service.
 * @param system its path comes from the user's own settings
 */
function isPlain({ pathname, searchParams }: URL, system: URL): boolean {
  const fixed = wordsOf(system.pathname) ?? [];
  return (
    wordsOf(pathname)?.every((word) => isPlainStep(word) || fixed.includes(word)) === true &&
    [...searchParams].every(([name, value]) => PLAIN_NAME.test(name) && PLAIN_VALUE.test(value))
  );
}

/** Words of a path that name a function or a collection, but no single camera. */
const COMMON: ReadonlySet<string> = new Set([
  'api',
  'camera',
  'cameras',
  'device',
  'devices',
  'live',
  'media',
  'open',
  'play',
  'playback',
  'recorded',
  'relay',
  'rest',
  'rtsp',
  'rtsp-session',
  'rtsp-sessions',
  'rtsp_session',
  'rtsp_sessions',
  'session',
  'sessions',
  'stream',
  'streams',
  'video',
  'videos',
]);
const VERSION = /^v\d+(?:\.\d+)?$/;
/** A longer step could be a session or a token, unless it is a word or an id. */
const PLAIN_STEP = /^(?:[\w-]{1,12}|[A-Za-z_-]{1,24}|v\d+\.\d+)$/;
/** Such a short number may be an index in a list, which is another camera's once a camera is removed. */
const MAY_BE_A_PLACE = /^\d{0,7}$/;

/**
 * Whether an address can never become that of another camera: it contains an id of this camera, or no word that names any
 * camera, so that only the request body does. A name is no id, and a number may be an index in a list.
 * @param ids of the camera, as the service and its site know it
 * @param system address of the System resource, from the user's settings: its path names no camera
 */
export function identifiesCamera(address: URL, ids: readonly string[], system: URL): boolean {
  const words = wordsOf(address.pathname);
  const asked = [...address.searchParams.values()];
  if (words === undefined || !asked.every((value) => isOneOf(value, ids))) return false;
  const fixed = wordsOf(system.pathname) ?? [];
  if (!words.every((word) => isPlainStep(word) || isOneOf(word, ids) || fixed.includes(word))) return false;
  if ([...words, ...asked].some((word) => isOneOf(word, ids))) return true;
  return words.every((word) => fixed.includes(word) || COMMON.has(word.toLowerCase()) || VERSION.test(word));
}

function isPlainStep(word: string): boolean {
  return PLAIN_STEP.test(word) || guidForm(word) !== undefined;
}

/** The steps of a path; undefined for a path with parameters (`;`), which may contain a session. */
function wordsOf(path: string): string[] | undefined {
  if (path.includes(';')) return undefined;
  try {
    return path
      .split('/')
      .filter((step) => step !== '')
      .map((step) => decodeURIComponent(step));
  } catch {
    return undefined;
  }
}

function isOneOf(word: string, ids: readonly string[]): boolean {
  return ids.some((id) => !MAY_BE_A_PLACE.test(id) && (word === id || isSameGuid(word, id)));
}

function isSameGuid(one: string, other: string): boolean {
  const form = guidForm(one);
  return form !== undefined && form === guidForm(other);
}

/** How the video of a camera was opened in the last run. */
interface VideoHint {
  readonly entry: DeviceEntry;
  readonly url: TrustedUrl;
  readonly relation: string;
}

/** The cache of the last run, used until the device list is there: that list may take minutes. */
export class LastRun {
  readonly #asking = new SingleFlight<readonly DeviceEntry[]>();

  constructor(
    private readonly hints: CameraHints,
    private readonly session: StationSession,
    private readonly directory: DeviceDirectory,
    private readonly origins: Origins,
  ) {}

  /**
   * Where the video of an event's camera was opened, after login if necessary. Only for an event with both ids: the camera id
   * selects the entry, and the remote id in the request body tells the service which camera is meant.
   */
  async video(
    operation: Operation,
    { cameraId, remoteId }: { cameraId: string | undefined; remoteId: string | undefined },
  ): Promise<VideoHint | undefined> {
    if (cameraId === undefined || remoteId === undefined || this.#isListed(cameraId)) return undefined;
    const learned = await this.hints.learned(cameraId);
    if (learned?.link === undefined) return undefined;
    const { relation, address } = learned.link;
    const url = this.#resolved(address, relation);
    if (url === undefined || !identifiesCamera(url, [cameraId, remoteId], this.origins.system))
      return undefined;
    await this.session.link(operation, DIALECT.relations.devices);
    const device = { ...learned.device, site: '', online: true };
    return { entry: { device, url }, url, relation };
  }

  /** Drops the link to the video of a camera, because it no longer works. */
  forgetVideo(id: string): void {
    this.hints.forgetLink(id);
  }

  /** Caches how the video of a camera was opened. No link of an offline one: its status is queried first. */
  learn({ device, url }: DeviceEntry, remoteId: string | undefined, openedAt: OpenedAt): void {
    const { id, name, status, online } = device;
    // An entry of the last run has the address of its video, and not that of a page.
    const page = url === openedAt.url ? undefined : url;
    this.hints.learn({ device: { id, name, status }, remoteId }, page, online ? openedAt : undefined);
  }

  /** The remote id of a camera from an event of the last run. */
  async remoteIdOf(id: string): Promise<string | undefined> {
    return (await this.hints.learned(id))?.remoteId;
  }

  /**
   * The camera as the service lists it now, from its page of the last run: one request instead of all pages. Undefined if that
   * page does not contain the camera, or if the list of this run arrives as soon.
   */
  async onItsPage(operation: Operation, id: string): Promise<DeviceEntry | undefined> {
    if (this.#isListed(id)) return undefined;
    const address = (await this.hints.learned(id))?.page;
    const { devices } = DIALECT.relations;
    const url = address === undefined ? undefined : this.#resolved(address, devices);
    if (url === undefined) return undefined;
    const first = await this.session.link(operation, devices);
    if (first.href === url.href) return undefined;
    const ask = (shared: Operation) => shared.hint((once) => this.#page(once, url), true);
    const asked = this.#asking.run(operation, ask, url.href);
    const found = (await undefinedOnServiceError(operation, asked))?.find(({ device }) => device.id === id);
    if (found !== undefined) this.directory.loadBehind();
    return found;
  }

  #isListed(id: string): boolean {
    return this.directory.isLoaded || this.directory.index.byId(id) !== undefined;
  }

  async #page(operation: Operation, url: TrustedUrl): Promise<DeviceEntry[]> {
    const relation = DIALECT.relations.devices;
    const answer = await this.session.follow(operation, { method: 'GET', url, relation });
    const { records } = readPage(answer.json(), DIALECT.collection.devices);
    return records.map((record) => ({ device: toDevice(record), url: answer.url }));
  }

  /** Undefined if a cached link is no longer trusted. */
  #resolved(address: string, relation: string): TrustedUrl | undefined {
    try {
      return this.origins.resolve(address, this.origins.system, relation);
    } catch {
      return undefined;
    }
  }
}
