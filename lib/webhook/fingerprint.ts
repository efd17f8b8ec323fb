import { createHash } from 'node:crypto';

/** SHA-256 (hex) of bytes. */
export function fingerprintOfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * SHA-256 (hex) of a JSON value, the same for any order of its keys and any white space: a resend may be serialised
 * afresh. The value's depth is bounded by the reader of the message.
 */
export function fingerprintOfValue(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex');
}

function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((entry) => canonicalText(entry)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonicalText(entry)}`)
    .sort();
  return `{${members.join(',')}}`;
}
