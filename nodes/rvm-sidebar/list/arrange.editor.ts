/** Puts these into a list, in order. What is in its place already is not touched: what has the focus keeps it. */
export function arrange(list: JQuery, wanted: readonly JQuery[]): void {
  const [parent] = list.get();
  if (parent === undefined) return;
  const elements = wanted.flatMap((each) => each.get());
  // Texts, too.
  list.contents().not(elements).remove();
  for (const [index, element] of elements.entries()) {
    const there = parent.children[index] ?? null;
    if (there !== element) parent.insertBefore(element, there);
  }
}
