import { writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { withTimeout } from '../../../lib/concurrency/timers';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { Delivery } from '../../../lib/inbox/model';
import { StoreThread } from '../../../lib/inbox/sqlite/store-thread';
import { storeFailed, type StorePort } from '../../../lib/inbox/store/port';
import { DAY, proven, Taker } from '../../inbox/samples';

/** What a process that is to be killed has to do. */
export interface Orders {
  folder: string;
  handledWhen: 'sent' | 'settled';
  /** False = nothing fails, and it ends by itself when all has come to its end. */
  isBroken: boolean;
  /** Of the messages to send. */
  numbers: number[];
}

/** What the store is like: `readable` cannot be written, `hangs` answers when that is over. */
const FAULTS = ['fails', 'readable', 'hangs'] as const;
type Fault = (typeof FAULTS)[number] | 'none';

/** Said of a spare: what the flow has of it may come again, and others of its alarm before. */
const GIVEN_UP = /not settled come again/;
const ALARMS = 1000;
const LANES = 64;
const KEEP = { keys: 7 * DAY, bodies: 30 * DAY };

export function alarmOf(number: number): string {
  return `alarm ${number % ALARMS}`;
}

/** On the way to the parent when this returns, whatever becomes of this process. */
function say(...words: (string | number)[]): void {
  writeSync(3, `${words.join(' ')}\n`);
}

/** Stores that are real, and fail all at once as the moment has it. */
class Breaker {
  #fault: Fault = 'none';
  #over: Promise<void> = Promise.resolve();
  #end: () => void = () => undefined;

  set(fault: Fault): void {
    this.#end();
    this.#fault = fault;
    if (fault === 'hangs') this.#over = new Promise((resolve) => (this.#end = resolve));
  }

  over(inner: StorePort): StorePort {
    return {
      close: () => inner.close(),
      call: (name, take, hurry) => {
        if (this.#fault === 'hangs') return this.#over.then(() => inner.call(name, take, hurry));
        const isRead = name === 'look' || name === 'list';
        if (this.#fault === 'fails' || (this.#fault === 'readable' && !isRead))
          return Promise.reject(storeFailed('the disk is gone'));
        // Where the parent kills it during a drain.
        if (name === 'bring') say('B');
        return inner.call(name, take, hurry);
      },
    };
  }
}

class KilledInbox {
  readonly #threads = new Set<Worker>();
  readonly #main = new Breaker();
  readonly #spare = new Breaker();
  readonly #inbox: DurableInbox;
  readonly #spill: string;
  /** No file can be written where the way leads through a file: not that of the inbox, which may not be there yet. */
  readonly #noSpill: string;
  /** Numbers of those with the flow, by delivery id. */
  readonly #atFlow = new Map<string, number>();

  constructor(private readonly orders: Orders) {
    process.on('worker', (worker) => {
      this.#threads.add(worker);
      worker.on('exit', () => this.#threads.delete(worker));
    });
    const file = path.join(orders.folder, 'inbox.sqlite');
    this.#spill = path.join(orders.folder, 'spill');
    this.#noSpill = path.join(orders.folder, 'a-file', 'spill');
    writeFileSync(path.dirname(this.#noSpill), '');
    if (orders.isBroken) this.#change();
    this.#inbox = new DurableInbox({
      file,
      spillFolder: this.#spill,
      keep: KEEP,
      timeoutMs: 200,
      lookAgain: 20,
      log: (news) => {
        if (news.kind === 'line' && GIVEN_UP.test(news.line)) this.#giveUp();
      },
      open: (news) => this.#main.over(new StoreThread(file, news)),
      openSpare: (spare, news) => this.#spare.over(new StoreThread(spare, news, { isSpare: true })),
    });
    void new Taker(this.#inbox, {
      handledWhen: orders.handledWhen,
      redeliverAfter: 1_000_000,
      maxAttempts: 1000,
      maxInFlight: 300,
      deliver: (delivery) => this.#deliver(delivery),
    });
  }

  async run(): Promise<void> {
    say('U');
    if (this.orders.isBroken) void this.#breakOn();
    const numbers = [...this.orders.numbers];
    const lane = async (): Promise<void> => {
      for (let number = numbers.shift(); number !== undefined; number = numbers.shift())
        await this.#send(number);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    if (this.orders.isBroken) return;
    while (!(await this.#isOver())) await delay(50);
    await this.#inbox.close();
    say('E');
    process.disconnect();
  }

  async #breakOn(): Promise<void> {
    for (;;) {
      await delay(30 + Math.random() * 200);
      this.#change();
      // A real end of a thread: nobody hears what it has done last.
      if (Math.random() < 0.05)
        await [...this.#threads][Math.floor(Math.random() * this.#threads.size)]?.terminate();
      const spillFolder = Math.random() < 0.15 ? this.#noSpill : this.#spill;
      this.#inbox.configure({ keep: KEEP, spillFolder });
    }
  }

  #change(): void {
    const other = (): Fault => FAULTS[Math.floor(Math.random() * FAULTS.length)] ?? 'fails';
    this.#main.set(Math.random() < 0.5 ? other() : 'none');
    this.#spare.set(Math.random() < 0.15 ? other() : 'none');
  }

  /** As the service does: what is not acknowledged in time is sent again. */
  async #send(number: number): Promise<void> {
    const messageId = String(number);
    const payload = { alarmId: alarmOf(number), eventStartTime: '2026-03-04T05:06:07' };
    for (;;) {
      const accepting = this.#inbox.accept(proven(payload, { messageId })).then(
        () => true,
        () => false,
      );
      const isAccepted = await withTimeout(accepting, 1000);
      if (isAccepted === true) return say('A', number);
      if (isAccepted === false) say('R', number);
      await delay(Math.random() * 50);
    }
  }

  #deliver({ message, attempt, again, deliveryId }: Delivery): boolean {
    const number = Number(message.envelope.messageId);
    say('D', number, deliveryId, attempt, again ?? '-', message.warnings.join('+') || '-');
    this.#atFlow.set(deliveryId, number);
    if (this.orders.handledWhen === 'settled')
      setTimeout(() => void this.#settle(number, deliveryId), Math.random() * 10);
    return true;
  }

  async #settle(number: number, deliveryId: string): Promise<void> {
    const dice = this.orders.isBroken ? Math.random() : 1;
    // The flow keeps it until the process ends.
    if (dice < 0.001) return;
    const action = dice < 0.004 ? 'retry' : 'done';
    if (action === 'retry') this.#leaves(number, deliveryId);
    for (;;) {
      const isKnown = await this.#inbox.settle(deliveryId, { action }).catch(() => undefined);
      if (isKnown === false) say('X', number);
      if (isKnown === undefined) {
        await delay(20);
        continue;
      }
      if (action === 'done') this.#leaves(number, deliveryId);
      return;
    }
  }

  #leaves(number: number, deliveryId: string): void {
    this.#atFlow.delete(deliveryId);
    say('S', number);
  }

  /** What a spare has that fails for long is with the flow no more: it comes again. */
  #giveUp(): void {
    say('G');
    for (const [deliveryId, number] of this.#atFlow)
      if (this.#inbox.leaseOf(deliveryId) === undefined) this.#leaves(number, deliveryId);
  }

  async #isOver(): Promise<boolean> {
    const { messages, fault } = await this.#inbox.list({ state: 'open', limit: 1 });
    const { durable, spilled } = this.#inbox.state();
    return durable === true && spilled === undefined && fault === undefined && messages.length === 0;
  }
}

if (require.main === module) process.once('message', (orders: Orders) => void new KilledInbox(orders).run());
