import { forEachTimeSliced } from '../concurrency/iteration';
import { eventRow, isDeadState, listed, pagesOf } from './store/stored-message';
import { cutText, type Verdict, type TallyQuery, type TallyRow } from './model';
import type { PageQuery, StoredMessage } from './store/port';

const HOUR = 3_600_000;
/** Characters of the name of a group: all that are counted are held in memory. */
const LONGEST_NAME = 200;

/** @param read asks the store */
export async function tallyOf(
  read: (query: PageQuery) => Promise<StoredMessage[]>,
  query: TallyQuery,
): Promise<TallyRow[]> {
  const { by, since = 0, until = Number.MAX_SAFE_INTEGER, state = 'all', limit, ...places } = query;
  const tally = new Tally(by);
  const of = { state, since, until, ...places };
  for await (const page of pagesOf(read, { ...of, bodies: by !== 'hour', steps: false }))
    await forEachTimeSliced(page, (message) => tally.add(message));
  return orderedRows(tally.rows(), { by, limit });
}

/** Of several inboxes: an alarm that is in two of them counts in each. */
export function mergedRows(rows: readonly TallyRow[], query: Pick<TallyQuery, 'by' | 'limit'>): TallyRow[] {
  const merged = new Map<string | null, TallyRow>();
  for (const row of rows) {
    const known = merged.get(row.group);
    merged.set(row.group, known === undefined ? row : sumOf(known, row));
  }
  return orderedRows([...merged.values()], query);
}

/** Hours with the newest first, others with the most events first. */
function orderedRows(rows: TallyRow[], { by, limit }: Pick<TallyQuery, 'by' | 'limit'>): TallyRow[] {
  const compare = (one: TallyRow, other: TallyRow): number =>
    by === 'hour' ? compareNames(other, one) : other.events - one.events || compareNames(one, other);
  return rows.sort(compare).slice(0, limit);
}

function compareNames({ group: one }: TallyRow, { group: other }: TallyRow): number {
  return (one ?? '').localeCompare(other ?? '');
}

function sumOf(one: TallyRow, other: TallyRow): TallyRow {
  return {
    group: one.group,
    events: one.events + other.events,
    alarms: one.alarms + other.alarms,
    settled: one.settled + other.settled,
    real: one.real + other.real,
    false: one.false + other.false,
    dead: one.dead + other.dead,
    filtered: one.filtered + other.filtered,
    secondsToSettle: meanOf([one, other]),
  };
}

function meanOf(rows: readonly TallyRow[]): number | null {
  const timed = rows.filter(({ secondsToSettle }) => secondsToSettle !== null);
  const settled = timed.reduce((sum, row) => sum + row.settled, 0);
  const seconds = timed.reduce((sum, row) => sum + (row.secondsToSettle ?? 0) * row.settled, 0);
  return settled === 0 ? null : rounded(seconds / settled);
}

/** To the millisecond. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

interface Group {
  events: number;
  settled: number;
  dead: number;
  filtered: number;
  /** Settled ones whose time of that is known, and the seconds that it took all of them. */
  timed: number;
  seconds: number;
  /** Numbers of alarms. */
  alarms: Set<number>;
}

/** Counts the messages of one inbox. */
class Tally {
  readonly #groups = new Map<string | null, Group>();
  /** Numbers of alarms by their names; and what was found of them last. */
  readonly #alarms = new Map<string, number>();
  readonly #verdicts = new Map<number, { verdict: Verdict; time: number }>();

  constructor(private readonly by: TallyQuery['by']) {}

  add(message: StoredMessage): void {
    // An unknown kind of message, or a self-test.
    if (message.state === 'other') return;
    const group = this.#groupOf(message);
    group.events += 1;
    if (isDeadState(message.state)) group.dead += 1;
    if (message.state === 'filtered') group.filtered += 1;
    if (message.state === 'delivered') this.#addSettled(group, message);
    const { alarm, rank } = message;
    if (alarm !== undefined && rank !== HEALTH) this.#addAlarm(group, alarm, message);
  }

  rows(): TallyRow[] {
    return [...this.#groups].map(([group, { events, settled, dead, filtered, timed, seconds, alarms }]) => {
      const verdicts = [...alarms].map((alarm) => this.#verdicts.get(alarm)?.verdict);
      return {
        group,
        events,
        alarms: alarms.size,
        settled,
        real: verdicts.filter((verdict) => verdict === 'real').length,
        false: verdicts.filter((verdict) => verdict === 'false').length,
        dead,
        filtered,
        secondsToSettle: timed === 0 ? null : rounded(seconds / timed),
      };
    });
  }

  #groupOf(message: StoredMessage): Group {
    const name = this.#nameOf(message);
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const group = {
      events: 0,
      settled: 0,
      dead: 0,
      filtered: 0,
      timed: 0,
      seconds: 0,
      alarms: new Set<number>(),
    };
    this.#groups.set(name, group);
    return group;
  }

  #nameOf(message: StoredMessage): string | null {
    if (this.by !== 'hour') {
      const name = eventRow(listed(message))[this.by];
      return name === null ? null : cutText(name, LONGEST_NAME);
    }
    return new Date(Math.floor(message.received / HOUR) * HOUR).toISOString();
  }

  #addSettled(group: Group, { received, course }: StoredMessage): void {
    group.settled += 1;
    if (course?.settled === undefined) return;
    group.timed += 1;
    // The clocks of two instances may differ.
    group.seconds += Math.max(0, course.settled - received) / 1000;
  }

  #addAlarm(group: Group, name: string, { verdict }: StoredMessage): void {
    const alarm = this.#alarms.get(name) ?? this.#alarms.size;
    this.#alarms.set(name, alarm);
    group.alarms.add(alarm);
    const known = this.#verdicts.get(alarm);
    if (verdict !== undefined && (known === undefined || verdict.time >= known.time))
      this.#verdicts.set(alarm, verdict);
  }
}

/** As of a stored message. */
const HEALTH = 1;
