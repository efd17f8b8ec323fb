import { destroy, type Connected } from './connect';
import { faultText } from './fault';
import { goodbye, isSame, LOST, MOVED, type Link } from './link';
import type { Session } from '../session';

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

/** A connection that is looked after. */
export interface LookedAfter {
  readonly link: Link;
  /** Its name in `pg_stat_activity`. */
  readonly name: string;
  /** Told at each look why it does not answer. */
  readonly onFault?: (reason: string) => void;
}

export interface SilenceOptions {
  /** Makes a connection to ask on. */
  connect: () => Promise<Connected>;
  all: readonly LookedAfter[];
}

/**
 * Looks after connections that owe an answer. One for which the server is at work is kept, however long it takes: while a
 * standby is away each further connection would be one more that waits for it, until the server has none left. One that nobody
 * works for is given up.
 */
export class LinkWatchdog {
  readonly #looks = new Map<Link, number>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(private readonly options: SilenceOptions) {}

  open(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const silent = this.options.all.filter(({ link }) => isSilent(link));
    for (const { link } of this.options.all) if (!isSilent(link)) this.#looks.delete(link);
    if (silent.length === 0 || this.#isLooking) return;
    this.#isLooking = true;
    this.#ask(silent)
      .catch((error: unknown) => this.#told(silent, faultText(error)))
      .finally(() => (this.#isLooking = false));
  }

  /** @throws Error of `pg`, RvmError STORE_FAILED */
  async #ask(silent: readonly LookedAfter[]): Promise<void> {
    const { session, host } = await this.options.connect();
    const late = setTimeout(() => destroy(session), LOOK_EVERY * LOOKS);
    try {
      for (const each of silent) {
        const { host: theirs } = each.link;
        if (theirs === undefined || !isSame(theirs, host)) this.#giveUp(each.link, MOVED);
        else await this.#askAbout(each, session);
      }
    } finally {
      clearTimeout(late);
      await goodbye(session);
    }
  }

  async #askAbout(each: LookedAfter, { client }: Session): Promise<void> {
    const { rows } = await client.query<{ wait_event: string | null }>(AT_WORK, [each.name]);
    const [atWork] = rows;
    if (atWork === undefined) return this.#giveUp(each.link, LOST);
    this.#looks.delete(each.link);
    this.#told([each], atWork.wait_event === STANDBY ? FOR_STANDBY : BUSY);
  }

  /** Its answer may be on its way still: not at the first look. */
  #giveUp(link: Link, reason: string): void {
    const looks = (this.#looks.get(link) ?? 0) + 1;
    this.#looks.set(link, looks);
    if (looks < LOOKS || !isSilent(link)) return;
    this.#looks.delete(link);
    link.drop(reason);
  }

  #told(silent: readonly LookedAfter[], reason: string): void {
    for (const { link, onFault } of silent) {
      if (!isSilent(link)) continue;
      link.waitsFor(reason);
      if (isSilent(link, TOLD_AFTER)) onFault?.(reason);
    }
  }
}

function isSilent({ silentSince }: Link, ms = SILENT_AFTER): boolean {
  return silentSince !== undefined && performance.now() - silentSince >= ms;
}
