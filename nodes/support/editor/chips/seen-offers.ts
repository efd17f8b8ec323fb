import type { SeenIds } from '../../../../lib/inbox/reading/seen-ids';
import { idForm, type FilterName, CLASSES } from '../../../../lib/message/event-filter';
import { ask, AskError } from '../ask';
import type { Pickable } from '../picker';

/**
 * What the newest events of some Central Stations were of; undefined where nobody can say.
 * @param stations their keys
 */
export async function askSeen(node: EditorNode, stations: readonly string[]): Promise<SeenIds | undefined> {
  try {
    const data = { node: node.id, stations: stations.join(',') };
    return await ask<SeenIds>((key) => node._(key), { url: 'rvm/seen-ids', data });
  } catch (error) {
    if (error instanceof AskError) return undefined;
    throw error;
  }
}

/** What events were of, to pick from. */
export function seenOffers(name: FilterName, seen: SeenIds | undefined): Pickable[] {
  return seen?.[name].map(({ ids: [id = ''], name: shown, group }) => ({ id, name: shown, group })) ?? [];
}

/** The classes of the specification, and others that events were of. */
export function classOffers(seen: SeenIds | undefined): Pickable[] {
  return withOthers('classes', CLASSES.map(pickable), seenOffers('classes', seen));
}

export function pickable(id: string): Pickable {
  return { id, name: id };
}

export function withOthers(
  name: FilterName,
  first: readonly Pickable[],
  others: readonly Pickable[],
): Pickable[] {
  const known = new Set(first.map(({ id }) => idForm(name, id)));
  return [...first, ...others.filter(({ id }) => !known.has(idForm(name, id)))];
}
