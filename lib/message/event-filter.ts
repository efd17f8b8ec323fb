import type { ListedCamera } from '../device';
import { isHealth, type RvmEvent } from '../event';
import { beginOf, guidForm } from '../text';

const SECURITY = 'security';
/** Characters of an id that are compared: no id of a person is longer. */
export const LONGEST_ID = 512;

/** The ids that a webhook node takes, by filter. */
export type FilterIds = Readonly<Record<FilterName, readonly string[]>>;

/** The same in a form for matching events. */
export type EventFilter = Readonly<Record<FilterName, ReadonlySet<string>>>;

export interface FilterVerdict {
  /** The filters that reject the event; empty: it is taken. */
  filteredBy: FilterName[];
  /**
   * True where the event lacks a field that a filter needs. It is then taken, because an alarm too many is better than one too
   * few.
   */
  isUnjudged: boolean;
}

/** The fields that each filter compares. The list of devices identifies sites by name; rules have only a name. */
const IDS: Readonly<Record<FilterName, (event: RvmEvent) => unknown[]>> = {
  classes: ({ eventClass }) => [eventClass],
  sites: ({ locationName, locationId }) => [locationName, locationId],
  cameras: ({ cameraId, cameraRemoteId }) => [cameraId, cameraRemoteId],
  rules: ({ eventRuleName, eventName }) => [eventRuleName, eventName],
};

/**
 * Fields that an event must have for a filter to reject it: without them it may be a wanted event. The two ids of a site
 * differ, the name of a rule may be absent, and so may a remote id.
 */
const TELLS: Readonly<Record<FilterName, (event: RvmEvent) => boolean>> = {
  classes: (event) => idsOf('classes', event).length > 0,
  sites: (event) => idsOf('sites', event).length === 2,
  cameras: ({ cameraId }) => textOf(cameraId) !== undefined,
  rules: (event) => idsOf('rules', event).length > 0,
};

const BARE_GUID = /^\{?([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\}?$/i;

/** The ids of an event that a filter compares; the first is the one that selection lists offer. */
export function idsOf(name: FilterName, event: RvmEvent): string[] {
  return IDS[name](event)
    .map(textOf)
    .filter((id) => id !== undefined);
}

/**
 * The form in which two spellings of one id are equal, so that no alarm is rejected for its spelling. Names are typed by
 * people: case, white space and width of letters do not count. Camera ids differ by case; there only surrounding white space
 * and the encoding of accents do not count. A GUID may have braces and dashes or none.
 */
export function idForm(name: FilterName, id: string): string {
  const known = name === 'cameras' ? forms.cameras : forms.names;
  const begin = beginOf(id.trim(), LONGEST_ID);
  const form = known.get(begin);
  if (form !== undefined) return form;
  if (known.size === MOST_FORMS) known.clear();
  const made = newForm(name, begin);
  known.set(begin, made);
  return made;
}

/** Of ids that came lately: events repeat a few, and making a form takes longer than all else that is done with it. */
const forms = { cameras: new Map<string, string>(), names: new Map<string, string>() };
const MOST_FORMS = 1000;

function newForm(name: FilterName, id: string): string {
  const text = id.normalize('NFC');
  const guid = guidForm(text.replace(BARE_GUID, '$1-$2-$3-$4-$5'));
  return guid ?? (name === 'cameras' ? text : nameForm(text));
}

/** Upper case, because it has one form for letters that have two in lower case. */
function nameForm(text: string): string {
  return text.normalize('NFKC').replace(/\s+/g, ' ').trim().toUpperCase();
}

/** Makes a filter; an empty list takes all events. */
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

/** Judges an event: all filters must match, each by any of its ids. */
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

/** The ids of an event in comparable form. Any class except health counts as security. */
function formsOf(name: FilterName, event: RvmEvent): string[] {
  const ids = idsOf(name, event);
  if (name === 'classes' && ids.length > 0 && !isHealth(event)) ids.push(SECURITY);
  return ids.map((id) => idForm(name, id));
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
  return text === '' ? undefined : text;
}

/** The filters of a webhook node. Each is a property of it. */
export const FILTERS = ['classes', 'sites', 'cameras', 'rules'] as const;
export type FilterName = (typeof FILTERS)[number];

/** One id with its end: in quotation marks, with those inside doubled, or plain up to the next comma. */
const ID = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/y;

/** The distinct ids of a property of a flow, separated by commas. An id with a comma is in quotation marks. */
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

/** The ids in the form of a property. */
export function textOfIds(ids: readonly string[]): string {
  return ids.map((id) => (/[",]/.test(id) ? `"${id.replaceAll('"', '""')}"` : id)).join(', ');
}

/** Filters whose unknown ids can be reported. There is no list of rules, and a rule that has not applied yet is still valid. */
export const JUDGED = ['classes', 'sites', 'cameras'] as const;
export type JudgedFilter = (typeof JUDGED)[number];

/** The classes of the specification. */
export const CLASSES: readonly string[] = ['security', 'health'];

interface KnownKind {
  ids: readonly string[];
  /** False where there is no complete list. */
  isList: boolean;
}

/** The known ids, by filter; absent where nothing is known. */
export type KnownIds = Readonly<Partial<Record<JudgedFilter, KnownKind>>>;

/** Ids by filter. */
export type JudgedIds = Readonly<Record<JudgedFilter, readonly string[]>>;

/** The wanted ids that are unknown, by filter. */
export type UnknownIds = JudgedIds;

export const NO_IDS: JudgedIds = forEachJudged(() => []);

function forEachJudged<Value>(of: (name: JudgedFilter) => Value): Record<JudgedFilter, Value> {
  return { classes: of('classes'), sites: of('sites'), cameras: of('cameras') };
}

/** Ids in the events of some stations. */
interface NamedByEvents {
  ids: JudgedIds;
  /** Filters for which events of every station have named an id. */
  kinds: readonly JudgedFilter[];
}

/** Devices that the service lists for some stations. */
export interface Listed {
  cameras: readonly ListedCamera[];
  /** False where the service lists none for one of the stations, because that station can only receive. */
  isWhole: boolean;
}

/** True for the error code of a station that has no device list at all, unlike one whose list is unavailable for the moment. */
export function hasNoList(code: string | undefined): boolean {
  return code === 'CONFIG_MISSING';
}

/** @param lists by station; undefined where a station has none */
export function listedOf(lists: readonly (readonly ListedCamera[] | undefined)[]): Listed {
  return { cameras: lists.flatMap((list) => list ?? []), isWhole: !lists.includes(undefined) };
}

/**
 * The known ids. Classes: those of the specification and those named by events. Sites and cameras: those listed by the service,
 * by any of their ids, and those named by events.
 * @param listed undefined where the service cannot be queried
 * @param named undefined where events may have named more
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

/** The ids that events have named; undefined where not all events could be read. */
export function namedBy(
  seen: SeenByKind & { isWhole: boolean } & Pick<NamedByEvents, 'kinds'>,
): NamedByEvents | undefined {
  return seen.isWhole ? { ids: idsNamed(seen), kinds: seen.kinds } : undefined;
}

type SeenByKind = Readonly<Record<JudgedFilter, readonly { ids: readonly string[] }[]>>;

/** All ids that events have named. */
export function idsNamed(seen: SeenByKind): JudgedIds {
  return forEachJudged((name) => seen[name].flatMap(({ ids }) => ids));
}

/**
 * The wanted ids that are unknown. Without a complete list an id that no event has named may still be valid, so the ids of a
 * filter are reported only if events have named none of them.
 * @param named ids from events that `known` does not contain
 */
export function unknownIds(wanted: FilterIds, known: KnownIds, named: JudgedIds = NO_IDS): UnknownIds {
  return forEachJudged((name) => {
    const kind = known[name];
    if (kind === undefined) return [];
    const forms = new Set([...kind.ids, ...named[name]].map((id) => idForm(name, id)));
    const unknown = wanted[name].filter((id) => !forms.has(idForm(name, id)));
    return kind.isList || unknown.length === wanted[name].length ? unknown : [];
  });
}

/** The wanted ids that an event has named since this object was made. */
export class NamedIds {
  readonly #named = forEachJudged(() => new Set<string>());

  constructor(private readonly wanted: FilterIds) {}

  /** In the spelling of the wanted ids. */
  get ids(): JudgedIds {
    return forEachJudged((name) => [...this.#named[name]]);
  }

  add(ids: JudgedIds): void {
    for (const name of JUDGED) this.#addOf(name, ids[name]);
  }

  /** @returns true where the event names a wanted id for the first time */
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
