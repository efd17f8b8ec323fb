import { randomBytes } from 'node:crypto';
import { withTimeout } from '../../concurrency/timers';
import { meter } from '../../meter';
import type { SharedCall, SharedStore, SharedStoreEvents, StoreCalls } from '../store/port';
import { BatchQueue, BatchRunner, type LineOptions } from './batches';
import type { BatchPlanner } from './call-plans';
import { applicationName, connect, type Connected, unsafeSettings } from './connect';
import type { ConnectionSettings } from './connection-settings';
import { type Clocks, ClusterMember, Heartbeat, InstanceTable } from './instances';
import { follow, Link, type LinkOptions, LinkWatchdog, type LookedAfter } from './link';
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
  readonly #table: InstanceTable;
  readonly #instance: ClusterMember;
  readonly #workLink: Link;
  readonly #sideLink: Link;
  readonly #slotLink: Link;
  readonly #pulse: Heartbeat;
  readonly #planner: BatchPlanner;
  readonly #work: BatchQueue;
  readonly #side: BatchQueue;
  readonly #slots: BatchQueue;
  readonly #silence: LinkWatchdog;
  /** Tells the connections of this store from those of another of the same name. */
  readonly #mark = randomBytes(4).toString('hex');
  #waiting: Record<string, number> = {};
  #wasOpen = false;
  #hasSlots = false;
  #isSlotLinkOpen = false;
  #takesPart = true;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly options: PostgresStoreOptions,
    private readonly news: SharedStoreEvents,
  ) {
    const { schema } = options.settings;
    this.#table = new InstanceTable(schema);
    this.#instance = this.#instanceOf();
    this.#workLink = this.#linkOf('work', {
      prepare: (connected) => this.#prepare(connected),
      onUp: () => this.#opened(),
      onFault: (reason) => this.#failed(reason),
    });
    this.#sideLink = this.#otherLink('side', () => this.#side);
    this.#slotLink = this.#otherLink('slots', () => this.#slots);
    this.#pulse = this.#pulseOf();
    const monotonic = options.monotonic ?? (() => performance.now());
    this.#planner = plannerOf(schema, monotonic);
    const runner = new BatchRunner(this.#planner, () => this.#instance.epoch);
    const onDone = (took: number): void => meter()?.committed('postgres', took / 1000);
    this.#work = this.#lineOf({ runner, link: this.#workLink, limits: TOGETHER, onDone });
    this.#side = this.#lineOf({ runner, link: this.#sideLink, limits: ALONE });
    this.#slots = this.#lineOf({ runner, link: this.#slotLink, limits: TOGETHER });
    this.#silence = this.#silenceOf();
    this.#workLink.open();
    this.#silence.open();
  }

  call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry = true,
  ): Promise<StoreCalls[Name]['give']> {
    return this.#lineFor(name).call(name, take, hurry);
  }

  #lineFor(name: SharedCall): BatchQueue {
    const { line } = this.#planner.traits(name);
    if (line === 'side') return this.#side;
    if (line === undefined) return this.#work;
    this.#hasSlots = true;
    this.#openSlotLink();
    return this.#slots;
  }

  /** The tables are made on the first connection. */
  #openSlotLink(): void {
    if (!this.#hasSlots || !this.#wasOpen || this.#isSlotLinkOpen || this.#closing !== undefined) return;
    this.#isSlotLinkOpen = true;
    this.#slotLink.open();
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
    this.#silence.close();
    await withTimeout(this.#leave(), GOODBYE).catch(() => undefined);
    this.#work.close();
    this.#side.close();
    this.#slots.close();
    const links = [this.#workLink, this.#sideLink, this.#slotLink, this.#pulse];
    await Promise.all(links.map((link) => link.close()));
  }

  async #leave(): Promise<void> {
    this.#instance.end();
    const drains = [
      ...(this.#workLink.session === undefined ? [] : [this.#work.drain()]),
      ...(this.#sideLink.session === undefined ? [] : [this.#side.drain()]),
      ...(this.#slotLink.session === undefined ? [] : [this.#slots.drain()]),
    ];
    await withTimeout(Promise.all(drains), LAST_CALLS);
    // Not behind what is under way still.
    const session = this.#pulse.link.session ?? this.#workLink.session;
    if (session !== undefined) await this.#table.leave(session, this.#instance.epoch);
  }

  /** Before anything is asked on a new connection others are shown that this instance lives: it may just have been cut off. */
  async #prepare({ session, facts }: Connected): Promise<void> {
    await migrate(session, this.options.settings.schema);
    if (!this.#wasOpen)
      for (const what of unsafeSettings(facts, this.options.settings))
        this.news.onWarning({ kind: 'unsafe', what });
    await this.#instance.beat(session);
    this.#waiting = await this.#table.waiting(session);
  }

  #opened(): void {
    if (!this.#wasOpen) {
      this.#pulse.open();
      this.#sideLink.open();
    }
    this.#wasOpen = true;
    this.#openSlotLink();
    this.#follow(this.#workLink);
    this.news.onOpened({ waiting: this.#waiting, restored: false });
    this.#work.up();
  }

  #follow(reached: Link): void {
    follow(reached, [this.#workLink, this.#sideLink, this.#slotLink, this.#pulse.link]);
  }

  #instanceOf(): ClusterMember {
    const { settings, clocks } = this.options;
    return new ClusterMember({
      table: this.#table,
      name: settings.instanceName,
      ...(clocks && { clocks }),
      news: {
        onEpochLost: (stood) => {
          this.news.onWarning({ kind: 'epoch-lost', stood });
          this.news.onEpochLost();
        },
        onLeaseSafe: () => this.news.onLeaseSafe(),
        onTakenOver: (name, count) => this.news.onWarning({ kind: 'taken-over', name, count }),
      },
    });
  }

  #linkOf(purpose: string, options: Omit<LinkOptions, 'connect'>): Link {
    return new Link({ ...options, connect: () => this.#connect(purpose) });
  }

  /** Of what is not to keep an event waiting. */
  #otherLink(purpose: string, line: () => BatchQueue): Link {
    const link: Link = this.#linkOf(purpose, {
      prepare: () => Promise.resolve(),
      onUp: () => {
        this.#follow(link);
        line().up();
      },
    });
    return link;
  }

  #pulseOf(): Heartbeat {
    return new Heartbeat({
      schema: this.options.settings.schema,
      instance: this.#instance,
      table: this.#table,
      news: this.news,
      connect: () => this.#connect('pulse'),
      standIn: this.#workLink,
      onUp: () => this.#follow(this.#pulse.link),
      onFault: (reason) => this.#failed(reason),
    });
  }

  #lineOf(options: Pick<LineOptions, 'link' | 'runner' | 'limits' | 'onDone'>): BatchQueue {
    return new BatchQueue({
      ...options,
      onSlow: (batch) => this.news.onSlow(batch),
      epoch: () => this.#instance.epoch,
    });
  }

  #silenceOf(): LinkWatchdog {
    const of = (purpose: string, link: Link): LookedAfter => ({ link, name: this.#nameOf(purpose) });
    return new LinkWatchdog({
      connect: () => this.#connect('probe'),
      all: [
        { ...of('work', this.#workLink), onFault: (reason) => this.#failed(reason) },
        of('side', this.#sideLink),
        of('slots', this.#slotLink),
        of('pulse', this.#pulse.link),
      ],
    });
  }

  #failed(reason: string): void {
    if (this.#closing === undefined) this.news.onFault(reason);
  }

  #connect(purpose: string): Promise<Connected> {
    return connect(this.options.settings, this.#marked(purpose));
  }

  /** As `pg_stat_activity` shows it. */
  #nameOf(purpose: string): string {
    return applicationName(this.#marked(purpose), this.options.settings.instanceName);
  }

  #marked(purpose: string): string {
    return `${purpose} ${this.#mark}`;
  }
}
