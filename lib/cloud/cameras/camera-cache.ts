import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { forEachTimeSliced } from '../../concurrency/iteration';
import { clampTimerMs } from '../../concurrency/timers';
import type { Device } from '../../device';
import { toError } from '../../error';
import { HintFile } from '../../files';
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

/** Cameras whose video was asked for last; what was learned of others is forgotten. */
const MAX_LEARNED = 5_000;
/** Milliseconds from the first thing that was learned to its writing, for alarms come in bursts … */
const WRITE_AFTER_MS = 10_000;
/** … and at least from one writing to the next: what a crash takes with it costs the hint alone. */
const WRITE_AGAIN_MS = 300_000;
/** Milliseconds: a day. */
const TEND_AGAIN_MS = 24 * 3600_000;

/** Whose hints they are. */
interface HintOwner {
  /** The address of the System resource. */
  readonly system: URL;
  readonly username: string;
  /** Texts that must not be written down. */
  readonly secrets: readonly string[];
}

/** Where the video of a camera was opened. */
interface OpenedAt {
  readonly relation: string;
  readonly url: URL;
}

/**
 * What the last run has learned of the cameras, and what this one learns for the next: how the video of a camera was asked for,
 * and on which page of the list each stands. Nothing here is true: all of it is to be confirmed, or harmless where it is wrong.
 */
export class CameraHints {
  readonly #owner: HintOwner;
  readonly #onFault: HintOptions['onFault'];
  readonly #folder: HintFolder | undefined;
  readonly #linkFile: HintFile | undefined;
  readonly #pageFile: HintFile | undefined;
  /** Those asked for last at the end. */
  #learned = new Map<string, LearnedCamera>();
  /** Addresses that were looked at, by camera: each is judged once. */
  readonly #judged = new Map<string, string>();
  /** Of the last run, until this one has a list of its own. */
  #pages: string | undefined;
  #listed: readonly DeviceEntry[] = [];
  #reading: Promise<void> | undefined;
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = -Infinity;
  #tendedAt = -Infinity;
  #isFaulty = false;

  /** @param options undefined keeps nothing, and so knows nothing */
  constructor(owner: HintOwner, options: HintOptions | undefined) {
    this.#owner = owner;
    this.#onFault = options?.onFault ?? (() => undefined);
    this.#folder = options && new HintFolder(options.folder, owner.system, owner.username);
    this.#linkFile = this.#folder?.file('links');
    this.#pageFile = this.#folder?.file('pages');
  }

  /** What is known of the video of a camera, by the id that the list has for it. */
  async learned(id: string): Promise<LearnedCamera | undefined> {
    await this.#read();
    return this.#learned.get(id);
  }

  /** The address of the page on which a camera stood when it was listed last. */
  async page(id: string): Promise<string | undefined> {
    await this.#read();
    return this.#pages && pageIn(this.#pages, id);
  }

  /**
   * Remembers how the video of a camera was opened; called once the service has granted it.
   * @param link where that was; undefined where it is not to be used again
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

  /** Forgets the link of a camera: it led nowhere. */
  forgetLink(id: string): void {
    const known = this.#learned.get(id);
    if (known === undefined) return;
    this.#judged.delete(id);
    this.#learned.set(id, { ...known, link: undefined });
    this.#writeLater();
  }

  /** Takes over a list of this run: the one of the last counts no more. */
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

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    await this.#working;
    if (this.#timer !== undefined) this.#write();
    await this.#working;
  }

  /** An address that could become that of another camera is not kept. */
  #keptLink(id: string, remoteId: string | undefined, { relation, url }: OpenedAt): LearnedCamera['link'] {
    const ids = remoteId === undefined ? [id] : [id, remoteId];
    return identifiesCamera(url, ids, this.#owner.system) ? { relation, address: url.href } : undefined;
  }

  /** What is the remote id of one camera is that of no other any more. */
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
    // What this run has learned meanwhile counts.
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
    // Also where it is alike: the former records need not be kept any longer.
    this.#listed = entries;
    if (!isListed)
      await this.#pageFile?.write(
        await pagesText(entries, { isKept: (text) => this.#isClean(text), system: this.#owner.system }),
      );
  }

  /** Shows that these files are in use, and removes those that are not. */
  async #tend(): Promise<void> {
    if (performance.now() - this.#tendedAt < TEND_AGAIN_MS) return;
    this.#tendedAt = performance.now();
    for (const file of [this.#linkFile, this.#pageFile]) await file?.touch();
    await this.#folder?.tidy();
  }

  /** One after the other; what fails is told once, for it is not worth more. */
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

/** Where what was learned is kept from one run to the next. */
export interface HintOptions {
  /** Made when there is something to be kept; nothing else should lie in it. */
  readonly folder: string;
  /** Hears once that nothing can be kept: that costs the hints, and nothing else. */
  readonly onFault: (error: Error) => void;
}

/** Of the links that were learned, and of the pages on which the cameras stand. */
type Kind = 'links' | 'pages';

const OURS = /^[0-9a-f]{32}\.(?:links|pages)(?:\.new)?$/;
/** Milliseconds: files that no run has touched for so long belong to a cloud or an Agent User that is gone. */
const LONGEST_UNUSED_MS = 30 * 24 * 3600_000;

/** The files of one Agent User at one cloud. Their names are a digest, so that they tell neither. */
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

  file(kind: Kind): HintFile {
    return new HintFile(path.join(this.#folder, `${this.#owner}.${kind}`), `${this.#owner} ${kind}`);
  }

  /** Removes the files of those that are gone. */
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

/** What the video of a camera has shown: of the device what a message tells of it, and how the session was asked for. */
interface LearnedCamera {
  readonly device: Pick<Device, 'id' | 'name' | 'status'>;
  /** The id its site knows it by, as an event has told it. */
  readonly remoteId: string | undefined;
  /** Where its sessions are opened; undefined where that may one day be the address of another camera. */
  readonly link: { readonly relation: string; readonly address: string } | undefined;
}

/** Characters of one text: no camera has a longer one that is worth keeping. */
const MAX_TEXT = 1024;

/** One line of JSON for each camera. */
function textOf(cameras: Iterable<LearnedCamera>): string {
  return Array.from(cameras, (camera) => `${JSON.stringify(camera)}\n`).join('');
}

/** The cameras of such a text; what is none is passed over. */
function learnedIn(text: string): LearnedCamera[] {
  return text.split('\n').flatMap((line) => cameraIn(line) ?? []);
}

/** Whether it is short enough to be kept. */
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

/** What of an address may be written down. */
interface KeptAddresses {
  /** Whether it may be at all. */
  isKept: (address: string) => boolean;
  /** The one address that is fixed. */
  system: URL;
}

/** A page is named by numbers and short words: a longer one may be anything, a session or a token too. */
const PLAIN_VALUE = /^(?:\d{1,12}|[A-Za-z_-]{0,12})$/;
const PLAIN_NAME = /^[\w$.[\]-]{1,24}$/;

/**
 * On which page each camera stands, as a text in which one camera is found without reading all: the addresses of the pages as
 * JSON, and below them a line `["id",page]` for each camera.
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

/** The address of the page on which a camera stood; undefined where the text does not tell. */
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

/** Whether two lists say the same of where the cameras stand. */
async function isListedAlike(one: readonly DeviceEntry[], other: readonly DeviceEntry[]): Promise<boolean> {
  if (one.length !== other.length) return false;
  let isAlike = true;
  await forEachTimeSliced(one.keys(), (place) => {
    const [first, second] = [one[place], other[place]];
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

/** Words of addresses that say what is done, and to no camera in particular. */
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
/** What is longer may be a session or a token, but for words and ids. */
const PLAIN_STEP = /^(?:[\w-]{1,12}|[A-Za-z_-]{1,24}|v\d+\.\d+)$/;
/** An id that is as short and as plain may be a place in a list, which is another camera's once one is removed. */
const MAY_BE_A_PLACE = /^\d{0,7}$/;

/**
 * Whether an address cannot have become that of another camera: one of its words is an id of this camera, or none of them
 * names any, so that the body of the request alone does. A name is no id, and a number may be a place in a list.
 * @param ids of the camera, as the service and its site know it
 * @param system the one address that is fixed: what leads to it names no camera
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
 * @param system what leads to it is from the user's own settings
 */
function isPlainPath(path: string, system: URL): boolean {
  const fixed = wordsOf(system.pathname) ?? [];
  return wordsOf(path)?.every((word) => isPlainStep(word) || fixed.includes(word)) === true;
}

function isPlainStep(word: string): boolean {
  return PLAIN_STEP.test(word) || guidForm(word) !== undefined;
}

/** The steps of a path; undefined for one with parameters of its own, which may be those of a session. */
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

/**
 * What the last run knew, as far as it spares an alarm the wait for the list of this one, which may take minutes. It counts no
 * more once that is there.
 */
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
    if (url === undefined || !identifiesCamera(url, [cameraId, remoteId], this.#origins.system))
      return undefined;
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
    const found = (await undefinedOnServiceError(operation, asked))?.find(({ device }) => device.id === id);
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
