/** The *settle event* nodes that live: where there is none, events that have to be settled wait in vain. */
const settlers = new Set<object>();

/** Returns the way to end it. */
export function addSettler(node: object): () => void {
  settlers.add(node);
  return () => settlers.delete(node);
}

export function hasSettler(): boolean {
  return settlers.size > 0;
}
