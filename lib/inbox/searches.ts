import type { RvmError } from '../error';
import { isEnd, type RvmEvent } from '../event';
import {
  type FilterName,
  FILTERS,
  idForm,
  idsOf,
  JUDGED,
  type JudgedFilter,
  type JudgedIds,
  LONGEST_ID,
} from '../message/event-filter';
import { readTime } from '../time';
import {
  cutText,
  type Inbox,
  type ListedMessage,
  type ListQuery,
  type TallyQuery,
  type TallyRow,
} from './model';
import { mergedRows } from './tally';

/**
 * Asks several inboxes, of which some may fail.
 * @returns the answers of those that could be read, and why the others could not
 */
export async function readAll<Source, Answer>(
  sources: readonly Source[],
  read: (source: Source) => Promise<Answer>,
): Promise<{ answers: Answer[]; faults: unknown[] }> {
  const results = await Promise.allSettled(sources.map(read));
  return {
    answers: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    faults: results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
  };
}

/**
 * Messages of several inboxes, newest first, as far as they can be read.
 * @returns `faults` of those that cannot be read: what they hold is missing
 */
export async function listAll(
  inboxes: readonly Pick<Inbox, 'list'>[],
  query: ListQuery,
): Promise<{ messages: ListedMessage[]; faults: RvmError[] }> {
  const lists = await Promise.all(inboxes.map((inbox) => inbox.list(query)));
  const messages = lists.flatMap((list) => list.messages);
  const faults = lists.flatMap(({ fault }) => fault ?? []);
  // Each list has its order already.
  if (lists.length > 1) messages.sort((one, other) => other.receivedTime.localeCompare(one.receivedTime));
  return { messages: messages.slice(0, query.limit), faults };
}

/** Counts of several inboxes, as far as they can be read. @returns `faults` of those that cannot */
export async function tallyAll(
  inboxes: readonly Pick<Inbox, 'tally'>[],
  query: TallyQuery,
): Promise<{ rows: TallyRow[]; faults: unknown[] }> {
  // What is not among the first groups of one inbox may be so of all.
  const whole = { ...query, limit: Infinity };
  const { answers, faults } = await readAll(inboxes, (inbox) => inbox.tally(whole));
  return { rows: mergedRows(answers.flat(), query), faults };
}

/** An alarm has few events, and its end is the last of them. */
const MOST = 20;

/**
 * When an alarm ended, in milliseconds since 1970, as far as any inbox knows; also where the flow has not got that event yet.
 * @param since when its first event came, in milliseconds since 1970: no older ones are looked at
 */
export async function endOfAlarm(
  inboxes: readonly Inbox[],
  alarm: { station: string; alarmId: string },
  since: number,
): Promise<number | undefined> {
  const { messages } = await listAll(inboxes, { state: 'all', since, alarm, limit: MOST });
  const end = messages.find(({ event }) => isEnd(event));
  return end && endTimeOf(end);
}

/** A time that cannot be read ends the alarm all the same. */
function endTimeOf({ event, receivedTime }: ListedMessage): number | undefined {
  return (readTime(event.eventEndTime) ?? readTime(receivedTime))?.getTime();
}

/** Messages that are looked at: the newest; and how many of them are read at a time, also where they are large. */
const BOUNDS = { most: 20_000, page: 500, large: 32 };

/** Some of the newest messages. */
interface SearchPage {
  messages: readonly ListedMessage[];
  /** False where an inbox could not be read. */
  isWhole: boolean;
  /** True where older ones are not looked at. */
  isCut: boolean;
}

/**
 * Looks through the newest messages of several inboxes, as far as these can be read.
 * @param look is shown each, newest first. All of them together may not fit into memory: it keeps what it needs of one
 */
export async function searchInboxes(
  inboxes: readonly Pick<Inbox, 'list'>[],
  state: ListQuery['state'],
  look: (message: ListedMessage) => void,
  bounds = BOUNDS,
): Promise<{ count: number; isCut: boolean }> {
  const found = { count: 0, isCut: false };
  for await (const { messages, isCut } of newestOf(inboxes, state, bounds)) {
    for (const message of messages) look(message);
    found.count += messages.length;
    found.isCut = isCut;
  }
  return found;
}

/** The newest messages, each once, a page at a time. */
async function* newestOf(
  inboxes: readonly Pick<Inbox, 'list'>[],
  state: ListQuery['state'],
  { most, page, large }: typeof BOUNDS,
): AsyncGenerator<SearchPage> {
  const known = new Set<string>();
  let size = page;
  let limit = size;
  let until: number | undefined;
  for (;;) {
    const query = { state, limit, ...(until !== undefined && { until }) };
    const { messages, faults } = await listAll(inboxes, query);
    if (limit > large && size > large && messages.some(lacksEvent)) {
      // A list has room for so many bytes: of fewer messages it has them all.
      limit = size = large;
      continue;
    }
    const others = messages.filter(({ deliveryId }) => !known.has(deliveryId));
    const isCut = known.size + others.length > most;
    const looked = others.slice(0, most - known.size);
    for (const { deliveryId } of looked) known.add(deliveryId);
    yield { messages: looked, isWhole: faults.length === 0, isCut };
    if (isCut || messages.length < limit) return;
    const [first, last] = [timeOf(messages[0]), timeOf(messages.at(-1))];
    // Others may have come in the same millisecond as the last: it is read again, and more at a time where it fills a page.
    until = last + 1;
    limit = first === last ? 2 * limit : size;
  }
}

function lacksEvent({ event }: ListedMessage): boolean {
  return Object.keys(event).length === 0;
}

function timeOf(message: ListedMessage | undefined): number {
  return Date.parse(message?.receivedTime ?? '');
}

/** One thing by which events can be filtered, as events have named it. */
interface SeenId {
  /** The one to be kept, first, and what else it is known by. */
  ids: readonly string[];
  name: string;
  /** Of a camera: its site. */
  group: string;
}

export interface SeenIds extends Readonly<Record<FilterName, readonly SeenId[]>> {
  /** False where an inbox cannot be read: there may be others. */
  isWhole: boolean;
  /** The kinds of which events of each of the stations have named something. */
  kinds: readonly JudgedFilter[];
}

/** Characters of a name in a list to choose from. */
const LONGEST_NAME = 200;
/** Of each station so many of the newest messages are enough. */
const OF_EACH = 500;
/** Of all together: a quiet station may stand behind many others, and all have their bodies read. */
const OF_ALL = { most: 10_000, page: 500, large: 500 };

/**
 * What the newest events of some stations are of, as far as the inboxes can be read, each once, by name.
 * @param stations keys: events of others are left out
 */
export async function seenIds(
  inboxes: readonly Pick<Inbox, 'list'>[],
  stations: ReadonlySet<string>,
): Promise<SeenIds> {
  const seen = new Seen(stations);
  const counts = new Map([...stations].map((station) => [station, 0]));
  for await (const { messages, isWhole } of newestOf(inboxes, 'all', OF_ALL)) {
    if (!isWhole) seen.isWhole = false;
    for (const { station, event } of messages) {
      const count = counts.get(station);
      if (count === undefined) continue;
      counts.set(station, count + 1);
      seen.add(event, station);
    }
    // What one page cannot be read of, no further one is asked for.
    if (!isWhole || [...counts.values()].every((count) => count >= OF_EACH)) break;
  }
  return seen.all();
}

/** With ids that older events have named. */
export function withNamed(seen: SeenIds, named: JudgedIds): SeenIds {
  const all = (name: JudgedFilter): SeenId[] => {
    const forms = new Set(seen[name].flatMap(({ ids }) => ids).map((id) => idForm(name, id)));
    const older = named[name].filter((id) => !forms.has(idForm(name, id)));
    return [...seen[name], ...older.map((id) => ({ ids: [id], name: id, group: '' }))];
  };
  return { ...seen, classes: all('classes'), sites: all('sites'), cameras: all('cameras') };
}

/** What events are of. Each thing is known by the first of its ids, and has all that came with it. */
class Seen {
  isWhole = true;
  /** Stations whose events have named something of a kind. */
  readonly #told: Readonly<Record<FilterName, Set<string>>> = {
    classes: new Set(),
    sites: new Set(),
    cameras: new Set(),
    rules: new Set(),
  };
  readonly #found: Readonly<Record<FilterName, Map<string, Omit<SeenId, 'ids'> & { ids: Set<string> }>>> = {
    classes: new Map(),
    sites: new Map(),
    cameras: new Map(),
    rules: new Map(),
  };

  constructor(private readonly stations: ReadonlySet<string>) {}

  add(event: RvmEvent, station: string): void {
    for (const name of FILTERS) this.#addOf(name, event, station);
  }

  all(): SeenIds {
    const sorted = (name: FilterName): SeenId[] =>
      [...this.#found[name].values()]
        .map((found) => ({ ...found, ids: [...found.ids] }))
        .sort((one, other) => one.name.localeCompare(other.name));
    return {
      classes: sorted('classes'),
      sites: sorted('sites'),
      cameras: sorted('cameras'),
      rules: sorted('rules'),
      isWhole: this.isWhole,
      kinds: JUDGED.filter((name) => this.stations.size > 0 && this.#told[name].size === this.stations.size),
    };
  }

  #addOf(name: FilterName, event: RvmEvent, station: string): void {
    // What nobody would choose fills no list.
    const ids = idsOf(name, event).filter(({ length }) => length <= LONGEST_ID);
    const [id] = ids;
    if (id === undefined) return;
    this.#told[name].add(station);
    const form = idForm(name, id);
    const known = this.#found[name].get(form);
    if (known !== undefined) return ids.forEach((other) => known.ids.add(other));
    const isCamera = name === 'cameras';
    const shown = isCamera && typeof event.cameraName === 'string' ? event.cameraName : id;
    const group = isCamera && typeof event.locationName === 'string' ? event.locationName : '';
    this.#found[name].set(form, {
      ids: new Set(ids),
      name: cutText(shown, LONGEST_NAME),
      group: cutText(group, LONGEST_NAME),
    });
  }
}
