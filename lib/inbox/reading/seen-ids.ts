import type { RvmEvent } from '../../event';
import {
  idForm,
  idsOf,
  LONGEST_ID,
  FILTERS,
  type FilterName,
  JUDGED,
  type JudgedFilter,
  type JudgedIds,
} from '../../message/event-filter';
import { cutText } from '../history';
import type { Inbox, ListedMessage } from '../inbox';
import { listAll } from './read-all';

/** One thing by which events can be filtered, as events have named it. */
export interface SeenId {
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
/** Messages that are asked for in one go; and how often: a quiet station may stand behind many others, and all have their bodies read. */
const PAGE = 500;
const PAGES = 20;

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
  for await (const { messages, isWhole } of newestOf(inboxes)) {
    if (!isWhole) seen.isWhole = false;
    for (const { station, event } of messages) {
      const count = counts.get(station);
      if (count === undefined) continue;
      counts.set(station, count + 1);
      seen.add(event, station);
    }
    if ([...counts.values()].every((count) => count >= OF_EACH)) break;
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

/** So many of the newest messages, a page at a time. What one page cannot be read of, no further one is asked for. */
async function* newestOf(
  inboxes: readonly Pick<Inbox, 'list'>[],
): AsyncGenerator<{ messages: readonly ListedMessage[]; isWhole: boolean }> {
  let until = Infinity;
  for (let page = 0; page < PAGES; page += 1) {
    const { messages, faults } = await listAll(inboxes, {
      state: 'all',
      limit: PAGE,
      ...(until < Infinity && { until }),
    });
    yield { messages, isWhole: faults.length === 0 };
    const last = messages.at(-1);
    if (last === undefined || messages.length < PAGE || faults.length > 0) return;
    const received = Date.parse(last.receivedTime);
    // The rest of its millisecond as well, unless that alone fills a page.
    until = received + 1 < until ? received + 1 : received;
  }
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
