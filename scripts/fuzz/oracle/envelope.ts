import { contentOf } from './reading';

/** What the specification and the cases say of an authentic body (section 2; C-73, C-110, C-120, C-121). */
export type Usability =
  | { usable: true; messageId: string; isAlarm: boolean }
  | { usable: false }
  /** A field in both spellings: whether they say the same is told apart nowhere. */
  | { usable: undefined };

const LONGEST_ID = 512;

export function usabilityOf(body: Uint8Array): Usability {
  const content = contentOf(body);
  if (content.kind !== 'read') return { usable: false };
  const fields = fieldsOf(content.value);
  if (fields === undefined) return { usable: false };
  const payload = fieldsOf(fieldOf(fields, 'payload'));
  if (hasBothSpellings(fields) || (payload !== undefined && hasBothSpellings(payload)))
    return { usable: undefined };
  const messageId = keptId(fieldOf(fields, 'messageId'));
  const type = fieldOf(fields, 'payloadType');
  const version = fieldOf(fields, 'version') ?? '';
  if (typeof type !== 'string' || type === '') return { usable: false };
  if (typeof version !== 'string' && typeof version !== 'number') return { usable: false };
  const isAlarm = /^blueevent$/i.test(type);
  if (isAlarm && payload === undefined) return { usable: false };
  if (typeof messageId !== 'string' || messageId === '' || messageId.length > LONGEST_ID)
    return { usable: false };
  return { usable: true, messageId, isAlarm };
}

/** With half of a surrogate pair it is kept as JSON writes it. */
function keptId(value: unknown): unknown {
  return typeof value === 'string' && !value.isWellFormed() ? JSON.stringify(value) : value;
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map<string, unknown>(Object.entries(value));
}

/** Samples write `Version`: either case of the first letter is taken. */
function fieldOf(fields: ReadonlyMap<string, unknown>, name: string): unknown {
  return fields.has(name) ? fields.get(name) : fields.get(name.charAt(0).toUpperCase() + name.slice(1));
}

function hasBothSpellings(fields: ReadonlyMap<string, unknown>): boolean {
  const folded = [...fields.keys()].map((name) => name.charAt(0).toLowerCase() + name.slice(1));
  return new Set(folded).size < folded.length;
}
