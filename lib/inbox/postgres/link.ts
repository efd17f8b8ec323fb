import { randomBytes } from 'node:crypto';
import { storeFailed } from '../store/port';
import { applicationName, connect, type Connected } from './connect';
import type { ConnectionSettings, Host } from './connection-settings';
import { endsConnection, faultText, type Session } from './session';

/** Between two looks at connections that owe an answer, in milliseconds. */
const LOOK_EVERY = 1000;
/** Of owing one, after which a connection is looked at, in milliseconds. */
const SILENT_AFTER = 2000;
/** And after which it is told: who waits for a message has waited as long by then. */
const TOLD_AFTER = 3000;
/** Looks in a row that find nobody at work for a connection: then its answer, or the question, is lost. */
const LOOKS = 2;

const AT_WORK = `SELECT wait_event FROM pg_stat_activity
  WHERE application_name = $1 AND pid <> pg_backend_pid() AND state NOT LIKE 'idle%' LIMIT 1`;
/** The wait of a commit for its synchronous standby. */
const STANDBY = 'SyncRep';

const FOR_STANDBY =
  'the database waits for its synchronous standby: see that the standby runs, or take it out of synchronous_standby_names';
const BUSY = 'the database is busy with what was asked before: see to its load and its disk';

/**
 * The connections of a store. Those that owe an answer are looked after. One for which the server is at work is kept, however
 * long it takes: while a standby is away each further connection would be one more that waits for it, until the server has none
 * left. One that nobody works for is given up.
 */
export class Links {
  readonly #all: Link[] = [];
  readonly #looks = new Map<Link, number>();
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY).unref();
  /** Tells the connections of this store from those of another of the same name. */
  readonly #mark = randomBytes(4).toString('hex');
  #isLooking = false;

  constructor(readonly settings: ConnectionSettings) {}

  /** One more of them, to be opened. @param purpose tells it from the others */
  add(purpose: string, { onUp, ...options }: LinkOptions): Link {
    const link: Link = new Link(this.settings, `${purpose} ${this.#mark}`, {
      ...options,
      onUp: () => {
        this.#follow(link);
        onUp();
      },
    });
    this.#all.push(link);
    return link;
  }

  /** Looks after them no more. */
  close(): void {
    clearInterval(this.#looking);
  }

  /**
   * While one server takes over from another, both may be there to be written for a moment: all connections of an instance lead
   * to the one that was reached last, or what is shown on one of them says nothing of what is done on another.
   */
  #follow({ host }: Link): void {
    if (host === undefined) return;
    for (const link of this.#all) if (link.host !== undefined && !isSame(link.host, host)) link.drop(MOVED);
  }

  #look(): void {
    const silent = this.#all.filter((link) => isSilent(link));
    for (const link of this.#all) if (!isSilent(link)) this.#looks.delete(link);
    if (silent.length === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#ask(silent)
      .catch((error: unknown) => this.#told(silent, faultText(error)))
      .finally(() => (this.#isLooking = false));
  }

  /** @throws Error of `pg`, RvmError STORE_FAILED */
  async #ask(silent: readonly Link[]): Promise<void> {
    const { session, host } = await connect(this.settings, `probe ${this.#mark}`);
    const late = setTimeout(() => session.destroy(), LOOK_EVERY * LOOKS);
    try {
      for (const link of silent) {
        if (link.host === undefined || !isSame(link.host, host)) this.#giveUp(link, MOVED);
        else await this.#askAbout(link, session);
      }
    } finally {
      clearTimeout(late);
      await session.close();
    }
  }

  async #askAbout(link: Link, { client }: Session): Promise<void> {
    const { rows } = await client.query<{ wait_event: string | null }>(AT_WORK, [link.name]);
    const [atWork] = rows;
    if (atWork === undefined) return this.#giveUp(link, LOST);
    this.#looks.delete(link);
    this.#told([link], atWork.wait_event === STANDBY ? FOR_STANDBY : BUSY);
  }

  /** Its answer may be on its way still: not at the first look. */
  #giveUp(link: Link, reason: string): void {
    const looks = (this.#looks.get(link) ?? 0) + 1;
    this.#looks.set(link, looks);
    if (looks < LOOKS || !isSilent(link)) return;
    this.#looks.delete(link);
    link.drop(reason);
  }

  #told(silent: readonly Link[], reason: string): void {
    for (const link of silent) if (isSilent(link)) link.waitsFor(reason, isSilent(link, TOLD_AFTER));
  }
}

function isSilent({ silentSince }: Link, ms = SILENT_AFTER): boolean {
  return silentSince !== undefined && performance.now() - silentSince >= ms;
}

/** Before a connection that could not be had is tried again, in milliseconds: from the first to the longest. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2000;
/** A connection that lasted so long is followed by another one at once, in milliseconds. */
const LASTED = 1000;

const NOT_YET = 'the database has not answered yet';
/** Why a connection is given up that leads to the wrong one of several servers. */
const MOVED = 'another one of the databases can be written now';
const LOST = 'the connection to the database was lost';

export interface LinkOptions {
  /** Makes a new connection ready, before anything else is asked on it. */
  prepare?: (connected: Connected) => Promise<void>;
  onUp: () => void;
  /** Told at each try why there is no connection, and at each look why it does not answer. */
  onFault?: (reason: string) => void;
}

/** One connection that is made again whenever it is lost. */
export class Link {
  #connected: Connected | undefined;
  #isOpen = false;
  #isReady = false;
  #pause = 0;
  /** Monotonic time, in milliseconds. */
  #readyAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #fault = NOT_YET;
  /** Monotonic times of what is under way. */
  readonly #underWay = new Set<{ since: number }>();

  /** @param purpose tells the connections of an instance apart */
  constructor(
    private readonly settings: ConnectionSettings,
    private readonly purpose: string,
    private readonly options: LinkOptions,
  ) {}

  /** As `pg_stat_activity` shows it. */
  get name(): string {
    return applicationName(this.purpose, this.settings.instanceName);
  }

  /** Undefined while there is none that is ready. */
  get session(): Session | undefined {
    return this.#isReady ? this.#connected?.session : undefined;
  }

  /** Why there is no connection, or no answer. */
  get fault(): string {
    return this.#fault;
  }

  /** Where it leads to; undefined while there is no connection. */
  get host(): Host | undefined {
    return this.#connected?.host;
  }

  /** Since when it owes an answer, as a monotonic time in milliseconds; undefined while it owes none. */
  get silentSince(): number | undefined {
    const [oldest] = this.#underWay;
    return this.#connected === undefined ? undefined : oldest?.since;
  }

  /** Once, however often it is told to. */
  open(): void {
    if (!this.#isOpen) void this.#connect();
    this.#isOpen = true;
  }

  /**
   * Does something on a connection; after a fault of the connection itself another one follows.
   * @throws Error of the work
   */
  async use<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
    const underWay = { since: performance.now() };
    this.#underWay.add(underWay);
    try {
      return await work();
    } catch (error) {
      if (endsConnection(error) && this.#connected?.session === session) this.drop(faultText(error));
      throw error;
    } finally {
      this.#underWay.delete(underWay);
    }
  }

  /** Says why it does not answer; the connection stays. @param isTold whether somebody should know */
  waitsFor(reason: string, isTold: boolean): void {
    this.#fault = reason;
    if (isTold) this.options.onFault?.(reason);
  }

  /** Another connection follows. */
  drop(reason: string): void {
    const session = this.#connected?.session;
    if (session === undefined) return;
    this.#fault = reason;
    session.destroy();
    this.#lost(session);
  }

  /** Resolves when it has ended, half a second later at most. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const session = this.#connected?.session;
    if (session === undefined) return;
    await session.close();
    this.#lost(session);
  }

  async #connect(): Promise<void> {
    this.#timer = undefined;
    try {
      const connected = await connect(this.settings, this.purpose);
      if (this.#closed) return connected.session.destroy();
      this.#connected = connected;
      await this.#prepare(connected);
    } catch (error) {
      if (this.#closed) return;
      this.#fault = faultText(error);
      this.options.onFault?.(this.#fault);
      this.#later();
    }
  }

  async #prepare(connected: Connected): Promise<void> {
    const { session } = connected;
    session.client.on('end', () => this.#lost(session));
    session.keepProcess(false);
    try {
      await this.use(session, async () => this.options.prepare?.(connected));
    } catch (error) {
      session.destroy();
      this.#connected = undefined;
      throw error;
    }
    // Lost, or closed, meanwhile.
    if (this.#connected !== connected || this.#closed) throw storeFailed(LOST);
    this.#isReady = true;
    this.#readyAt = performance.now();
    this.#fault = LOST;
    this.options.onUp();
  }

  #lost(session: Session): void {
    if (this.#connected?.session !== session) return;
    this.#connected = undefined;
    if (!this.#isReady) return;
    this.#isReady = false;
    if (this.#closed) return;
    if (performance.now() - this.#readyAt < LASTED) return this.#later();
    this.#pause = 0;
    void this.#connect();
  }

  #later(): void {
    this.#pause = Math.min(LONGEST_PAUSE, Math.max(FIRST_PAUSE, this.#pause * 2));
    this.#timer = setTimeout(() => void this.#connect(), this.#pause);
    this.#timer.unref();
  }
}

function isSame(one: Host, other: Host): boolean {
  return one.name === other.name && one.port === other.port;
}
