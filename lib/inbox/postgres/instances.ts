import { randomUUID } from 'node:crypto';
import { PEER_TIMEOUT } from '../model';
import type { LeaseRequest, SharedStoreEvents } from '../store/port';
import { countsBy, readerOf, type Row } from '../store/stored-row';
import type { Connected } from './connect';
import { cutOffNotedSql, WAITS_AGAIN } from './event-plans';
import type { Link, Links } from './link';
import { endsConnection, faultText, type Question, type Session } from './session';
import { channelOf, NO_GHOST, quoted, SLOTS, storedText, tablesOf, WISH } from './tables';

/** Between two looks at what others have left here, in milliseconds. */
const LOOK_EVERY = 1000;
/** So many times as long as counting took, it is left alone. */
const REST = 20;

/**
 * The connection on which this instance shows that it lives and learns what others do. It is told of it at once where NOTIFY
 * comes through, and looks every second for it does not always.
 */
export class Heartbeat {
  readonly link: Link;
  #beating: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #isBeating = false;
  #isLooking = false;
  #looksAgain = false;
  /** Monotonic time before which events that wait are not counted. */
  #countedUntil = 0;

  /**
   * @param standIn serves where there is no connection of its own to be had
   * @param onFault told why this instance cannot show that it lives
   */
  constructor(
    private readonly links: Links,
    private readonly instance: ClusterMember,
    private readonly standIn: Link,
    private readonly news: Pick<SharedStoreEvents, 'onStirred' | 'onWaiting' | 'onSlots' | 'onWish'>,
    private readonly onFault: (reason: string) => void,
  ) {
    this.link = links.add('pulse', {
      prepare: (connected) => this.#prepare(connected),
      onUp: () => this.#look(),
    });
  }

  open(): void {
    this.#beating = setInterval(() => this.beat(), HEARTBEAT_INTERVAL).unref();
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY).unref();
    this.link.open();
  }

  async close(): Promise<void> {
    clearInterval(this.#beating);
    clearInterval(this.#looking);
    await this.link.close();
  }

  async #prepare({ session }: Connected): Promise<void> {
    session.client.on('notification', ({ payload = '' }) => this.#hear(payload));
    // Behind a pooler others would get what is meant for this one.
    if (!session.isPooled)
      await session.client.query(`LISTEN ${quoted(channelOf(this.links.settings.schema))}`);
    await this.instance.beat(session);
  }

  /** What this instance has leased waits again, for the others. @throws Error of `pg` */
  standAside(): Promise<void> {
    return this.#use((session) => this.instance.standAside(session));
  }

  /** Shows that this instance lives, beside the regular times. */
  beat(): void {
    if (this.#isBeating) return;
    this.#isBeating = true;
    this.#use((session) => this.instance.beat(session))
      .catch((error: unknown) => {
        // Without beats nothing is handed over: where the connection is not the reason, somebody should know what is.
        if (!endsConnection(error) && !this.instance.isLeaseSafe())
          this.onFault(`its database: ${faultText(error)}`);
      })
      .finally(() => (this.#isBeating = false));
  }

  #look(): void {
    this.#looksAgain = this.#isLooking;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#use((session) => this.#lookAround(session))
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false;
        // What came meanwhile may have been seen, or not.
        if (this.#looksAgain) this.#look();
      });
  }

  async #use(work: (session: Session) => Promise<void>): Promise<void> {
    const link = this.link.session === undefined ? this.standIn : this.link;
    const { session } = link;
    if (session !== undefined) await link.use(session, () => work(session));
  }

  async #lookAround(session: Session): Promise<void> {
    await this.instance.look(session);
    const wishes = await this.instance.takeWishes(session);
    for (const { deliveryId, wish } of wishes) this.news.onWish(deliveryId, wish);
    await this.#count(session);
  }

  /** A backlog of hundreds of thousands takes a while to count: then less often. */
  async #count(session: Session): Promise<void> {
    const begun = performance.now();
    if (begun < this.#countedUntil) return this.news.onStirred(undefined);
    const waiting = await this.instance.waiting(session);
    const took = performance.now() - begun;
    this.#countedUntil = begun + took + took * REST - LOOK_EVERY;
    this.news.onWaiting(waiting);
    if (Object.keys(waiting).length > 0) this.news.onStirred(undefined);
  }

  /** @param payload as `channelOf` has it; an endpoint is empty where something may wait at any */
  #hear(payload: string): void {
    const { instance, news } = this;
    if (payload.startsWith(SLOTS)) {
      const told = payload.slice(SLOTS.length);
      const [by = ''] = told.split(' ', 1);
      if (by !== instance.epoch) news.onSlots(storedText(told.slice(by.length + 1)));
    } else if (payload.startsWith(WISH)) {
      if (payload.slice(WISH.length) === instance.epoch) this.#look();
    } else news.onStirred(payload === '' ? undefined : storedText(payload));
  }
}

/** Another instance, as its row has it. */
interface PeerInstance {
  epoch: string;
  /** For people. */
  name: string;
  /** How often it has beaten: text, for it is only compared. */
  beats: string;
  /** Milliseconds without a beat after which it may be taken for dead. */
  ttl: number;
  /** Milliseconds since its last beat by the clock of the database. */
  sinceBeat: number;
}

const peerIn = readerOf<PeerInstance>({
  epoch: String,
  name: String,
  beats: String,
  ttl: Number,
  sinceBeat: Number,
});

/**
 * Finds out which of the others are dead: those that did not beat for their time to live while this instance, without a gap,
 * did. After an outage of the database nobody has beaten, and the first one back must not take all others for dead.
 */
class PeerMonitor {
  /** By epoch: how often it had beaten, and the monotonic time at which this count was known first, in milliseconds. */
  #sights = new Map<string, { beats: string; since: number }>();
  #answered = -Infinity;

  /** @param longestGap between two of one's own beats, in milliseconds: after a longer one nothing counts that was seen before */
  constructor(private readonly longestGap: number) {}

  /**
   * @param asked monotonic time at which the rows were asked for, in milliseconds
   * @param answered and at which they came
   * @returns those that are dead
   */
  look(rows: readonly PeerInstance[], asked: number, answered: number): PeerInstance[] {
    const former = asked - this.#answered > this.longestGap ? undefined : this.#sights;
    this.#answered = answered;
    // Those that are gone are forgotten.
    this.#sights = new Map();
    return rows.filter(({ epoch, beats, ttl, sinceBeat }) => {
      const known = former?.get(epoch);
      const sight = known?.beats === beats ? known : { beats, since: answered };
      this.#sights.set(epoch, sight);
      // The interval is taken as short as it can have been: from the answer that showed it first to the question now. A beat of
      // the future is from before the clock of the database was set back: that clock can say nothing then.
      return asked - sight.since >= ttl && (sinceBeat > ttl || sinceBeat < 0);
    });
  }
}

/**
 * Nothing here is waited for, or beats would stay away: no standby, for what is lost in a takeover is found out and done again;
 * and no lock, which others may hold for as long as they wait for a standby.
 */
const LOCAL = `SELECT set_config('synchronous_commit', 'local', true), set_config('lock_timeout', '500ms', true), ${NO_GHOST}`;

function statementsOf(schema: string) {
  const tables = tablesOf(schema);
  const { instance, work, wish, stir } = tables;
  const orphaned = `state = 'leased' AND NOT EXISTS (SELECT 1 FROM ${instance} AS i WHERE i.epoch = holder)`;
  return {
    // Once more where the answer to the first was lost.
    begin: `INSERT INTO ${instance} AS i (epoch, name, begun, beat, beats, ttl_ms)
      VALUES ($1, $2, clock_timestamp(), clock_timestamp(), 0, $3)
      ON CONFLICT (epoch) DO UPDATE SET beat = clock_timestamp(), beats = i.beats + 1`,
    beat: `UPDATE ${instance} SET beat = clock_timestamp(), beats = beats + 1 WHERE epoch = $1 RETURNING 1`,
    others: `SELECT epoch, name, beats, ttl_ms AS ttl,
        extract(epoch FROM clock_timestamp() - beat) * 1000 AS "sinceBeat"
      FROM ${instance} WHERE epoch <> $1`,
    orphans: `SELECT DISTINCT holder FROM ${work} WHERE ${orphaned}`,
    remove: `DELETE FROM ${instance} WHERE epoch = $1 AND beats = $2
      AND (beat < clock_timestamp() - ttl_ms * interval '1 millisecond' OR beat > clock_timestamp()) RETURNING 1`,
    leave: `DELETE FROM ${instance} WHERE epoch = $1`,
    forget: `DELETE FROM ${wish} WHERE holder = $1 AND NOT EXISTS (SELECT 1 FROM ${instance} AS i WHERE i.epoch = $1)`,
    // Holders are named: what one that is not seen yet leases meanwhile stays its own.
    reclaim: `WITH back AS (
        UPDATE ${work} AS work SET ${WAITS_AGAIN} WHERE holder = ANY ($1::uuid[]) AND ${orphaned} RETURNING endpoint, sequence, attempt, again),
      ${cutOffNotedSql(tables, 'back', '$2')},
      told AS (SELECT ${stir('endpoint')} FROM (SELECT DISTINCT endpoint FROM back) AS endpoints)
      SELECT (SELECT count(*) FROM back) AS count, (SELECT count(*) FROM told) AS endpoints`,
    wishes: `SELECT 1 FROM ${wish} WHERE holder = $1 LIMIT 1`,
    takeWishes: `DELETE FROM ${wish} WHERE holder = $1 RETURNING number, delivery_id, wish`,
    waiting: `SELECT endpoint, count(*) AS count FROM ${work} WHERE state = 'received' GROUP BY endpoint`,
  };
}

/** Between two beats, in milliseconds. */
const HEARTBEAT_INTERVAL = 2500;
/** Share of it after which nothing is handed over any more. */
const FENCED_AFTER = 0.8 * PEER_TIMEOUT;

/** Clocks of this machine, in milliseconds: one that never jumps, and that of the wall. */
export interface Clocks {
  monotonic: () => number;
  wall: () => number;
}

const CLOCKS: Clocks = { monotonic: () => performance.now(), wall: () => Date.now() };

/** By both clocks. */
interface Moment {
  monotonic: number;
  wall: number;
}

/**
 * This instance among those that share the inbox. Its epoch, one for each life of the process, is what its leases are held by;
 * as long as it beats, nobody takes it for dead. All that takes a session throws errors of `pg`.
 */
export class ClusterMember {
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #others = new PeerMonitor(2 * HEARTBEAT_INTERVAL);
  #epoch = randomUUID() as string;
  /** True once the epoch has its row. */
  #hasBegun = false;
  /** When the last beat that was answered was sent; others count from a later moment. */
  #beatenAt: Moment | undefined;
  #epochBegunAt: number;
  #hasEnded = false;
  /** It takes no part for now. */
  #isAside = false;

  /** @param name for people */
  constructor(
    schema: string,
    private readonly name: string,
    private readonly news: Pick<SharedStoreEvents, 'onWarning' | 'onEpochLost' | 'onLeaseSafe'>,
    private readonly clocks = CLOCKS,
  ) {
    this.#statements = statementsOf(schema);
    this.#epochBegunAt = clocks.monotonic();
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** False from the moment on at which others might take this instance for dead. */
  isLeaseSafe(): boolean {
    if (this.#beatenAt === undefined) return false;
    const { monotonic, wall } = this.#now();
    // While a machine sleeps, the monotonic clock may stand still; the other one is right again once it wakes.
    const elapsed = Math.max(monotonic - this.#beatenAt.monotonic, wall - this.#beatenAt.wall);
    return elapsed < FENCED_AFTER;
  }

  /** Shows itself again, by the next beat. */
  takePart(): void {
    this.#isAside = false;
  }

  /** Shows itself no more until `takePart`: what it has leased waits again. The next epoch is another one. */
  async standAside(session: Session): Promise<void> {
    this.#isAside = true;
    const left = this.leave(session);
    this.#renew();
    await left;
  }

  /** Shows itself no more. */
  end(): void {
    this.#hasEnded = true;
  }

  /** What it has leased waits again. */
  async leave(session: Session): Promise<void> {
    await this.#remove(session, this.#epoch, [this.#statements.leave, [this.#epoch]]);
  }

  /** Shows that this instance lives, and begins a new epoch where the former one was taken for dead. */
  async beat(session: Session): Promise<void> {
    if (this.#hasEnded || this.#isAside) return;
    const epoch = this.#epoch;
    const asked = this.#now();
    if (!this.#hasBegun) {
      await locally(session, [this.#statements.begin, [epoch, this.name, PEER_TIMEOUT]]);
      if (epoch !== this.#epoch) return;
      this.#hasBegun = true;
      this.#epochBegunAt = asked.monotonic;
      return this.#beaten(asked);
    }
    const [beaten = []] = await locally(session, [this.#statements.beat, [epoch]]);
    if (this.#hasEnded || epoch !== this.#epoch) return;
    if (beaten.length > 0) return this.#beaten(asked);
    this.#lose();
    return this.beat(session);
  }

  /** Lets the events of others that are dead wait again. More often than they beat, so that it is soon known. */
  async look(session: Session): Promise<void> {
    const { others, orphans, reclaim } = this.#statements;
    const asked = this.clocks.monotonic();
    const [rows, left] = await Promise.all([session.run(others, [this.#epoch]), session.run(orphans)]);
    // One that cannot show itself may be the one that is cut off.
    if (this.isLeaseSafe()) {
      const dead = this.#others.look(rows.map(peerIn), asked, this.clocks.monotonic());
      for (const other of dead) await this.#reap(session, other);
    }
    // Of holders that have no row: they were declared dead while a lease of theirs was under way.
    const holders = left.map((row) => row['holder']);
    if (holders.length > 0) await locally(session, [reclaim, [holders, Date.now()]]);
  }

  /** Takes what others want to be told to this instance. */
  async takeWishes(session: Session): Promise<{ deliveryId: string; wish: LeaseRequest }[]> {
    const { wishes, takeWishes } = this.#statements;
    if ((await session.run(wishes, [this.#epoch])).length === 0) return [];
    const [rows = []] = await locally(session, [takeWishes, [this.#epoch]]);
    const inOrder = rows.toSorted((one, other) => Number(one['number']) - Number(other['number']));
    return inOrder.map((row) => ({
      deliveryId: String(row['delivery_id']),
      wish: row['wish'] as LeaseRequest,
    }));
  }

  /** How many events wait, by endpoint. */
  async waiting(session: Session): Promise<Record<string, number>> {
    return countsBy('endpoint', await session.run(this.#statements.waiting));
  }

  #beaten(asked: Moment): void {
    // Of two beats under way at once the later one counts.
    if (this.#beatenAt !== undefined && this.#beatenAt.monotonic > asked.monotonic) return;
    const wasFenced = !this.isLeaseSafe();
    this.#beatenAt = asked;
    if (wasFenced && this.isLeaseSafe()) this.news.onLeaseSafe();
  }

  #lose(): void {
    const since = this.#beatenAt?.monotonic ?? this.#epochBegunAt;
    this.#renew();
    this.news.onWarning({ kind: 'epoch-lost', stood: this.clocks.monotonic() - since });
    this.news.onEpochLost();
  }

  #renew(): void {
    this.#epoch = randomUUID();
    this.#hasBegun = false;
    this.#beatenAt = undefined;
  }

  /** Declares another one dead, unless it has beaten since, or somebody else was first. */
  async #reap(session: Session, { epoch, beats, name }: PeerInstance): Promise<void> {
    const { remove } = this.#statements;
    const [removed = [], , [reclaimed] = []] = await this.#remove(session, epoch, [remove, [epoch, beats]]);
    if (removed.length === 0) return;
    this.news.onWarning({ kind: 'taken-over', name, count: Number(reclaimed?.['count']) });
  }

  #remove(session: Session, epoch: string, removal: Question): Promise<Row[][]> {
    const { forget, reclaim } = this.#statements;
    return locally(session, removal, [forget, [epoch]], [reclaim, [[epoch], Date.now()]]);
  }

  #now(): Moment {
    return { monotonic: this.clocks.monotonic(), wall: this.clocks.wall() };
  }
}

async function locally(session: Session, ...asked: readonly Question[]): Promise<Row[][]> {
  const [, ...answers] = await session.transaction([[LOCAL, []], ...asked]);
  return answers;
}
