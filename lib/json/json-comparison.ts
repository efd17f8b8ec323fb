import { isRecord } from './json-record';

/** Whether two values that were read from JSON say the same, fields in the same order. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((element, index) => isSameJson(element, other[index]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const names = Object.keys(one);
  const otherNames = Object.keys(other);
  if (names.length !== otherNames.length) return false;
  return names.every((name, index) => name === otherNames[index] && isSameJson(one[name], other[name]));
}
