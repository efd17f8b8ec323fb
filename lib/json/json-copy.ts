import { isRecord } from './json-record';

/**
 * A copy of a value that was read from JSON, all the way down. `structuredClone`, which knows of cycles, dates and maps,
 * takes several times as long, and so does a copy that is filled field by field. The depth of the value is bounded by
 * whoever read it, and forbidden keys are gone from it.
 */
export function copyOfJson<T>(value: T): T;
export function copyOfJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element: unknown) => copyOfJson(element));
  if (!isRecord(value)) return value;
  const copy = { ...value };
  for (const name in copy) {
    const inner = copy[name];
    if (typeof inner === 'object' && inner !== null) copy[name] = copyOfJson(inner);
  }
  return copy;
}
