import type { Connected } from '../connection/connect';
import { HEARTBEAT_INTERVAL, type ClusterMember } from './instance';
import type { InstanceTable } from './instance-table';
import { endsConnection, faultText } from '../connection/fault';
import { Link, type LinkOptions } from '../connection/link';
import { readNotice } from './notice';
import type { Session } from '../session';
import { storedText } from '../calls/stored-text';
import { channelOf, quoted } from '../calls/tables';
import type { SharedStoreEvents } from '../../store/port';

/** Between two looks at what others have left here, in milliseconds. */
const LOOK_EVERY = 1000;
/** So many times as long as counting took, it is left alone. */
const REST = 20;

export type PulseNews = Pick<SharedStoreEvents, 'onStirred' | 'onWaiting' | 'onSlots' | 'onWish'>;

export interface PulseOptions extends Pick<LinkOptions, 'connect'> {
  /** Serves where there is no connection of its own to be had. */
  standIn: Link;
  schema: string;
  instance: ClusterMember;
  table: InstanceTable;
  news: PulseNews;
  onUp: () => void;
  /** Told why this instance cannot show that it lives. */
  onFault: (reason: string) => void;
}

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
  /** Steady time before which events that wait are not counted. */
  #countedUntil = 0;

  constructor(private readonly options: PulseOptions) {
    this.link = new Link({
      connect: options.connect,
      prepare: (connected) => this.#prepare(connected),
      onUp: () => {
        options.onUp();
        this.#look();
      },
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
    const { instance, schema } = this.options;
    session.client.on('notification', ({ payload = '' }) => this.#hear(payload));
    // Behind a pooler others would get what is meant for this one.
    if (!session.isPooled) await session.client.query(`LISTEN ${quoted(channelOf(schema))}`);
    await instance.beat(session);
  }

  /** What this instance has leased waits again, for the others. @throws Error of `pg` */
  standAside(): Promise<void> {
    return this.#use((session) => this.options.instance.standAside(session));
  }

  /** Shows that this instance lives, beside the regular times. */
  beat(): void {
    if (this.#isBeating) return;
    this.#isBeating = true;
    this.#use((session) => this.options.instance.beat(session))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => (this.#isBeating = false));
  }

  #look(): void {
    this.#looksAgain = this.#isLooking;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#use((session) => this.#lookAround(session))
      .catch(() => undefined)
      .finally(() => this.#looked());
  }

  async #use(work: (session: Session) => Promise<void>): Promise<void> {
    const link = this.link.session === undefined ? this.options.standIn : this.link;
    const { session } = link;
    if (session !== undefined) await link.use(session, () => work(session));
  }

  /** Without beats nothing is handed over: where the connection is not the reason, somebody should know what is. */
  #failed(error: unknown): void {
    if (!endsConnection(error) && !this.options.instance.mayHandOver())
      this.options.onFault(`its database: ${faultText(error)}`);
  }

  /** What came meanwhile may have been seen, or not. */
  #looked(): void {
    this.#isLooking = false;
    if (this.#looksAgain) this.#look();
  }

  async #lookAround(session: Session): Promise<void> {
    await this.options.instance.look(session);
    await this.#takeWishes(session);
    await this.#count(session);
  }

  async #takeWishes(session: Session): Promise<void> {
    const { table, instance, news } = this.options;
    const wishes = await table.takeWishes(session, instance.epoch);
    for (const { deliveryId, wish } of wishes) news.onWish(deliveryId, wish);
  }

  /** A backlog of hundreds of thousands takes a while to count: then less often. */
  async #count(session: Session): Promise<void> {
    const { table, news } = this.options;
    const begun = performance.now();
    if (begun < this.#countedUntil) return news.onStirred(undefined);
    const waiting = await table.waiting(session);
    const took = performance.now() - begun;
    this.#countedUntil = begun + took + took * REST - LOOK_EVERY;
    news.onWaiting(waiting);
    if (Object.keys(waiting).length > 0) news.onStirred(undefined);
  }

  #hear(payload: string): void {
    const notice = readNotice(payload);
    if ('wishFor' in notice) {
      if (notice.wishFor === this.options.instance.epoch) this.#look();
      return;
    }
    if ('slotsOf' in notice) {
      if (notice.by !== this.options.instance.epoch) this.options.news.onSlots(storedText(notice.slotsOf));
      return;
    }
    const { endpoint } = notice;
    this.options.news.onStirred(endpoint === undefined ? undefined : storedText(endpoint));
  }
}
