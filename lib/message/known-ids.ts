// Server and dialog share this file.
import { idForm, type FilterIds } from './event-filter';

/** What can be told to be unknown: of rules there is no list anywhere, and one that has not applied yet is none the less right. */
export const JUDGED = ['classes', 'sites', 'cameras'] as const;
export type JudgedFilter = (typeof JUDGED)[number];

/** The classes of the specification. */
export const CLASSES: readonly string[] = ['security', 'health'];

/** The ids that are known of each kind; absent where nobody can say what there is. */
export type KnownIds = Readonly<Partial<Record<JudgedFilter, readonly string[]>>>;

/** Of each kind the ids that are wanted and that nobody knows. */
export type UnknownIds = Readonly<Record<JudgedFilter, readonly string[]>>;

export const NONE_UNKNOWN: UnknownIds = { classes: [], sites: [], cameras: [] };

export function unknownIds(wanted: FilterIds, known: KnownIds): UnknownIds {
  const unknownOf = (name: JudgedFilter): string[] => {
    const ids = known[name];
    if (ids === undefined) return [];
    const forms = new Set(ids.map((id) => idForm(name, id)));
    return wanted[name].filter((id) => !forms.has(idForm(name, id)));
  };
  return { classes: unknownOf('classes'), sites: unknownOf('sites'), cameras: unknownOf('cameras') };
}
