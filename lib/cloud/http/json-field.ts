import type { JsonRecord } from '../../json/json';

/**
 * The first of the named fields that is present. The first letter may be in either case, because some services
 * print `Id` for `id`; null counts as missing.
 */
export function firstField(record: JsonRecord, names: readonly string[]): unknown {
  for (const name of names) {
    const value = ownField(record, name) ?? ownField(record, swapFirstLetter(name));
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function ownField(record: JsonRecord, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The first of the named fields that holds a text or a number, as text; empty texts count as missing. */
export function firstText(record: JsonRecord, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = asText(firstField(record, [name]));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Ids and the like may come as numbers. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return undefined;
}

function swapFirstLetter(name: string): string {
  const first = name.charAt(0);
  const other = first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase();
  return other + name.slice(1);
}
