import { idsOf } from '../message/event-filter';
import { FILTERS, type FilterName } from '../message/filter-list';
import type { Inbox } from './inbox';
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
}

/** So many of the newest events are looked at. */
const NEWEST = 500;

/**
 * What the newest events of some inboxes are of, as far as these can be read, each once, by name.
 * @param stations keys: events of others are left out
 */
export async function seenIds(inboxes: readonly Inbox[], stations: ReadonlySet<string>): Promise<SeenIds> {
  const { messages, faults } = await listAll(inboxes, { state: 'all', limit: NEWEST });
  const found = Object.fromEntries(FILTERS.map((name) => [name, new Map<string, SeenId>()])) as Record<
    FilterName,
    Map<string, SeenId>
  >;
  for (const { station, event } of messages) {
    if (!stations.has(station)) continue;
    for (const name of FILTERS) {
      const ids = idsOf(name, event);
      const [id] = ids;
      if (id === undefined || found[name].has(id)) continue;
      const isCamera = name === 'cameras';
      const shown = isCamera && typeof event.cameraName === 'string' ? event.cameraName : id;
      const group = isCamera && typeof event.locationName === 'string' ? event.locationName : '';
      found[name].set(id, { ids, name: shown, group });
    }
  }
  const sorted = (name: FilterName): SeenId[] =>
    [...found[name].values()].sort((one, other) => one.name.localeCompare(other.name));
  return {
    classes: sorted('classes'),
    sites: sorted('sites'),
    cameras: sorted('cameras'),
    rules: sorted('rules'),
    isWhole: faults.length === 0,
  };
}
