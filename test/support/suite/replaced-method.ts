/** A method as it is called: with what it belongs to. */
export type Method<Holder> = (this: Holder, ...values: unknown[]) => unknown;

/**
 * Puts another method in place of one that belongs to all objects of a kind.
 * @param made gets the former one
 * @returns the way back
 */
export function replaceMethod<Holder>(
  prototype: object,
  name: PropertyKey,
  made: (former: Method<Holder>) => Method<Holder>,
): () => void {
  const former = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
  Object.defineProperty(prototype, name, { ...former, value: made(former.value as Method<Holder>) });
  return () => Object.defineProperty(prototype, name, former);
}
