import * as fc from 'fast-check';

/** One of these values, the more often the more often it stands there. */
export function one<const Value>(...values: Value[]): fc.Arbitrary<Value> {
  return fc.constantFrom(...values);
}

/** What may be done to a model, so often among all that may be: what, and with what. */
export function may<What extends string, With = unknown>(
  weight: number,
  what: What | readonly What[],
  given: { [Name in keyof With]: fc.Arbitrary<With[Name]> } = {} as never,
): { weight: number; arbitrary: fc.Arbitrary<{ do: What } & With> } {
  const whats = typeof what === 'string' ? [what] : what;
  const made = fc.tuple(fc.constantFrom(...whats), fc.record(given));
  return { weight, arbitrary: made.map(([name, values]) => ({ do: name, ...(values as With) })) };
}
