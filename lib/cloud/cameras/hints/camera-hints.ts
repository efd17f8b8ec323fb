import { timerMs } from '../../../concurrency/timers';
import { asError } from '../../../error';
import { maskedStart } from '../../secret-mask';
import type { DeviceIndex, DeviceEntry } from '../device-index';
import type { HintFile } from '../../../files';
import { HintFolder, type HintOptions } from './hint-folder';
import { isShort, learnedIn, textOf, type LearnedCamera } from './learned-camera';
import { isListedAlike, pageIn, pagesText } from './page-list';
import { isTelling } from './telling-address';

/** Cameras whose video was asked for last; what was learned of others is forgotten. */
const MAX_LEARNED = 5_000;
/** Milliseconds from the first thing that was learned to its writing, for alarms come in bursts … */
const WRITE_AFTER_MS = 10_000;
/** … and at least from one writing to the next: what a crash takes with it costs the hint alone. */
const WRITE_AGAIN_MS = 300_000;
/** Milliseconds: a day. */
const TEND_AGAIN_MS = 24 * 3600_000;

/** Whose hints they are. */
export interface HintOwner {
  /** The address of the System resource. */
  readonly system: URL;
  readonly username: string;
  /** Texts that must not be written down. */
  readonly secrets: readonly string[];
}

/** Where the video of a camera was opened. */
export interface OpenedAt {
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
    return isTelling(url, ids, this.#owner.system) ? { relation, address: url.href } : undefined;
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
    return maskedStart(text, this.#owner.secrets, Infinity) === text;
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
    this.#timer = setTimeout(() => this.#write(), timerMs(Math.max(WRITE_AFTER_MS, again)));
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
      if (!this.#isFaulty) this.#onFault(asError(error));
      this.#isFaulty = true;
    });
  }
}

function isSame(known: LearnedCamera, { name, status }: LearnedCamera['device'], remoteId?: string): boolean {
  const { device } = known;
  return device.name === name && device.status === status && known.remoteId === remoteId;
}
