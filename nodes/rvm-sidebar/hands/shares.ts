/**
 * How many rows of each list are shown where there is room for a few in all: each in its turn gets one more, from the first on.
 * @param counts how many rows each list has
 */
export function sharesOf(counts: readonly number[], room: number): number[] {
  const shares = counts.map(() => 0);
  for (let left = room; left > 0;) {
    const before = left;
    for (const [index, count] of counts.entries()) {
      if (left === 0 || (shares[index] ?? 0) >= count) continue;
      shares[index] = (shares[index] ?? 0) + 1;
      left -= 1;
    }
    if (left === before) break;
  }
  return shares;
}
