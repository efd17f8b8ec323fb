import path from 'node:path';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ensurePrivateFolder } from '../../files';
import {
  alone,
  checkDisk,
  DamagedError,
  faultText,
  FileIdentity,
  fileSystemWarning,
  isBroken,
  isDamaged,
  isFull,
  isMisread,
  keepReserve,
  LastSequence,
  type Nameless,
  NamelessError,
  releaseReserve,
} from './database';
import { type Search, searchOf } from './lists';
import { isLogDamaged } from './page-reader';
import { checkRoom, finishSalvage, salvage, writeAnew } from './salvage';
import type { Salvaged } from '../model';
import type { LocalCall, StoreWarning } from '../store/port';
import { Store } from './store';
import {
  BATCH,
  type FromStore,
  type Reply,
  type Request,
  type StoreThreadOptions,
  type ToStore,
  type WorkerData,
} from './store-thread';

/** Requests after which the log is written into the file when there is time: few enough for a moment, and so many that a page which each of them changes is written once for all. */
const SOME = 256;
/** A batch that takes longer than this is told of, in milliseconds. */
const LONG = 500;
/** Between two salvages of the file, in milliseconds. */
const SALVAGE_EVERY = 10 * 60 * 1000;
/** Before one that has failed is tried again the first time, in milliseconds; then twice as long. */
const SALVAGE_AGAIN = 10_000;
/** What is asked only to know, or to show it. */
const READS: ReadonlySet<LocalCall> = new Set([
  'look',
  'list',
  'page',
  'quarantinedSums',
  'slots',
  'slotOwners',
  'slotVersions',
  'kept',
  'carry',
  'waiting',
  'openAlarms',
]);
/** Between two looks at whether the file is still there, in milliseconds. */
const LOOK_EVERY = 1000;
/** Between two attempts to open the file, in milliseconds; and the longest between two to write it anew. */
const RETRY = 1000;
const ANEW_AGAIN = 10_000;

/**
 * What the thread of a store does: SQLite is synchronous, and a sync to the disk would stop all of Node-RED. Each batch is one
 * transaction, with one sync. After a fault of the disk the file is closed and opened again, checked as at a start.
 */
export class StoreServer {
  readonly #folder: string;
  readonly #last: LastSequence | undefined;
  #store: Store | undefined;
  /** Of what is open. */
  #identity: FileIdentity | undefined;
  /** When it may be written anew, and the pause after that. */
  #anewFrom = -Infinity;
  #anewPause = RETRY;
  #resumed: boolean;
  #triedAt = -Infinity;
  /** Seen while the file was open: it is damaged, whatever a check says. */
  #damage: unknown;
  /** When the file may be salvaged, the pause after that, and what the last one has failed of. */
  #salvageFrom = -Infinity;
  #salvagePause = SALVAGE_AGAIN;
  #salvageError: unknown;
  #fault = '';
  /** What kept bodies of the last batch from being read. */
  #readFault: unknown;
  /** How long the syncs of the last batch took, in milliseconds. */
  #synced = 0;
  /** Requests since the log was last written into the file. */
  #inLog = 0;
  /** In the order in which they were asked for: the first is under way. */
  readonly #searches: (Request & Search)[] = [];

  /**
   * @param resumed true where this process had the file open before
   * @param tell told of the answers, the openings and the faults
   * @param own `last`: a file in which the last sequence is remembered, outside the folder
   */
  constructor(
    private readonly file: string,
    resumed: boolean,
    private readonly tell: (news: FromStore) => void,
    private readonly own: StoreThreadOptions = {},
  ) {
    this.#resumed = resumed;
    this.#last = own.last === undefined ? undefined : new LastSequence(own.last);
    this.#folder = path.dirname(file);
    this.#open();
  }

  run(asked: readonly Request[]): void {
    const batch = asked.filter((request) => {
      const search = searchOf(request);
      if (search !== undefined) this.#searches.push({ ...request, ...search });
      return search === undefined;
    });
    if (this.#store === undefined) this.#open();
    if (batch.length === 0) return;
    const begun = performance.now();
    this.#synced = 0;
    const replies = this.#answer(batch);
    const took = performance.now() - begun;
    const sync = this.#synced;
    if (took > LONG) this.tell({ slow: { work: took - sync, sync } });
    const isWritten = this.#store !== undefined && batch.some(({ name }) => !READS.has(name));
    this.tell({ replies, ...(isWritten && { took }) });
    // At once after a pause: Node-RED ends without closing it.
    if (isWritten && this.#last?.isDue === true) this.#remember();
    this.#seeToFile(replies);
    this.#inLog += batch.length;
    if (batch.some(({ name }, index) => name === 'tidy' && replies[index]?.give === false)) this.#rest();
  }

  /** Looks on for what was searched first, for a moment. @returns false where nothing is */
  search(): boolean {
    const [search] = this.#searches;
    if (search === undefined) return false;
    const replies = this.#answer([search]);
    if (replies.some(({ give, error }) => give !== undefined || error !== undefined)) {
      this.#searches.shift();
      this.tell({ replies });
      this.#seeToFile(replies);
    }
    return true;
  }

  /** Nothing is asked at the moment: time for what a batch would have to wait for. */
  pause(): void {
    if (this.#inLog < SOME || !this.#hasName()) return;
    this.#inLog = 0;
    try {
      this.#store?.checkpointLog();
    } catch (error) {
      // What a full disk has no room for stays in the log, and the next commit tells of it.
      if (isBroken(error)) this.#close(error);
    }
  }

  /** To be called every second: also while nothing is asked, the file may go. */
  look(): void {
    this.#hasName();
    if (this.#last?.isDue === true) this.#remember();
  }

  close(): void {
    while (this.search());
    // The last time that it can be written anew, whatever the pause.
    this.#anewFrom = -Infinity;
    this.#hasName();
    this.#remember();
    this.#closeStore();
  }

  /** Not while the disk fails: it says enough. */
  #remember(): void {
    try {
      if (this.#store !== undefined) this.#last?.keep(this.#store.newest);
    } catch {
      // Then it is behind.
    }
  }

  #closeStore(): void {
    try {
      this.#store?.close();
    } finally {
      this.#store = undefined;
      this.#identity?.close();
      this.#identity = undefined;
    }
  }

  /** False where what is open has lost its name, and has none again. */
  #hasName(): boolean {
    const what = this.#identity?.nameless();
    if (what === undefined || this.#store === undefined) return true;
    if (performance.now() < this.#anewFrom) return false;
    // First of all: while it is written anew alarms go elsewhere.
    this.#failed(new NamelessError(what));
    return this.#writeAnew(this.#store, what);
  }

  /** It stays open until a new one is on the disk: nobody could open it again. */
  #writeAnew(store: Store, what: Nameless): boolean {
    try {
      const found = what === 'file' ? this.#copied(store) : undefined;
      // All of it is in the file then, which has its name.
      if (what === 'log') store.checkpoint();
      this.#closeStore();
      this.#anewPause = RETRY;
      this.#warn({ kind: 'moved', what });
      if (found !== undefined) this.#warn({ kind: 'found', ...found });
    } catch (error) {
      this.#anewFrom = performance.now() + this.#anewPause;
      this.#anewPause = Math.min(2 * this.#anewPause, ANEW_AGAIN);
      this.#failed(error);
      return false;
    }
    this.#triedAt = -Infinity;
    this.#open();
    return this.#store !== undefined;
  }

  #copied(store: Store): Salvaged | undefined {
    // Made again where it is gone.
    ensurePrivateFolder(this.#folder);
    const hasLog = this.#identity?.hasLog === true;
    return writeAnew(this.file, { copyTo: (file) => store.copyTo(file), hasLog }, new Date());
  }

  #open(): void {
    if (performance.now() - this.#triedAt < RETRY) return;
    this.#triedAt = performance.now();
    try {
      this.#store = alone(this.file, () => this.#openAlone());
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#identity = new FileIdentity(this.file);
    if (!this.#resumed) {
      if (!this.#identity.canTell) this.#warn({ kind: 'unwatched' });
      if (this.own.isSpare !== true) this.#warn(fileSystemWarning(this.#folder));
      this.#warn(checkDisk(this.#folder));
    }
    this.#resumed = true;
    this.tell({ opened: this.#store.opened });
  }

  #openAlone(): Store {
    const finished = finishSalvage(this.file, new Date());
    if (finished !== undefined) this.#warn({ kind: 'salvaged', ...finished });
    const isSalvaged = finished !== undefined;
    return this.#damage === undefined ? this.#opened(isSalvaged) : this.#openSalvaged(this.#damage);
  }

  #opened(isSalvaged = false): Store {
    try {
      if (isLogDamaged(this.file)) throw new DamagedError('its log');
      return new Store({
        file: this.file,
        resumed: this.#resumed,
        last: this.#last?.known,
        isSalvaged,
        isSpare: this.own.isSpare === true,
        onReadFault: (error) => (this.#readFault = error),
        onSynced: (ms) => (this.#synced += ms),
      });
    } catch (error) {
      if (!isMisread(error)) throw error;
      return this.#openSalvaged(error);
    }
  }

  /** A disk that damages each new file, too, would be filled with what is set aside. */
  #openSalvaged(damage: unknown): Store {
    if (performance.now() < this.#salvageFrom) throw this.#salvageError ?? damage;
    checkRoom(this.file);
    this.#warn({ kind: 'salvaged', ...this.#salvaged() });
    this.#damage = undefined;
    return this.#opened(true);
  }

  #salvaged(): Salvaged {
    try {
      const salvaged = salvage(this.file, new Date());
      this.#salvageFrom = performance.now() + SALVAGE_EVERY;
      this.#salvagePause = SALVAGE_AGAIN;
      this.#salvageError = undefined;
      return salvaged;
    } catch (error) {
      this.#salvageFrom = performance.now() + this.#salvagePause;
      this.#salvagePause = Math.min(2 * this.#salvagePause, SALVAGE_EVERY);
      this.#salvageError = error;
      throw error;
    }
  }

  #answer(batch: readonly Request[]): Reply[] {
    const store = this.#store;
    if (store === undefined) return batch.map(({ id }) => ({ id, error: this.#fault }));
    try {
      return store.transaction(() => {
        const replies = batch.map((request) => ({ id: request.id, give: perform(store, request) }));
        const what = this.#identity?.nameless();
        if (what !== undefined) throw new NamelessError(what);
        return replies;
      });
    } catch (error) {
      if (isFull(error) && releaseReserve(this.#folder)) {
        this.#warn({ kind: 'reserve-used' });
        return this.#answer(batch);
      }
      if (isBroken(error)) this.#close(error);
      // What it is about is written anew after the answers.
      else if (error instanceof NamelessError) this.#failed(error);
      else if (isFull(error)) {
        this.#failed(error);
        if (batch.length > 1) return batch.map((request) => this.#readFromFull(request, error));
      }
      // What the store refuses for its own sake keeps no other out.
      else if (batch.length > 1) return batch.flatMap((request) => this.#answer([request]));
      return batch.map(({ id }) => ({ id, error: faultText(error) }));
    }
  }

  /** A full disk can be read. */
  #readFromFull(request: Request, error: unknown): Reply {
    const [read] = READS.has(request.name) ? this.#answer([request]) : [];
    return read ?? { id: request.id, error: faultText(error) };
  }

  /** What was committed has happened, and is answered as such; but where a body was not read the disk cannot be relied on. */
  #seeToFile(replies: readonly Reply[]): void {
    const fault = this.#readFault;
    this.#readFault = undefined;
    if (this.#store !== undefined && isBroken(fault)) this.#close(fault);
    if (replies.some(({ error }) => error !== undefined)) this.#hasName();
  }

  #close(error: unknown): void {
    if (this.#identity?.nameless() !== undefined && !isDamaged(error)) return this.#failed(error);
    try {
      this.#closeStore();
    } catch {
      // What it could not write any more, it will find in its log.
    }
    if (isDamaged(error)) this.#damage = error;
    this.#failed(error);
  }

  #failed(error: unknown): void {
    this.#fault = faultText(error);
    this.tell({ fault: this.#fault });
  }

  /** Nothing is left to remove: time to see to the log and the disk. */
  #rest(): void {
    if (!this.#hasName()) return;
    try {
      this.#store?.checkpoint();
    } catch (error) {
      this.#close(error);
    }
    keepReserve(this.#folder);
    this.#warn(checkDisk(this.#folder));
  }

  #warn(warning: StoreWarning | undefined): void {
    if (warning !== undefined) this.tell({ warning });
  }
}

function perform(store: Store, request: Request | (Request & Search)): unknown {
  if ('found' in request) return store.search(request);
  const { name, take } = request;
  // A name and its argument belong together; across the threads the compiler cannot see that.
  const work = store.work[name] as (argument: unknown) => unknown;
  return work(take);
}

/** Takes orders from the main thread. What is sent while a batch is under way goes together: a sync costs the same for one as for hundreds. */
function serve(port: MessagePort): void {
  const { file, resumed, own } = workerData as WorkerData;
  const server = new StoreServer(file, resumed, (news) => port.postMessage(news), own);
  const looking = setInterval(() => server.look(), LOOK_EVERY);
  const next = (): ToStore | undefined => receiveMessageOnPort(port)?.message as ToStore | undefined;
  port.on('message', (first: ToStore) => {
    let order: ToStore | undefined = first;
    let batch: Request[] = [];
    while (order !== undefined && order !== 'close') {
      batch.push(...order.batch);
      order = next();
      if (order !== undefined && order !== 'close' && batch.length < BATCH) continue;
      server.run(batch);
      batch = [];
      let searches = true;
      // What has come meanwhile goes between two slices of a search; and a slice after each batch, or none would ever end.
      do {
        searches = server.search();
        order ??= next();
      } while (order === undefined && searches);
    }
    if (order === undefined) return server.pause();
    clearInterval(looking);
    server.close();
    port.close();
  });
}

if (parentPort !== null) serve(parentPort);
