import type { RvmEvent } from '../event';
import { guidForm } from '../guid-form';
import { FILTERS, type FilterName } from './filter-list';

/** What a webhook node is to take: of each kind these ids. */
export type FilterIds = Readonly<Record<FilterName, readonly string[]>>;

/** The same, to be asked about events. */
export type EventFilter = Readonly<Record<FilterName, ReadonlySet<string>>>;

export interface FilterVerdict {
  /** The kinds of which the event has another id; empty: it is taken. */
  filteredBy: FilterName[];
  /** True where it lacks what a filter asks for: nobody can say whether it is meant, and an alarm too many is better than one too few. */
  isUnjudged: boolean;
}

/** By what of an event each filter knows it. Sites have their name in the list of devices, rules have nothing but a name. */
const IDS: Readonly<Record<FilterName, (event: RvmEvent) => unknown[]>> = {
  classes: ({ eventClass }) => [eventClass],
  sites: ({ locationName, locationId }) => [locationName, locationId],
  cameras: ({ cameraId, cameraRemoteId }) => [cameraId, cameraRemoteId],
  rules: ({ eventRuleName, eventName }) => [eventRuleName, eventName],
};

/**
 * What of an event that has none of the ids wanted must be there, for it to be another one: else it is meant, perhaps, by what it
 * lacks. The ids of a site are not alike, the name of a rule may be left out, and a remote id as well.
 */
const TELLS: Readonly<Record<FilterName, (event: RvmEvent) => boolean>> = {
  classes: (event) => idsOf('classes', event).length > 0,
  sites: (event) => idsOf('sites', event).length === 2,
  cameras: ({ cameraId }) => textOf(cameraId) !== undefined,
  rules: (event) => idsOf('rules', event).length > 0,
};

/** The ids that an event has for a filter; the first is the one that a list to choose from offers. */
export function idsOf(name: FilterName, event: RvmEvent): string[] {
  return IDS[name](event)
    .map(textOf)
    .filter((id) => id !== undefined);
}

/**
 * In this form two spellings of one id are the same, so that no alarm is kept back for its spelling: white space around it and the
 * way in which an accent is encoded say nothing, nor does the case of a class. Names and ids of cameras are told apart by it.
 */
export function idForm(name: FilterName, id: string): string {
  const text = id.trim().normalize('NFC');
  return name === 'classes' ? text.toLowerCase() : (guidForm(text) ?? text);
}

/** An empty list takes all. */
export function eventFilter(ids: Partial<FilterIds>): EventFilter {
  const formsOf = (name: FilterName): ReadonlySet<string> =>
    new Set((ids[name] ?? []).map((id) => idForm(name, id)));
  return {
    classes: formsOf('classes'),
    sites: formsOf('sites'),
    cameras: formsOf('cameras'),
    rules: formsOf('rules'),
  };
}

/** Whether an event is taken. Several kinds must all fit, of several ids of one kind any. */
export function judgeByFilter(filter: EventFilter, event: RvmEvent): FilterVerdict {
  const filteredBy: FilterName[] = [];
  let isUnjudged = false;
  for (const name of FILTERS) {
    const wanted = filter[name];
    if (wanted.size === 0) continue;
    if (idsOf(name, event).some((id) => wanted.has(idForm(name, id)))) continue;
    if (TELLS[name](event)) filteredBy.push(name);
    else isUnjudged = true;
  }
  return { filteredBy, isUnjudged };
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
  return text === '' ? undefined : text;
}
