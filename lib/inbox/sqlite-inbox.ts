import { isEnd } from '../webhook/phase';
import type { Acceptance, DeadLetter, Delivery, Inbox, InboxRecord, ProvenMessage } from './inbox';
import { StoreThread } from './sqlite/store-thread';
import type { Accepted, NewMessage, OpenEvent } from './sqlite/store';

export interface SqliteInboxOptions {
  file: string;
  /** Told what an operator should know; nothing of an event. */
  log?: (line: string) => void;
}

interface Queued {
  message: NewMessage;
  resolve: (accepted: Accepted) => void;
  reject: (error: unknown) => void;
}

/** Events fetched, leased and handed to a consumer in one go. */
const BATCH = 50;
/** Turns of the event loop that a consumer needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;

/**
 * The durable inbox: one SQLite file in a thread of its own. What arrives while a commit is under way goes into the next
 * one together. After a crash each event that was not ended is delivered again, under the same `deliveryId`.
 */
export class SqliteInbox implements Inbox {
  readonly #thread: StoreThread;
  readonly #consumers = new Map<string, Consumer>();
  /** By endpoint: when its last consumer has let go of everything it held. */
  readonly #endings = new Map<string, Promise<void>>();
  #queue: Queued[] = [];
  #committing = false;

  private constructor(
    thread: StoreThread,
    private readonly log: (line: string) => void,
  ) {
    this.#thread = thread;
  }

  /** @throws RvmError STORE_FAILED where the file cannot be opened, or not for this process alone */
  static async open({ file, log = () => undefined }: SqliteInboxOptions): Promise<SqliteInbox> {
    return new SqliteInbox(await StoreThread.open(file), log);
  }

  accept(message: ProvenMessage): Promise<Acceptance> {
    const { event, envelope, kind } = message;
    const { alarmId } = event;
    return this.#store(message, {
      id: envelope.messageId,
      state: kind === 'event' ? 'received' : 'other',
      isEnd: isEnd(event),
      ...(typeof alarmId === 'string' && alarmId !== '' && { alarm: alarmId }),
    });
  }

  acceptDeadLetter(letter: DeadLetter): Promise<Acceptance> {
    // A space cannot begin an id that stands for itself: see `keyOf`.
    const id = letter.messageId ?? ` ${letter.fingerprint}`;
    return this.#store(letter, { id, state: letter.kind === 'stale' ? 'stale' : 'dead', isEnd: false });
  }

  consume(endpointId: string, deliver: (delivery: Delivery) => void): () => void {
    this.#end(endpointId);
    const consumer = new Consumer(this.#thread, endpointId, deliver, this.log);
    this.#consumers.set(endpointId, consumer);
    // What the one before still holds would be taken for lost.
    void this.#endings.get(endpointId)?.then(() => consumer.start());
    if (!this.#endings.has(endpointId)) consumer.start();
    return () => {
      if (this.#consumers.get(endpointId) === consumer) this.#end(endpointId);
    };
  }

  #end(endpointId: string): void {
    const consumer = this.#consumers.get(endpointId);
    if (consumer === undefined) return;
    this.#consumers.delete(endpointId);
    const ending = consumer.stop().finally(() => {
      if (this.#endings.get(endpointId) === ending) this.#endings.delete(endpointId);
    });
    this.#endings.set(endpointId, ending);
  }

  async close(): Promise<void> {
    for (const endpointId of this.#consumers.keys()) this.#end(endpointId);
    await Promise.all(this.#endings.values());
    await this.#thread.close();
  }

  #store(
    record: InboxRecord,
    facts: Pick<NewMessage, 'id' | 'state' | 'isEnd'> & { alarm?: string },
  ): Promise<Accepted> {
    const { body, ...rest } = record;
    const message: NewMessage = {
      ...facts,
      station: record.stationKey,
      fingerprint: record.fingerprint,
      endpoint: record.endpointId,
      received: Date.parse(record.receivedTime),
      record: JSON.stringify(rest),
      bytes: body,
    };
    return new Promise((resolve, reject) => {
      this.#queue.push({ message, resolve, reject });
      void this.#commit();
    });
  }

  /** One commit at a time, of all that waits: a sync to the disk costs the same for one as for a hundred. */
  async #commit(): Promise<void> {
    if (this.#committing) return;
    this.#committing = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      await this.#commitBatch(batch);
    }
    this.#committing = false;
  }

  async #commitBatch(batch: readonly Queued[]): Promise<void> {
    try {
      const accepted = await this.#thread.call(
        'accept',
        batch.map(({ message }) => message),
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = accepted[index];
        if (answer === undefined) reject(new Error('The store gave no answer.'));
        else resolve(answer);
      }
      for (const endpoint of new Set(batch.map(({ message }) => message.endpoint)))
        this.#consumers.get(endpoint)?.look();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Hands the events of one endpoint to its flow, in order of acceptance. */
class Consumer {
  #after = 0;
  #looking: Promise<void> | undefined;
  #again = false;
  #started = false;
  #stopped = false;

  constructor(
    private readonly thread: StoreThread,
    private readonly endpointId: string,
    private readonly deliver: (delivery: Delivery) => void,
    private readonly log: (line: string) => void,
  ) {}

  start(): void {
    this.#started = true;
    this.look();
  }

  /** Delivers nothing more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  /** Looks for events that wait; once more afterwards where it is looking already. */
  look(): void {
    this.#again = true;
    if (!this.#started || this.#looking !== undefined || this.#stopped) return;
    this.#looking = this.#deliverAll()
      .catch((error: unknown) => {
        this.log(`Events wait in the inbox: ${error instanceof Error ? error.message : 'unknown error'}`);
      })
      .finally(() => {
        this.#looking = undefined;
        if (this.#again && !this.#stopped) this.look();
      });
  }

  async #deliverAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const events = await this.thread.call('openEvents', {
        endpoint: this.endpointId,
        after: this.#after,
        limit: BATCH,
      });
      if (events.length === 0) continue;
      await this.#deliverBatch(events);
      this.#again = true;
    }
  }

  /** Leased first: where Node-RED ends from here on, the next delivery counts as a further attempt. */
  async #deliverBatch(events: readonly OpenEvent[]): Promise<void> {
    const deliveryIds = events.map(({ deliveryId }) => deliveryId);
    await this.thread.call('lease', deliveryIds);
    if (this.#stopped) return this.thread.call('release', deliveryIds);
    for (const event of events) {
      this.#hand(event);
      this.#after = event.sequence;
    }
    await turns(TURNS_TO_LEAVE);
    // Better twice than not at all: what may have been lost with its consumer stays open for the next one.
    if (!this.#stopped) await this.thread.call('settle', { deliveryIds, state: 'delivered' });
  }

  #hand({ deliveryId, sequence, attempt, first, ended, record, bytes }: OpenEvent): void {
    try {
      const message: ProvenMessage = { ...JSON.parse(record), body: bytes };
      this.deliver({ deliveryId, sequence, attempt: attempt + 1, first, ended, message });
    } catch {
      this.log(`The consumer of delivery ${deliveryId} failed; the event counts as handled.`);
    }
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
