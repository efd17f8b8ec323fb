/** Does something with each item, with so many at once: each sender takes the next when its last is done. */
export async function inFlight<Item>(
  items: readonly Item[],
  senders: number,
  send: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items.values();
  const work = async (): Promise<void> => {
    for (const item of left) await send(item);
  };
  await Promise.all(Array.from({ length: senders }, work));
}
