import path from 'node:path';
import type {
  Acceptance,
  Consumer,
  Consumption,
  Inbox,
  InboxState,
  ListedMessage,
  ListQuery,
  QuarantinedMessage,
  QuarantineSum,
  Settlement,
} from './inbox';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { Watchers } from '../concurrency/watchers';
import { within } from '../concurrency/within';
import { EventQueues } from './queue/event-queues';
import { Settling } from './settling';
import { messageOfRow, quarantinedRow, quarantineSum } from './store/quarantined-row';
import { Spilling } from './spill/spilling';
import { StoreHealth, type InboxNews } from './store-health';
import { fileSystemWarning } from './file-system';
import type { Accepted, NewMessage, Opened } from './store/protocol';
import { StoreThread } from './sqlite/store-thread';
import { reasonOf, storeFailed, type StoreNews, type StorePort } from './store/port';
import { acceptedMessage, listed, newMessage } from './store/stored-message';
import { Tidying, type RetentionPeriods } from './tidying';

export interface DurableInboxOptions {
  /** The SQLite file. */
  file: string;
  /** Where messages go that the store cannot take; best on another disk. */
  spillFolder: string;
  keep: RetentionPeriods;
  /** Told what an operator should know; nothing of an event. */
  log?: (news: InboxNews) => void;
  /** Time for the store to take a message before it is spilled, in milliseconds. Default 2,000. */
  spillAfter?: number;
  /** Between two looks at a store that fails, in milliseconds. Default 5,000. */
  lookAgain?: number;
  /** The store behind it. Default: the file, in a thread of its own. */
  open?: (news: StoreNews) => StorePort;
}

/**
 * The durable inbox: one SQLite file in a thread of its own, files for what it cannot take, and the queues from which
 * events go to their consumers. After a crash each event that was not settled is delivered again, under the same id.
 */
export class DurableInbox implements Inbox {
  readonly #store: StorePort;
  readonly #spilling: Spilling;
  readonly #queues: EventQueues;
  readonly #watchers = new Watchers();
  readonly #log: (news: InboxNews) => void;
  readonly #spillAfter: number;
  readonly #health: StoreHealth;
  readonly #settling: Settling;
  readonly #tidying: Tidying;
  #quarantineKey: Promise<Uint8Array> | undefined;
  #closed = false;

  constructor(options: DurableInboxOptions) {
    this.#log = options.log ?? (() => undefined);
    this.#spillAfter = options.spillAfter ?? 2000;
    this.#health = new StoreHealth({
      lookAgain: options.lookAgain ?? 5000,
      recover: () => this.#tryToRecover(),
      changed: () => this.#watchers.tell(),
      log: this.#log,
    });
    this.#spilling = new Spilling({
      folder: options.spillFolder,
      register: path.join(path.dirname(options.file), 'spill-folders.json'),
      store: (message) => this.#storeAgain(message),
      onLeft: (file) => this.#log({ kind: 'left', file }),
    });
    const news: StoreNews = {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#health.failed(reason),
      onWarning: (warning) => this.#log(warning),
      onSlow: (batch) => this.#health.slow.measured(batch),
    };
    this.#store = options.open?.(news) ?? new StoreThread(options.file, news);
    this.#queues = new EventQueues(
      this.#store,
      () => this.#watchers.tell(),
      (line) => this.#log({ kind: 'line', line }),
    );
    this.#settling = new Settling(this.#store, this.#queues);
    this.#tidying = new Tidying(this.#store, options.keep);
  }

  /** Tells where the spill folder could not serve, before it has to. */
  checkSpillFolder(): void {
    const { folder } = this.#spilling;
    const reason = this.#spilling.check();
    const warning = reason === undefined ? fileSystemWarning(folder) : undefined;
    if (reason !== undefined) this.#log({ kind: 'no-spill', folder, reason });
    else if (warning !== undefined) this.#log({ ...warning, folder });
  }

  /** Changes how long messages are kept, and where they are spilled. What was spilled elsewhere is read back all the same. */
  configure({ keep, spillFolder }: Pick<DurableInboxOptions, 'keep' | 'spillFolder'>): void {
    this.#tidying.keep = keep;
    this.#spilling.moveTo(spillFolder);
    if (this.#spilling.mayHold) this.#health.lookLater();
  }

  async accept(record: ProvenMessage | DeadLetter): Promise<Acceptance> {
    const message = newMessage(record);
    // What was spilled goes first, or the end of an alarm would come before its beginning.
    if (this.#spilling.mayHold && !(await this.#isReadBack())) return this.#spill(message);
    const begun = performance.now();
    const storing = this.#storeEntering(record, message);
    try {
      const accepted = await within(storing, this.#spillAfter);
      if (accepted !== undefined) {
        this.#health.works();
        return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
      }
      this.#health.tooSlow();
      storing.then(
        (late) => {
          this.#health.slow.answered(performance.now() - begun);
          // When it is read back it will be a repeat, of which nothing is told.
          this.#tellConsumer(record, late);
        },
        () => undefined,
      );
    } catch (error) {
      if (this.#closed) throw error;
      this.#health.failed(reasonOf(error));
    }
    return this.#spill(message);
  }

  consume(consumer: Consumer): Consumption {
    const queue = this.#queues.of(consumer.endpointId);
    queue.attach(consumer);
    const own = (act: () => void) => (): void => {
      if (queue.consumer === consumer) act();
    };
    return {
      pause: own(() => queue.pause()),
      resume: own(() => queue.resume()),
      end: async () => {
        if (queue.consumer === consumer) await queue.detach();
      },
    };
  }

  settle(deliveryId: string, settlement: Settlement): Promise<boolean> {
    return this.#settling.settle(deliveryId, settlement);
  }

  dismiss(deliveryId: string): Promise<boolean> {
    return this.#store.call('dismiss', deliveryId);
  }

  async list(query: ListQuery): Promise<ListedMessage[]> {
    return (await this.#store.call('list', query)).map(listed);
  }

  quarantine(message: QuarantinedMessage): void {
    // What waits for a store that hangs must have a bound.
    if (this.#health.state.durable === false) return;
    this.#store.call('quarantine', quarantinedRow(message)).catch(() => undefined);
  }

  async quarantined(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    const rows = await this.#store.call('quarantined', endpointId);
    return rows.map(messageOfRow);
  }

  async quarantineSums(): Promise<QuarantineSum[]> {
    return (await this.#store.call('quarantinedSums', undefined)).map(quarantineSum);
  }

  async releaseUpTo(endpointId: string, lastId: number): Promise<void> {
    await this.#store.call('releaseUpTo', { endpoint: endpointId, id: lastId });
  }

  async release(ids: readonly number[]): Promise<void> {
    await this.#store.call('release', [...ids]);
  }

  quarantineKey(): Promise<Uint8Array> {
    this.#quarantineKey ??= this.#store.call('quarantineKey', undefined).catch((error: unknown) => {
      this.#quarantineKey = undefined;
      throw error;
    });
    return this.#quarantineKey;
  }

  waiting(endpointId: string): number {
    return this.#queues.waiting(endpointId);
  }

  hasConsumer(endpointId: string): boolean {
    return this.#queues.hasConsumer(endpointId);
  }

  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[] {
    return this.#queues.abandoned();
  }

  state(): InboxState {
    const { state } = this.#health;
    if (state.durable !== true || !this.#queues.hasUnread) return state;
    return { durable: false, fault: 'stored events cannot be read: see to the disk' };
  }

  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tidying.close();
    await this.#queues.detach();
    await this.#health.close();
    await this.#store.close();
    await this.#spilling.close();
    this.#queues.close();
  }

  /** The queue of an event is told what the store did, also where that came too late for the sender. */
  async #storeEntering(record: ProvenMessage | DeadLetter, message: NewMessage): Promise<Accepted> {
    if (record.kind !== 'event') return this.#store.call('accept', { message, lease: 'no' });
    const queue = this.#queues.of(record.endpointId);
    const lease = queue.lease(record);
    const storing = this.#store.call('accept', { message, lease });
    storing.then(
      (accepted) => queue.stored(record, lease, accepted),
      () => queue.stored(record, lease, undefined),
    );
    return storing;
  }

  async #isReadBack(): Promise<boolean> {
    return (await within(this.#health.recover(), this.#spillAfter).catch(() => undefined)) === true;
  }

  async #spill(message: NewMessage): Promise<Acceptance> {
    try {
      await this.#spilling.append(message);
    } catch (error) {
      const { fault = 'it is not open yet' } = this.#health.state;
      throw storeFailed(`${fault}; neither can it spill: ${reasonOf(error)}`);
    }
    this.#health.spilled();
    return { outcome: 'spilled' };
  }

  #opened({ waiting, restored }: Opened): void {
    if (restored) this.#log({ kind: 'restored' });
    this.#queues.storeOpened(waiting);
    this.#health.recover().catch(() => undefined);
  }

  /** True when nothing that was spilled is left. @throws RvmError STORE_FAILED */
  async #tryToRecover(): Promise<boolean> {
    await this.#store.call('ping', undefined);
    const count = this.#spilling.mayHold ? await this.#spilling.readBack() : 0;
    if (count > 0) this.#log({ kind: 'read-back', count });
    return !this.#spilling.mayHold;
  }

  async #storeAgain(message: NewMessage): Promise<boolean> {
    let accepted: Accepted;
    try {
      accepted = await this.#store.call('accept', { message, lease: 'no' });
    } catch {
      // One that cannot be stored must not keep those behind it; unless nothing can be.
      await this.#store.call('ping', undefined);
      return false;
    }
    const record = acceptedMessage(message);
    if (record?.kind === 'event') this.#queues.of(message.endpoint).stored(record, 'no', accepted);
    if (record !== undefined) this.#tellConsumer(record, accepted);
    return true;
  }

  #tellConsumer(record: ProvenMessage | DeadLetter, { outcome, deliveryId }: Accepted): void {
    this.#queues.of(record.endpointId).consumer?.onReadBack(record, { outcome, deliveryId });
  }
}
