import { hash } from 'node:crypto';
import { isRecord } from '../json/json';

/** SHA-256 (hex) of bytes. */
export function fingerprintOfBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}

/**
 * SHA-256 (hex) of a JSON value, the same for any order of its keys and any white space: a resend may be serialised
 * afresh. The value's depth is bounded by the reader of the message.
 */
export function fingerprintOfValue(value: unknown): string {
  return hash('sha256', JSON.stringify(inOrder(value)) ?? 'null');
}

/** Lists in place of objects, with their members by name; the first entry tells which a list stands for. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return ['[', ...value.map(inOrder)];
  if (!isRecord(value)) return value;
  const list: unknown[] = ['{'];
  for (const name of Object.keys(value).sort()) list.push(name, inOrder(value[name]));
  return list;
}
