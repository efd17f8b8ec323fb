import { withTimeout } from '../../concurrency/timers';
import { meter } from '../../meter';
import type { SharedCall, SharedStore, SharedStoreEvents, StoreCalls } from '../store/port';
import { BatchQueue, BatchRunner } from './batches';
import type { BatchPlanner } from './call-plans';
import { type Connected, unsafeSettings } from './connect';
import type { ConnectionSettings } from './connection-settings';
import { type Clocks, ClusterMember, Heartbeat } from './instances';
import { Links } from './link';
import { plannerOf } from './inbox-plans';
import { migrate } from './schema';

const TOGETHER = { requests: 500, acceptances: 100, bytes: 8 * 1024 * 1024 };
const ALONE = { requests: 1, acceptances: 1, bytes: 0 };
/** For what was asked before it is closed, and for the whole of closing, in milliseconds. */
const LAST_CALLS = 1000;
const GOODBYE = 2000;

export interface PostgresStoreOptions {
  settings: ConnectionSettings;
  /** Default: those of this machine. */
  clocks?: Clocks;
  /** Milliseconds of a clock that never jumps, by which the inbox ages. Default: that of this machine. */
  monotonic?: () => number;
}

/** An inbox in PostgreSQL, which several instances share. */
export class PostgresStore implements SharedStore {
  readonly #instance: ClusterMember;
  readonly #planner: BatchPlanner;
  readonly #work: BatchQueue;
  readonly #side: BatchQueue;
  readonly #slots: BatchQueue;
  readonly #pulse: Heartbeat;
  readonly #links: Links;
  #waiting: Record<string, number> = {};
  #wasOpen = false;
  #hasSlots = false;
  #takesPart = true;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly options: PostgresStoreOptions,
    private readonly news: SharedStoreEvents,
  ) {
    const { settings, clocks, monotonic = () => performance.now() } = options;
    const instance = new ClusterMember(settings.schema, settings.instanceName, news, clocks);
    this.#instance = instance;
    this.#planner = plannerOf(settings.schema, monotonic);
    const runner = new BatchRunner(this.#planner, () => instance.epoch);
    const links = new Links(settings);
    this.#links = links;
    const onFault = (reason: string): void => this.#failed(reason);
    this.#work = new BatchQueue(links, 'work', {
      runner,
      limits: TOGETHER,
      news,
      prepare: (connected) => this.#prepare(connected),
      onUp: () => this.#opened(),
      onFault,
      onDone: (took) => meter()?.committed('postgres', took / 1000),
    });
    this.#side = new BatchQueue(links, 'side', { runner, limits: ALONE, news });
    this.#slots = new BatchQueue(links, 'slots', { runner, limits: TOGETHER, news });
    this.#pulse = new Heartbeat(links, instance, this.#work.link, news, onFault);
    this.#work.link.open();
  }

  call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry = true,
  ): Promise<StoreCalls[Name]['give']> {
    return this.#queueFor(name).call(name, take, hurry);
  }

  #queueFor(name: SharedCall): BatchQueue {
    const { line } = this.#planner.traits(name);
    if (line === 'side') return this.#side;
    if (line === undefined) return this.#work;
    this.#hasSlots = true;
    this.#openSlots();
    return this.#slots;
  }

  /** From the first call of them on; the tables are made on the first connection. */
  #openSlots(): void {
    if (this.#hasSlots && this.#wasOpen && this.#closing === undefined) this.#slots.link.open();
  }

  isLeaseSafe(): boolean {
    return this.#instance.isLeaseSafe();
  }

  takePart(): void {
    this.#takesPart = true;
    this.#instance.takePart();
    this.#pulse.beat();
  }

  async standAside(): Promise<void> {
    this.#takesPart = false;
    await withTimeout(this.#stepAside(), GOODBYE).catch(() => undefined);
  }

  /** What is leased waits again, for the others. Takes two seconds where the database does not answer. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #stepAside(): Promise<void> {
    // Behind all that was asked before.
    await this.call('ping', undefined);
    if (!this.#takesPart) await this.#pulse.standAside();
  }

  async #close(): Promise<void> {
    this.#links.close();
    await withTimeout(this.#leave(), GOODBYE).catch(() => undefined);
    await Promise.all([this.#work, this.#side, this.#slots, this.#pulse].map((each) => each.close()));
  }

  async #leave(): Promise<void> {
    this.#instance.end();
    const drains = [this.#work, this.#side, this.#slots].map((queue) => queue.drain());
    await withTimeout(Promise.all(drains), LAST_CALLS);
    // Not behind what is under way still.
    const session = this.#pulse.link.session ?? this.#work.link.session;
    if (session !== undefined) await this.#instance.leave(session);
  }

  /** Before anything is asked on a new connection others are shown that this instance lives: it may just have been cut off. */
  async #prepare({ session, facts }: Connected): Promise<void> {
    await migrate(session, this.options.settings.schema);
    if (!this.#wasOpen)
      for (const what of unsafeSettings(facts, this.options.settings))
        this.news.onWarning({ kind: 'unsafe', what });
    await this.#instance.beat(session);
    this.#waiting = await this.#instance.waiting(session);
  }

  #opened(): void {
    if (!this.#wasOpen) {
      this.#pulse.open();
      this.#side.link.open();
    }
    this.#wasOpen = true;
    this.#openSlots();
    this.news.onOpened({ waiting: this.#waiting, restored: false });
  }

  #failed(reason: string): void {
    if (this.#closing === undefined) this.news.onFault(reason);
  }
}
