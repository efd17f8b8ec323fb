import { replaceMethod } from '../suite/replaced-method';

type Sized = { length: number } | { size: number };

/** What looks at one element after the other, and does not stop before the last. */
const WALKS: readonly (readonly [object, readonly PropertyKey[]])[] = [
  [
    Array.prototype,
    ['filter', 'find', 'forEach', 'includes', 'indexOf', 'map', 'reduce', 'shift', 'slice', 'some', 'splice'],
  ],
  [Map.prototype, ['entries', 'forEach', 'keys', 'values', Symbol.iterator]],
  [Set.prototype, ['entries', 'forEach', 'keys', 'values', Symbol.iterator]],
];

/**
 * Counts the elements that walks through arrays, maps and sets look at while the work goes on: what it costs, whatever else
 * the machine has to do. `for … of` over an array is not counted.
 */
export async function visits(work: () => Promise<void>): Promise<number> {
  let count = 0;
  const restore = WALKS.flatMap(([prototype, names]) =>
    names.map((name) =>
      replaceMethod<Sized>(prototype, name, (former) => {
        return function walk(this: Sized, ...values: unknown[]): unknown {
          count += 'length' in this ? this.length : this.size;
          return Reflect.apply(former, this, values);
        };
      }),
    ),
  );
  try {
    await work();
    return count;
  } finally {
    for (const end of restore) end();
  }
}
