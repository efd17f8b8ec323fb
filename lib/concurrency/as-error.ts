/** What was thrown, or is the reason of an abort, as an error. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
