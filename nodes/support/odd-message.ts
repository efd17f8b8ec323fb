/** Values of a message that are looked at, and how deep. */
const MOST = 10_000;
const DEEPEST = 16;

/**
 * Whether a message has a getter or a Proxy in it that throws. It is looked for once something has gone wrong: of a throw itself
 * nobody can tell whose it is.
 */
export function throwsWhenRead(msg: object): boolean {
  try {
    readAll(msg, DEEPEST, { left: MOST });
    return false;
  } catch {
    return true;
  }
}

function readAll(value: unknown, depth: number, budget: { left: number }): void {
  if (typeof value !== 'object' || value === null || depth === 0) return;
  for (const key of Object.keys(value)) {
    budget.left -= 1;
    if (budget.left < 0) return;
    readAll(Reflect.get(value, key), depth - 1, budget);
  }
}
