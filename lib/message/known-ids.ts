// Server and dialog share this file.
import type { ListedCamera } from '../device';
import { idForm, type FilterIds } from './event-filter';

/** What can be told to be unknown: of rules there is no list anywhere, and one that has not applied yet is none the less right. */
export const JUDGED = ['classes', 'sites', 'cameras'] as const;
export type JudgedFilter = (typeof JUDGED)[number];

/** The classes of the specification. */
export const CLASSES: readonly string[] = ['security', 'health'];

export interface KnownKind {
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
export interface NamedByEvents {
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
