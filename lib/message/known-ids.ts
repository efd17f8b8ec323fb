// Server and dialog share this file.
import type { ListedCamera } from '../device';
import { idForm, type FilterIds } from './event-filter';

/** What can be told to be unknown: of rules there is no list anywhere, and one that has not applied yet is none the less right. */
export const JUDGED = ['classes', 'sites', 'cameras'] as const;
export type JudgedFilter = (typeof JUDGED)[number];

/** The classes of the specification. */
export const CLASSES: readonly string[] = ['security', 'health'];

/** The ids that are known of each kind; absent where nobody can say what there is. */
export type KnownIds = Readonly<Partial<Record<JudgedFilter, readonly string[]>>>;

/** Ids of each kind. */
export type JudgedIds = Readonly<Record<JudgedFilter, readonly string[]>>;

/** Of each kind the ids that are wanted and that nobody knows. */
export type UnknownIds = JudgedIds;

export const NO_IDS: JudgedIds = { classes: [], sites: [], cameras: [] };

/**
 * What is known: of classes, those of the specification and those that events have named; of sites and cameras, those that the
 * service lists, by any of their ids, and those that events have named.
 * @param listed undefined where the service cannot be asked
 * @param named by events; undefined where nobody can say what else there is
 */
export function knownIds(
  listed: readonly ListedCamera[] | undefined,
  named: JudgedIds | undefined,
): KnownIds {
  if (named === undefined) return {};
  const classes = [...CLASSES, ...named.classes];
  if (listed === undefined) return { classes };
  const remoteIds = listed.flatMap(({ remoteId }) => remoteId ?? []);
  return {
    classes,
    sites: [...listed.map(({ site }) => site), ...named.sites],
    cameras: [...listed.map(({ id }) => id), ...remoteIds, ...named.cameras],
  };
}

/** All ids by which events have named something. */
export function idsNamed(
  seen: Readonly<Record<JudgedFilter, readonly { ids: readonly string[] }[]>>,
): JudgedIds {
  const named = (name: JudgedFilter): string[] => seen[name].flatMap(({ ids }) => ids);
  return { classes: named('classes'), sites: named('sites'), cameras: named('cameras') };
}

export function unknownIds(wanted: FilterIds, known: KnownIds): UnknownIds {
  const unknownOf = (name: JudgedFilter): string[] => {
    const ids = known[name];
    if (ids === undefined) return [];
    const forms = new Set(ids.map((id) => idForm(name, id)));
    return wanted[name].filter((id) => !forms.has(idForm(name, id)));
  };
  return { classes: unknownOf('classes'), sites: unknownOf('sites'), cameras: unknownOf('cameras') };
}
