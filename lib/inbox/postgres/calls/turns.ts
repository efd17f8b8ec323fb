/**
 * Parts of a list, in none of which two items touch the same thing: what touches it later is in a later part. So each part can
 * be done in any order.
 */
export function turnsOf<Item>(
  items: readonly Item[],
  touchedBy: (item: Item) => readonly string[],
): Item[][] {
  const next = new Map<string, number>();
  const turns: Item[][] = [];
  for (const item of items) {
    const touched = touchedBy(item);
    const turn = touched.reduce((latest, one) => Math.max(latest, next.get(one) ?? 0), 0);
    for (const one of touched) next.set(one, turn + 1);
    (turns[turn] ??= []).push(item);
  }
  return turns;
}
