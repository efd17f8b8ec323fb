import type {
  Acceptance,
  Consumer,
  Consumption,
  DeadLetter,
  Inbox,
  InboxState,
  ListedMessage,
  ListQuery,
  ProvenMessage,
  QuarantinedMessage,
  Settlement,
} from './inbox';
import { within } from '../webhook/hold';
import { EventQueue } from './event-queue';
import { SpillFile } from './spill-file';
import type { Accepted, NewMessage, Opened, Quarantined, StoreWarning } from './sqlite/protocol';
import { storeFailed, StoreThread, type StoreNews, type StorePort } from './sqlite/store-thread';
import { acceptedMessage, deliveryOf, listed, newMessage } from './stored-message';

export interface DurableInboxOptions {
  /** The SQLite file. */
  file: string;
  /** Where messages go that the store cannot take; best on another disk. */
  spillFolder: string;
  /** Ages, in milliseconds: how long ids are known at least, and how long bodies are kept. */
  keep: Retention;
  /** Told what an operator should know; nothing of an event. */
  log?: (news: InboxNews) => void;
  /** Time for the store to take a message before it is spilled, in milliseconds. Default 2,000. */
  spillAfter?: number;
  /** Between two looks at a store that fails, in milliseconds. Default 5,000. */
  lookAgain?: number;
  /** The store behind it. Default: the file, in a thread of its own. */
  open?: (news: StoreNews) => StorePort;
}

export interface Retention {
  keys: number;
  bodies: number;
}

export type InboxNews =
  | StoreWarning
  | { kind: 'fault'; reason: string }
  | { kind: 'restored' }
  | { kind: 'spilling' }
  | { kind: 'read-back'; count: number }
  | { kind: 'line'; line: string };

type Lease = ReturnType<EventQueue['lease']>;

/** Between two rounds of removing what is old, in milliseconds; the first comes a minute after the start. */
const TIDY_EVERY = 10 * 60 * 1000;
const TIDY_FIRST = 60 * 1000;
/** Spilled messages stored together. */
const READ_BACK_BATCH = 100;

/**
 * The durable inbox: one SQLite file in a thread of its own, files for what it cannot take, and the queues from which
 * events go to their consumers. After a crash each event that was not settled is delivered again, under the same id.
 */
export class DurableInbox implements Inbox {
  readonly #store: StorePort;
  #spill: SpillFile;
  readonly #formerSpills: SpillFile[] = [];
  readonly #queues = new Map<string, EventQueue>();
  readonly #watchers = new Set<() => void>();
  readonly #log: (news: InboxNews) => void;
  readonly #spillAfter: number;
  readonly #lookAgain: number;
  #keep: Retention;
  #state: InboxState = { durable: undefined };
  #waiting: Record<string, number> = {};
  #isSpilling = false;
  #readingBack: Promise<void> | undefined;
  #tidyTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #quarantineKey: Promise<Uint8Array> | undefined;
  #closed = false;

  constructor(options: DurableInboxOptions) {
    this.#log = options.log ?? (() => undefined);
    this.#spillAfter = options.spillAfter ?? 2000;
    this.#lookAgain = options.lookAgain ?? 5000;
    this.#keep = options.keep;
    this.#spill = new SpillFile(options.spillFolder);
    const news: StoreNews = {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#failed(reason),
      onWarning: (warning) => this.#log(warning),
    };
    this.#store = options.open?.(news) ?? new StoreThread(options.file, news);
    this.#tidyLater(TIDY_FIRST);
  }

  /** Changes how long messages are kept, and where they are spilled. What was spilled elsewhere is read back all the same. */
  configure({ keep, spillFolder }: Pick<DurableInboxOptions, 'keep' | 'spillFolder'>): void {
    this.#keep = keep;
    if (spillFolder === this.#spill.folder) return;
    this.#formerSpills.push(this.#spill);
    this.#spill = new SpillFile(spillFolder);
    this.#isSpilling = true;
    if (this.#state.durable === true) this.#readBack();
  }

  accept(record: ProvenMessage | DeadLetter): Promise<Acceptance> {
    if (record.kind !== 'event') return this.#storeOrSpill(newMessage(record), 'no');
    const queue = this.#queue(record.endpointId);
    const lease = queue.lease();
    return this.#storeOrSpill(newMessage(record), lease, (accepted) => queue.stored(record, lease, accepted));
  }

  consume(consumer: Consumer): Consumption {
    const queue = this.#queue(consumer.endpointId);
    queue.attach(consumer);
    const own = (act: () => void) => (): void => {
      if (queue.consumer === consumer) act();
    };
    return {
      pause: own(() => queue.pause()),
      resume: own(() => queue.resume()),
      end: own(() => queue.detach()),
    };
  }

  async settle(deliveryId: string, settlement: Settlement): Promise<boolean> {
    if (settlement.action === 'done') return this.#finish(deliveryId, 'delivered');
    if (settlement.action === 'reject') return this.#finish(deliveryId, 'dead', settlement.note);
    const holder = this.#holder(deliveryId);
    if (settlement.action === 'retry') await holder?.retry(deliveryId);
    else holder?.extend(deliveryId);
    return (await this.#store.call('stateOf', deliveryId)) !== undefined;
  }

  async list(query: ListQuery): Promise<ListedMessage[]> {
    return (await this.#store.call('list', query)).map(listed);
  }

  quarantine(message: QuarantinedMessage): void {
    this.#store.call('quarantine', quarantinedRow(message)).catch(() => undefined);
  }

  async quarantined(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    const rows = await this.#store.call('quarantined', endpointId);
    return rows.map(quarantinedMessage);
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
    return this.#queues.get(endpointId)?.waiting ?? this.#waiting[endpointId] ?? 0;
  }

  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[] {
    const known = new Set([...Object.keys(this.#waiting), ...this.#queues.keys()]);
    return [...known].filter(
      (endpointId) => this.waiting(endpointId) > 0 && this.#queues.get(endpointId)?.consumer === undefined,
    );
  }

  state(): InboxState {
    return this.#state;
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#tidyTimer);
    clearTimeout(this.#lookTimer);
    for (const queue of this.#queues.values()) queue.detach();
    await this.#readingBack;
    await this.#store.close();
    for (const spill of [...this.#formerSpills, this.#spill]) await spill.close();
  }

  #queue(endpointId: string): EventQueue {
    const known = this.#queues.get(endpointId);
    if (known !== undefined) return known;
    const queue = new EventQueue(
      this.#store,
      endpointId,
      () => this.#tellWatchers(),
      (line) => this.#log({ kind: 'line', line }),
    );
    this.#queues.set(endpointId, queue);
    queue.waiting = this.#waiting[endpointId] ?? 0;
    return queue;
  }

  #holder(deliveryId: string): EventQueue | undefined {
    return [...this.#queues.values()].find((queue) => queue.holds(deliveryId));
  }

  async #finish(deliveryId: string, state: 'delivered' | 'dead', note?: string): Promise<boolean> {
    const finished = await this.#store.call('finish', { deliveryId, state, give: state === 'dead' });
    if (finished === undefined) return false;
    const { was, endpoint, message } = finished;
    if (was !== 'received' && was !== 'leased') return true;
    const queue = this.#queue(endpoint);
    queue.settled(deliveryId, was === 'received');
    const delivery = message && deliveryOf(message);
    if (delivery) queue.consumer?.onDead(delivery, 'rejected', note);
    return true;
  }

  /** `entered` is told what the store did, also where that came too late for the sender. */
  async #storeOrSpill(
    message: NewMessage,
    lease: Lease,
    entered: (accepted: Accepted | undefined) => void = () => undefined,
  ): Promise<Acceptance> {
    const storing = this.#store.call('accept', { message, lease });
    storing.then(entered, () => entered(undefined));
    try {
      const accepted = await within(storing, this.#spillAfter);
      if (accepted !== undefined) {
        this.#works();
        return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
      }
      this.#failed('the disk is too slow');
    } catch (error) {
      if (this.#closed) throw error;
    }
    return this.#spillOver(message);
  }

  async #spillOver(message: NewMessage): Promise<Acceptance> {
    try {
      await this.#spill.append(message);
    } catch (error) {
      throw storeFailed(`${this.#state.fault ?? 'unknown fault'}; neither can it spill: ${reasonOf(error)}`);
    }
    if (!this.#isSpilling) this.#log({ kind: 'spilling' });
    this.#isSpilling = true;
    return { outcome: 'spilled' };
  }

  #opened({ waiting, restored }: Opened): void {
    this.#waiting = waiting;
    if (restored) this.#log({ kind: 'restored' });
    for (const [endpointId, queue] of this.#queues) queue.waiting = waiting[endpointId] ?? 0;
    // Those of an earlier run, too.
    this.#isSpilling = true;
    this.#works();
  }

  #works(): void {
    if (this.#isSpilling) this.#readBack();
    if (this.#state.durable === true) return;
    this.#state = { durable: true };
    this.#tellWatchers();
  }

  #failed(reason: string): void {
    if (this.#state.fault !== reason) this.#log({ kind: 'fault', reason });
    this.#state = { durable: false, fault: reason };
    this.#tellWatchers();
    this.#lookLater();
  }

  /** While it fails, nobody may ask anything of it. */
  #lookLater(): void {
    clearTimeout(this.#lookTimer);
    if (this.#closed) return;
    this.#lookTimer = setTimeout(() => {
      this.#store.call('ping', undefined).then(
        () => this.#works(),
        () => this.#lookLater(),
      );
    }, this.#lookAgain);
    this.#lookTimer.unref();
  }

  #readBack(): void {
    this.#readingBack ??= this.#readAllBack()
      .catch((error: unknown) => this.#failed(reasonOf(error)))
      .finally(() => {
        this.#readingBack = undefined;
        // What was spilled meanwhile.
        if (this.#isSpilling && this.#state.durable === true) this.#readBack();
      });
  }

  async #readAllBack(): Promise<void> {
    let count = 0;
    this.#isSpilling = false;
    try {
      for (const spill of [...this.#formerSpills, this.#spill])
        await spill.readBack(async (messages) => {
          count += messages.length;
          return this.#storeAllAgain(messages);
        });
    } catch (error) {
      this.#isSpilling = true;
      throw error;
    }
    if (count > 0) this.#log({ kind: 'read-back', count });
  }

  /** False where some were refused by a store that works. */
  async #storeAllAgain(messages: readonly NewMessage[]): Promise<boolean> {
    const stored: boolean[] = [];
    for (let at = 0; at < messages.length; at += READ_BACK_BATCH) {
      const batch = messages.slice(at, at + READ_BACK_BATCH);
      stored.push(...(await Promise.all(batch.map((message) => this.#storeAgain(message)))));
    }
    return stored.every(Boolean);
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
    const { outcome, deliveryId } = accepted;
    const record = acceptedMessage(message);
    const queue = this.#queue(message.endpoint);
    if (record?.kind === 'event') queue.stored(record, 'no', accepted);
    if (record !== undefined) queue.consumer?.onReadBack(record, { outcome, deliveryId });
    return true;
  }

  #tidyLater(pause: number): void {
    if (this.#closed) return;
    this.#tidyTimer = setTimeout(() => {
      this.#store.call('tidy', this.#keep).then(
        (more) => this.#tidyLater(more ? 0 : TIDY_EVERY),
        () => this.#tidyLater(TIDY_EVERY),
      );
    }, pause);
    this.#tidyTimer.unref();
  }

  #tellWatchers(): void {
    for (const changed of this.#watchers) changed();
  }
}

type QuarantinedFacts = Pick<
  QuarantinedMessage,
  'receivedTime' | 'remoteAddress' | 'authorization' | 'tokenDigest'
>;

function quarantinedRow({ endpointId, body, ...facts }: QuarantinedMessage): Quarantined {
  return {
    endpoint: endpointId,
    address: facts.remoteAddress ?? '',
    facts: JSON.stringify(facts satisfies QuarantinedFacts),
    bytes: new Uint8Array(body),
  };
}

function quarantinedMessage({
  id,
  endpoint,
  facts,
  bytes,
}: Quarantined & { id: number }): QuarantinedMessage & { id: number } {
  return { ...(JSON.parse(facts) as QuarantinedFacts), id, endpointId: endpoint, body: bytes };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown fault';
}
