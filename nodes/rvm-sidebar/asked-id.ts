/** Whether this is a number that a list has given. */
export function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}
