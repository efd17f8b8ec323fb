import { type RvmEvent, isHealth } from '../event';
import { guidForm, beginOf } from '../text';
import { FILTERS, type FilterName } from './filter-list';

const SECURITY = 'security';
/** Characters: what is longer is none that a person has given, and is told apart by no more. */
export const LONGEST_ID = 512;

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

const BARE_GUID = /^\{?([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\}?$/i;

/** The ids that an event has for a filter; the first is the one that a list to choose from offers. */
export function idsOf(name: FilterName, event: RvmEvent): string[] {
  return IDS[name](event)
    .map(textOf)
    .filter((id) => id !== undefined);
}

/**
 * In this form two spellings of one id are the same, so that no alarm is kept back for its spelling. People write names, and two that
 * look alike are one: case, white space and width of letters say nothing. Of cameras there are only ids, which differ by case; there
 * white space around one says nothing, nor how an accent is encoded. A GUID may have braces and dashes or none.
 */
export function idForm(name: FilterName, id: string): string {
  const text = beginOf(id.trim(), LONGEST_ID).normalize('NFC');
  const guid = guidForm(text.replace(BARE_GUID, '$1-$2-$3-$4-$5'));
  return guid ?? (name === 'cameras' ? text : nameForm(text));
}

/** Upper case, for it has one form for letters of which lower case has two. */
function nameForm(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, ' ').trim().toUpperCase();
}

/** An empty list takes all. */
export function eventFilter(ids: Partial<FilterIds>): EventFilter {
  const wanted = (name: FilterName): ReadonlySet<string> =>
    new Set((ids[name] ?? []).map((id) => idForm(name, id)));
  return {
    classes: wanted('classes'),
    sites: wanted('sites'),
    cameras: wanted('cameras'),
    rules: wanted('rules'),
  };
}

/** Whether an event is taken. Several kinds must all fit, of several ids of one kind any. */
export function judgeByFilter(filter: EventFilter, event: RvmEvent): FilterVerdict {
  const filteredBy: FilterName[] = [];
  let isUnjudged = false;
  for (const name of FILTERS) {
    const wanted = filter[name];
    if (wanted.size === 0) continue;
    if (formsOf(name, event).some((form) => wanted.has(form))) continue;
    if (TELLS[name](event)) filteredBy.push(name);
    else isUnjudged = true;
  }
  return { filteredBy, isUnjudged };
}

/** By what an event is taken. Of whatever other class it is, it counts as security. */
function formsOf(name: FilterName, event: RvmEvent): string[] {
  const ids = idsOf(name, event);
  if (name === 'classes' && ids.length > 0 && !isHealth(event)) ids.push(SECURITY);
  return ids.map((id) => idForm(name, id));
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
  return text === '' ? undefined : text;
}
