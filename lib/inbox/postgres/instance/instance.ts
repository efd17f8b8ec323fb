import { randomUUID } from 'node:crypto';
import type { InstanceTable } from './instance-table';
import { PeerMonitor, type PeerInstance } from './others';
import type { Session } from '../session';
import { PEER_TIMEOUT } from './time-to-live';

/** Between two beats, in milliseconds. */
export const HEARTBEAT_INTERVAL = 2500;
/** Share of it after which nothing is handed over any more. */
const FENCED_AFTER = 0.8 * PEER_TIMEOUT;

/** Clocks of this machine, in milliseconds: one that never jumps, and that of the wall. */
export interface Clocks {
  steady: () => number;
  wall: () => number;
}

export interface InstanceNews {
  /** All that was leased is lost. @param stood milliseconds since the last beat that was answered */
  onEpochLost: (stood: number) => void;
  onMayHandOver: () => void;
  /** So many events of an instance that is dead wait again. */
  onTakenOver: (name: string, count: number) => void;
}

export interface InstanceOptions {
  table: InstanceTable;
  /** For people. */
  name: string;
  news: InstanceNews;
  clocks?: Clocks;
}

/**
 * This instance among those that share the inbox. Its epoch, one for each life of the process, is what its leases are held by;
 * as long as it beats, nobody takes it for dead.
 */
export class ClusterMember {
  readonly #clocks: Clocks;
  readonly #others = new PeerMonitor(2 * HEARTBEAT_INTERVAL);
  #epoch = randomUUID() as string;
  /** True once the epoch has its row. */
  #hasBegun = false;
  /** When the last beat that was answered was sent; others count from a later moment. */
  #beatenAt: { steady: number; wall: number } | undefined;
  #epochBegunAt: number;
  #hasEnded = false;
  /** It takes no part for now. */
  #isAside = false;

  constructor(private readonly options: InstanceOptions) {
    this.#clocks = options.clocks ?? { steady: () => performance.now(), wall: () => Date.now() };
    this.#epochBegunAt = this.#clocks.steady();
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** False from the moment on at which others might take this instance for dead. */
  mayHandOver(): boolean {
    if (this.#beatenAt === undefined) return false;
    const { steady, wall } = this.#now();
    // While a machine sleeps, the steady clock may stand still; the other one is right again once it wakes.
    const elapsed = Math.max(steady - this.#beatenAt.steady, wall - this.#beatenAt.wall);
    return elapsed < FENCED_AFTER;
  }

  /** Shows itself again, by the next beat. */
  takePart(): void {
    this.#isAside = false;
  }

  /**
   * Shows itself no more until `takePart`: what it has leased waits again. The next epoch is another one.
   * @throws Error of `pg`
   */
  async standAside(session: Session): Promise<void> {
    const epoch = this.#epoch;
    this.#isAside = true;
    this.#renew();
    await this.options.table.leave(session, epoch);
  }

  /** Shows itself no more. */
  end(): void {
    this.#hasEnded = true;
  }

  /**
   * Shows that this instance lives, and begins a new epoch where the former one was taken for dead.
   * @throws Error of `pg`
   */
  async beat(session: Session): Promise<void> {
    if (this.#hasEnded || this.#isAside) return;
    const epoch = this.#epoch;
    const asked = this.#now();
    if (!this.#hasBegun) {
      await this.#begin(session, epoch, asked);
      return;
    }
    const isAlive = await this.options.table.beat(session, epoch);
    if (this.#hasEnded || epoch !== this.#epoch) return;
    if (!isAlive) {
      this.#lose();
      return this.beat(session);
    }
    this.#beaten(asked);
  }

  /**
   * Lets the events of others that are dead wait again. More often than they beat, so that it is soon known.
   * @throws Error of `pg`
   */
  async look(session: Session): Promise<void> {
    const asked = this.#clocks.steady();
    const { others, orphans } = await this.options.table.neighbours(session, this.#epoch);
    // One that cannot show itself may be the one that is cut off.
    const dead = this.mayHandOver() ? this.#others.look(others, asked, this.#clocks.steady()) : [];
    for (const other of dead) await this.#reap(session, other);
    if (orphans.length > 0) await this.options.table.reclaim(session, orphans);
  }

  async #begin(session: Session, epoch: string, asked: { steady: number; wall: number }): Promise<void> {
    await this.options.table.begin(session, epoch, { name: this.options.name, ttl: PEER_TIMEOUT });
    if (epoch !== this.#epoch) return;
    this.#hasBegun = true;
    this.#epochBegunAt = asked.steady;
    this.#beaten(asked);
  }

  #beaten(asked: { steady: number; wall: number }): void {
    // Of two beats under way at once the later one counts.
    if (this.#beatenAt !== undefined && this.#beatenAt.steady > asked.steady) return;
    const wasFenced = !this.mayHandOver();
    this.#beatenAt = asked;
    if (wasFenced && this.mayHandOver()) this.options.news.onMayHandOver();
  }

  #lose(): void {
    const since = this.#beatenAt?.steady ?? this.#epochBegunAt;
    this.#renew();
    this.options.news.onEpochLost(this.#clocks.steady() - since);
  }

  #renew(): void {
    this.#epoch = randomUUID();
    this.#hasBegun = false;
    this.#beatenAt = undefined;
  }

  async #reap(session: Session, other: PeerInstance): Promise<void> {
    const count = await this.options.table.reap(session, other);
    if (count !== undefined) this.options.news.onTakenOver(other.name, count);
  }

  #now(): { steady: number; wall: number } {
    return { steady: this.#clocks.steady(), wall: this.#clocks.wall() };
  }
}
