import type { ListedCamera } from '../device';
import { isHealth, type RvmEvent } from '../event';
import { beginOf, guidForm } from '../text';

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

/** By what a webhook node can be told to take only some events. Each is a property of it. */
export const FILTERS = ['classes', 'sites', 'cameras', 'rules'] as const;
export type FilterName = (typeof FILTERS)[number];

/** One id and what ends it: in quotation marks, each of them within doubled, or as it stands as far as the next comma. */
const ID = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/y;

/** The ids in a property of a flow, each once: with commas between. One that holds a comma itself stands in quotation marks. */
export function idsIn(text: string): string[] {
  const ids = new Set<string>();
  ID.lastIndex = 0;
  while (ID.lastIndex < text.length) {
    const [, quoted, plain = ''] = ID.exec(text) ?? [];
    ids.add((quoted?.replaceAll('""', '"') ?? plain).trim());
  }
  ids.delete('');
  return [...ids];
}

/** The same as a property has them. */
export function textOfIds(ids: readonly string[]): string {
  return ids.map((id) => (/[",]/.test(id) ? `"${id.replaceAll('"', '""')}"` : id)).join(', ');
}

/** What can be told to be unknown: of rules there is no list anywhere, and one that has not applied yet is none the less right. */
export const JUDGED = ['classes', 'sites', 'cameras'] as const;
export type JudgedFilter = (typeof JUDGED)[number];

/** The classes of the specification. */
export const CLASSES: readonly string[] = ['security', 'health'];

interface KnownKind {
  ids: readonly string[];
  /** False where nothing lists what else there is. */
  isList: boolean;
}

/** What is known of each kind; absent where nobody can say what there is. */
export type KnownIds = Readonly<Partial<Record<JudgedFilter, KnownKind>>>;

/** Ids of each kind. */
export type JudgedIds = Readonly<Record<JudgedFilter, readonly string[]>>;

/** Of each kind the ids that are wanted and that nobody knows. */
export type UnknownIds = JudgedIds;

export const NO_IDS: JudgedIds = { classes: [], sites: [], cameras: [] };

/** What events have told of some stations. */
interface NamedByEvents {
  ids: JudgedIds;
  /** The kinds of which events of each of the stations have named something. */
  kinds: readonly JudgedFilter[];
}

/** What the service lists of some stations. */
export interface Listed {
  cameras: readonly ListedCamera[];
  /** False where it lists nothing to one of them, for that can only receive. */
  isWhole: boolean;
}

/** True of the code of an error of a station that has no list at all, unlike one whose list nobody gets just now. */
export function hasNoList(code: string | undefined): boolean {
  return code === 'CONFIG_MISSING';
}

/** @param lists of each station; undefined where it has none */
export function listedOf(lists: readonly (readonly ListedCamera[] | undefined)[]): Listed {
  return { cameras: lists.flatMap((list) => list ?? []), isWhole: !lists.includes(undefined) };
}

/**
 * What is known: of classes, those of the specification and those that events have named; of sites and cameras, those that the
 * service lists, by any of their ids, and those that events have named.
 * @param listed undefined where the service cannot be asked
 * @param named undefined where nobody can say what else there is
 */
export function knownIds(listed: Listed | undefined, named: NamedByEvents | undefined): KnownIds {
  if (named === undefined) return {};
  const { ids, kinds } = named;
  const classes = { ids: [...CLASSES, ...ids.classes], isList: true };
  if (listed === undefined) return { classes };
  const { cameras: devices, isWhole: isList } = listed;
  const cameras = devices.flatMap(({ id, remoteId }) => [id, remoteId ?? []].flat());
  const sites = devices.map(({ site }) => site);
  return {
    classes,
    ...((isList || kinds.includes('sites')) && { sites: { ids: [...sites, ...ids.sites], isList } }),
    ...((isList || kinds.includes('cameras')) && { cameras: { ids: [...cameras, ...ids.cameras], isList } }),
  };
}

/** What can be told by what events were of; undefined where not all of them could be looked through. */
export function namedBy(
  seen: SeenByKind & { isWhole: boolean } & Pick<NamedByEvents, 'kinds'>,
): NamedByEvents | undefined {
  return seen.isWhole ? { ids: idsNamed(seen), kinds: seen.kinds } : undefined;
}

type SeenByKind = Readonly<Record<JudgedFilter, readonly { ids: readonly string[] }[]>>;

/** All ids by which events have named something. */
export function idsNamed(seen: SeenByKind): JudgedIds {
  const named = (name: JudgedFilter): string[] => seen[name].flatMap(({ ids }) => ids);
  return { classes: named('classes'), sites: named('sites'), cameras: named('cameras') };
}

/**
 * Where nothing lists what there is, events may yet come of what they have not named, and an id is unknown only if they have named
 * none of its kind that is wanted: then nothing that came was it.
 * @param named by events that `known` has not
 */
export function unknownIds(wanted: FilterIds, known: KnownIds, named: JudgedIds = NO_IDS): UnknownIds {
  const unknownOf = (name: JudgedFilter): string[] => {
    const kind = known[name];
    if (kind === undefined) return [];
    const forms = new Set([...kind.ids, ...named[name]].map((id) => idForm(name, id)));
    const unknown = wanted[name].filter((id) => !forms.has(idForm(name, id)));
    return kind.isList || unknown.length === wanted[name].length ? unknown : [];
  };
  return { classes: unknownOf('classes'), sites: unknownOf('sites'), cameras: unknownOf('cameras') };
}

/** Which of the ids that are wanted some event has named, ever since it was made. */
export class NamedIds {
  readonly #named: Readonly<Record<JudgedFilter, Set<string>>> = {
    classes: new Set(),
    sites: new Set(),
    cameras: new Set(),
  };

  constructor(private readonly wanted: FilterIds) {}

  /** As they are wanted. */
  get ids(): JudgedIds {
    const { classes, sites, cameras } = this.#named;
    return { classes: [...classes], sites: [...sites], cameras: [...cameras] };
  }

  /** Events have named these. */
  add(ids: JudgedIds): void {
    for (const name of JUDGED) this.#addOf(name, ids[name]);
  }

  /** @returns whether it names what no event has named before */
  addOf(event: RvmEvent): boolean {
    return JUDGED.map((name) => this.#addOf(name, idsOf(name, event))).includes(true);
  }

  #addOf(name: JudgedFilter, ids: readonly string[]): boolean {
    const named = this.#named[name];
    const missing = this.wanted[name].filter((id) => !named.has(id));
    if (missing.length === 0) return false;
    const forms = new Set(ids.map((id) => idForm(name, id)));
    const found = missing.filter((id) => forms.has(idForm(name, id)));
    for (const id of found) named.add(id);
    return found.length > 0;
  }
}
