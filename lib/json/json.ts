import sjson from 'secure-json-parse';

/** Whether a text is well-formed JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    return false;
  }
}

/** Deep equality of two values read from JSON, fields in the same order. */
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

/**
 * Deep copy of a value read from JSON. `structuredClone`, which supports cycles, dates and maps, takes several times as long,
 * and so does a copy that is filled field by field. The reader of the value has bounded its depth and removed forbidden keys.
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

/** A JSON object of unknown content. */
export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON, without keys that would reach into prototypes.
 * @throws SyntaxError where the text is no JSON
 */
export function parseSafely(text: string): unknown {
  const value: unknown = sjson.parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' });
  return value;
}
