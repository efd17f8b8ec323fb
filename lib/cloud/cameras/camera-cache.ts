import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { forEachTimeSliced } from '../../concurrency/iteration';
import { clampTimerMs } from '../../concurrency/timers';
import type { Device } from '../../device';
import { toError } from '../../error';
import { JsonFile } from '../../files';
import { isRecord } from '../../json/json';
import { guidForm } from '../../text';
import { DIALECT } from '../dialect';
import type { Origins, TrustedUrl } from '../http/origins';
import { readPage } from '../http/records';
import { undefinedOnServiceError } from '../http/retry-policy';
import { KeyedFlight, type Operation } from '../operation';
import { redact } from '../secret-mask';
import type { StationSession } from '../session/session';
import { type DeviceDirectory, type DeviceEntry, type DeviceIndex, toDevice } from './device-directory';

/** Maximum number of cached cameras; the one whose video was opened longest ago is dropped. */
const MAX_LEARNED = 5_000;
/** Milliseconds from the first new entry to the write: alarms come in bursts. */
const WRITE_AFTER_MS = 10_000;
/** Minimum milliseconds between two writes: a crash in between costs cached links only. */
const WRITE_AGAIN_MS = 300_000;
/** Milliseconds between two clean-ups of the folder: one day. */
const TEND_AGAIN_MS = 24 * 3600_000;

/** The service and the Agent User that the cached links belong to. */
interface HintOwner {
  /** The address of the System resource. */
  readonly system: URL;
  readonly username: string;
  /** Texts that must not be written to disk. */
  readonly secrets: readonly string[];
}

/** Where the video of a camera was opened. */
interface OpenedAt {
  readonly relation: string;
  readonly url: URL;
}

/**
 * Persistent cache that one run writes for the next: how the video of a camera was opened, and on which page of the device list
 * each camera is. No entry is trusted: each is confirmed by the service, or harmless if wrong.
 */
export class CameraHints {
  readonly #owner: HintOwner;
  readonly #onFault: HintOptions['onFault'];
  readonly #folder: HintFolder | undefined;
  readonly #linkFile: JsonFile | undefined;
  readonly #pageFile: JsonFile | undefined;
  /** In order of use, the most recent last. */
  #learned = new Map<string, LearnedCamera>();
  /** Addresses that were checked, by camera: each is checked once. */
  readonly #judged = new Map<string, string>();
  /** Pages of the list of the last run, until this run has a list of its own. */
  #pages: string | undefined;
  #listed: readonly DeviceEntry[] = [];
  #reading: Promise<void> | undefined;
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = -Infinity;
  #tendedAt = -Infinity;
  #isFaulty = false;

  /** @param options undefined: nothing is stored or read */
  constructor(owner: HintOwner, options: HintOptions | undefined) {
    this.#owner = owner;
    this.#onFault = options?.onFault ?? (() => undefined);
    this.#folder = options && new HintFolder(options.folder, owner.system, owner.username);
    this.#linkFile = this.#folder?.file('links');
    this.#pageFile = this.#folder?.file('pages');
  }

  /** The cached entry of a camera, by the camera's id in the list. */
  async learned(id: string): Promise<LearnedCamera | undefined> {
    await this.#read();
    return this.#learned.get(id);
  }

  /** The address of the page that contained the camera in the last list. */
  async page(id: string): Promise<string | undefined> {
    await this.#read();
    return this.#pages && pageIn(this.#pages, id);
  }

  /**
   * Caches how the video of a camera was opened; called once the service has granted the session.
   * @param link where the session was opened; undefined if the link must not be used again
   */
  learn({ device, remoteId }: Omit<LearnedCamera, 'link'>, link: OpenedAt | undefined): void {
    if (this.#folder === undefined) return;
    const { id } = device;
    const before = this.#learned.get(id);
    const known = remoteId ?? before?.remoteId;
    const address = link?.url.href ?? '';
    if (before !== undefined && this.#judged.get(id) === address && isSame(before, device, known)) {
      this.#putLast(id, before);
      return;
    }
    const learned = { device, remoteId: known, link: link && this.#keptLink(id, known, link) };
    if (known !== undefined) this.#takeFromOthers(id, known);
    this.#forget(id);
    if (!isShort(learned) || !this.#isClean(JSON.stringify(learned))) return;
    this.#judged.set(id, address);
    this.#putLast(id, learned);
    const [oldest] = this.#learned.keys();
    if (this.#learned.size > MAX_LEARNED && oldest !== undefined) this.#forget(oldest);
    this.#writeLater();
  }

  /** Drops the link of a camera, because it no longer works. */
  forgetLink(id: string): void {
    const known = this.#learned.get(id);
    if (known === undefined) return;
    this.#judged.delete(id);
    this.#learned.set(id, { ...known, link: undefined });
    this.#writeLater();
  }

  /** Takes over the list of this run; the list of the last run is no longer used. */
  listed(index: DeviceIndex): void {
    if (this.#folder === undefined) return;
    this.#inTurn(async () => {
      await this.#read();
      this.#pages = undefined;
      const gone = [...this.#learned.keys()].filter((id) => index.byId(id) === undefined);
      for (const id of gone) this.#forget(id);
      if (gone.length > 0) this.#writeLater();
      await this.#writePages(index.entries);
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

  /** A remote id belongs to one camera: other entries with it are dropped. */
  #takeFromOthers(id: string, remoteId: string): void {
    for (const [other, known] of this.#learned) {
      if (other !== id && known.remoteId === remoteId) this.#forget(other);
    }
  }

  #putLast(id: string, camera: LearnedCamera): void {
    this.#learned.delete(id);
    this.#learned.set(id, camera);
  }

  #forget(id: string): void {
    this.#judged.delete(id);
    this.#learned.delete(id);
  }

  #isClean(text: string): boolean {
    return redact(text, this.#owner.secrets, Infinity) === text;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readFiles();
    return this.#reading;
  }

  async #readFiles(): Promise<void> {
    const [links = '', pages] = await Promise.all([this.#linkFile?.read(), this.#pageFile?.read()]);
    const ofThisRun = this.#learned;
    this.#learned = new Map(learnedIn(links).map((camera) => [camera.device.id, camera]));
    for (const [id, { link }] of this.#learned) if (link !== undefined) this.#judged.set(id, link.address);
    // Entries of this run replace those of the file.
    for (const [id, camera] of ofThisRun) {
      const remoteId = camera.remoteId ?? this.#learned.get(id)?.remoteId;
      if (remoteId !== undefined) this.#takeFromOthers(id, remoteId);
      this.#learned.set(id, { ...camera, remoteId });
    }
    this.#pages = pages;
  }

  #writeLater(): void {
    if (this.#timer !== undefined || this.#folder === undefined) return;
    const again = this.#writtenAt + WRITE_AGAIN_MS - performance.now();
    this.#timer = setTimeout(() => this.#write(), clampTimerMs(Math.max(WRITE_AFTER_MS, again)));
    this.#timer.unref();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writtenAt = performance.now();
    this.#inTurn(async () => {
      await this.#read();
      await this.#linkFile?.write(textOf(this.#learned.values()));
    });
  }

  async #writePages(entries: readonly DeviceEntry[]): Promise<void> {
    const isListed = await isListedAlike(entries, this.#listed);
    // Set even if the lists are equal, so that the former records can be freed.
    this.#listed = entries;
    if (!isListed)
      await this.#pageFile?.write(
        await pagesText(entries, { isKept: (text) => this.#isClean(text), system: this.#owner.system }),
      );
  }

  /** Once a day: marks these files as used, and removes unused ones from the folder. */
  async #tend(): Promise<void> {
    if (performance.now() - this.#tendedAt < TEND_AGAIN_MS) return;
    this.#tendedAt = performance.now();
    for (const file of [this.#linkFile, this.#pageFile]) await file?.touch();
    await this.#folder?.tidy();
  }

  /** Runs tasks one after the other. Only the first failure is reported: the cache is optional. */
  #inTurn(work: () => Promise<void>): void {
    this.#working = this.#working.then(work).catch((error: unknown) => {
      if (!this.#isFaulty) this.#onFault(toError(error));
      this.#isFaulty = true;
    });
  }
}

function isSame(known: LearnedCamera, { name, status }: LearnedCamera['device'], remoteId?: string): boolean {
  const { device } = known;
  return device.name === name && device.status === status && known.remoteId === remoteId;
}

/** Where the cache is stored between two runs. */
export interface HintOptions {
  /** Created when there is something to store; must contain nothing else. */
  readonly folder: string;
  /** Called once, when the cache cannot be stored; the client works without it. */
  readonly onFault: (error: Error) => void;
}

/** Links of the cameras, or pages of the device list. */
type Kind = 'links' | 'pages';

const OURS = /^[0-9a-f]{32}\.(?:links|pages)(?:\.new)?$/;
/** Milliseconds: files that no run has touched for so long belong to a deleted cloud or Agent User. */
const LONGEST_UNUSED_MS = 30 * 24 * 3600_000;

/** The files of one Agent User at one cloud. Their names are a digest, so that they reveal neither. */
class HintFolder {
  readonly #folder: string;
  readonly #owner: string;

  constructor(folder: string, system: URL, username: string) {
    this.#folder = folder;
    this.#owner = createHash('sha256')
      .update(JSON.stringify([system.href, username]))
      .digest('hex')
      .slice(0, 32);
  }

  file(kind: Kind): JsonFile {
    return new JsonFile(path.join(this.#folder, `${this.#owner}.${kind}`), `${this.#owner} ${kind}`);
  }

  /** Removes files that no run has touched for 30 days. */
  async tidy(): Promise<void> {
    const names = await fs.readdir(this.#folder).catch(() => []);
    const before = Date.now() - LONGEST_UNUSED_MS;
    for (const name of names.filter((candidate) => OURS.test(candidate))) {
      const file = path.join(this.#folder, name);
      const { mtimeMs } = await fs.stat(file).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < before) await fs.rm(file, { force: true }).catch(() => undefined);
    }
  }
}

/** A cached camera: the device fields that a message contains, and how its session was opened. */
interface LearnedCamera {
  readonly device: Pick<Device, 'id' | 'name' | 'status'>;
  /** The id by which the site knows the camera, from an event. */
  readonly remoteId: string | undefined;
  /** Where sessions are opened; undefined if the address could become that of another camera. */
  readonly link: { readonly relation: string; readonly address: string } | undefined;
}

/** Characters of one text; a camera with a longer one is not cached. */
const MAX_TEXT = 1024;

/** One line of JSON for each camera. */
function textOf(cameras: Iterable<LearnedCamera>): string {
  return Array.from(cameras, (camera) => `${JSON.stringify(camera)}\n`).join('');
}

/** The cameras of such a text; other lines are skipped. */
function learnedIn(text: string): LearnedCamera[] {
  return text.split('\n').flatMap((line) => cameraIn(line) ?? []);
}

function isShort({ device, remoteId = '', link }: LearnedCamera): boolean {
  const texts = [device.id, device.name, device.status, remoteId, link?.address ?? '', link?.relation ?? ''];
  return texts.every((text) => text.length <= MAX_TEXT);
}

function cameraIn(line: string): LearnedCamera | undefined {
  if (line === '') return undefined;
  const value: unknown = JSON.parse(line);
  if (!isRecord(value) || !isRecord(value['device'])) return undefined;
  const { id, name, status } = value['device'];
  if (!isText(id) || !isText(name) || !isText(status)) return undefined;
  const { remoteId, link } = value;
  return {
    device: { id, name, status },
    remoteId: isText(remoteId) ? remoteId : undefined,
    link: linkIn(link),
  };
}

function linkIn(value: unknown): LearnedCamera['link'] {
  if (!isRecord(value)) return undefined;
  const { relation, address } = value;
  return isText(relation) && isText(address) ? { relation, address } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Which addresses may be written to disk. */
interface KeptAddresses {
  /** False for an address that contains a secret. */
  isKept: (address: string) => boolean;
  /** Address of the System resource, from the user's settings. */
  system: URL;
}

/** Query of a page: numbers and short words. A longer value could be a session or a token. */
const PLAIN_VALUE = /^(?:\d{1,12}|[A-Za-z_-]{0,12})$/;
const PLAIN_NAME = /^[\w$.[\]-]{1,24}$/;

/**
 * The page of each camera as a text in which one camera is found without parsing all: the addresses of the pages as JSON, then
 * one line `["id",page]` for each camera.
 */
async function pagesText(
  entries: readonly DeviceEntry[],
  { isKept, system }: KeptAddresses,
): Promise<string> {
  const numbers = new Map<string, number>();
  const pages: string[] = [];
  const lines: string[] = [];
  await forEachTimeSliced(entries, ({ device, url }) => {
    const number = numbers.get(url.href) ?? pages.length;
    if (number === pages.length) {
      numbers.set(url.href, number);
      pages.push(isPlain(url, system) && isKept(url.href) ? url.href : '');
    }
    if (pages[number] !== '') lines.push(`[${JSON.stringify(device.id)},${number}]\n`);
  });
  return `${JSON.stringify(pages)}\n${lines.join('')}`;
}

/** The address of the page of a camera; undefined if the text does not contain the camera. */
function pageIn(text: string, id: string): string | undefined {
  const start = `\n[${JSON.stringify(id)},`;
  const found = text.indexOf(start);
  if (found < 0) return undefined;
  const from = found + start.length;
  const number = Number(text.slice(from, text.indexOf(']', from)));
  const pages: unknown = JSON.parse(text.slice(0, text.indexOf('\n')));
  const page: unknown = Array.isArray(pages) ? pages[number] : undefined;
  return typeof page === 'string' ? page : undefined;
}

/** Whether two lists have the same cameras on the same pages. */
async function isListedAlike(one: readonly DeviceEntry[], other: readonly DeviceEntry[]): Promise<boolean> {
  if (one.length !== other.length) return false;
  let isAlike = true;
  await forEachTimeSliced(one.keys(), (index) => {
    const [first, second] = [one[index], other[index]];
    isAlike &&=
      first === second || (first?.device.id === second?.device.id && first?.url.href === second?.url.href);
  });
  return isAlike;
}

function isPlain(url: URL, system: URL): boolean {
  return (
    isPlainPath(url.pathname, system) &&
    [...url.searchParams].every(([name, value]) => PLAIN_NAME.test(name) && PLAIN_VALUE.test(value))
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

/**
 * Whether no step of a path can be a secret of the service.
 * @param system its path comes from the user's own settings
 */
function isPlainPath(path: string, system: URL): boolean {
  const fixed = wordsOf(system.pathname) ?? [];
  return wordsOf(path)?.every((word) => isPlainStep(word) || fixed.includes(word)) === true;
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
  readonly #hints: CameraHints;
  readonly #session: StationSession;
  readonly #directory: DeviceDirectory;
  readonly #origins: Origins;
  readonly #asking = new KeyedFlight<readonly DeviceEntry[]>();

  constructor(hints: CameraHints, session: StationSession, directory: DeviceDirectory, origins: Origins) {
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
   * Where the video of an event's camera was opened, after login if necessary. Only for an event with both ids: the camera id
   * selects the entry, and the remote id in the request body tells the service which camera is meant.
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
    if (url === undefined || !identifiesCamera(url, [cameraId, remoteId], this.#origins.system))
      return undefined;
    await this.#session.link(operation, DIALECT.relations.devices);
    const device = { ...learned.device, site: '', online: true };
    return { entry: { device, url }, url, relation };
  }

  /** Drops the link to the video of a camera, because it no longer works. */
  forgetVideo(id: string): void {
    this.#hints.forgetLink(id);
  }

  /** Caches how the video of a camera was opened. No link of an offline one: its status is queried first. */
  learn({ device }: DeviceEntry, remoteId: string | undefined, openedAt: OpenedAt): void {
    const { id, name, status, online } = device;
    this.#hints.learn({ device: { id, name, status }, remoteId }, online ? openedAt : undefined);
  }

  /** The remote id of a camera from an event of the last run. */
  async remoteIdOf(id: string): Promise<string | undefined> {
    return (await this.#hints.learned(id))?.remoteId;
  }

  /**
   * The camera as the service lists it now, from its page of the last run: one request instead of all pages. Undefined if that
   * page does not contain the camera, or if the list of this run arrives as soon.
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
    const found = (await undefinedOnServiceError(operation, asked))?.find(({ device }) => device.id === id);
    if (found !== undefined) this.#directory.loadBehind();
    return found;
  }

  /** Loads the list of this run in the background, after an alarm that did not wait for it. */
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

  /** Undefined if a cached link is no longer trusted. */
  #resolved(address: string, relation: string): TrustedUrl | undefined {
    try {
      return this.#origins.resolve(address, this.#origins.system, relation);
    } catch {
      return undefined;
    }
  }
}
