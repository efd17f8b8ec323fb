import type { SQLOutputValue } from 'node:sqlite';

/** A number of one to nine bytes, and where it ends; undefined beyond the bytes, or where no sequence, length or type is so large. */
export function varint(bytes: Uint8Array, from: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let at = from; at < from + 8; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    value = value * 128 + (byte % 128);
    if (byte < 128) return Number.isSafeInteger(value) ? { value, end: at + 1 } : undefined;
  }
  return undefined;
}

/** The types of the values of a record, and where the first value begins; undefined where they are none. */
export function typesOf(record: Uint8Array): { types: number[]; end: number } | undefined {
  const header = varint(record, 0);
  if (header === undefined || header.value > record.length) return undefined;
  const types: number[] = [];
  for (let at = header.end; at < header.value;) {
    const type = varint(record, at);
    if (type === undefined) return undefined;
    types.push(type.value);
    at = type.end;
  }
  return { types, end: header.value };
}

/**
 * The values of a record of SQLite (https://www.sqlite.org/fileformat2.html, section 2.1); undefined where the bytes are none,
 * or hold a number beyond those that JavaScript knows exactly.
 */
export function valuesOf(record: Buffer): SQLOutputValue[] | undefined {
  const header = typesOf(record);
  if (header === undefined) return undefined;
  const values: SQLOutputValue[] = [];
  let at = header.end;
  for (const type of header.types) {
    const size = sizeOf(type);
    const value = at + size > record.length ? undefined : valueOf(type, record.subarray(at, at + size));
    if (value === undefined) return undefined;
    values.push(value);
    at += size;
  }
  return at === record.length ? values : undefined;
}

/** Bytes of a value of each type below `VARIABLE`. */
const SIZES: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0];
/** From here on a type is a length: of bytes where it is even, of text where it is odd. */
const VARIABLE = SIZES.length;

function sizeOf(type: number): number {
  return SIZES[type] ?? Math.floor((type - VARIABLE) / 2);
}

function valueOf(type: number, bytes: Buffer): SQLOutputValue | undefined {
  if (type >= VARIABLE) return type % 2 === 0 ? Uint8Array.from(bytes) : bytes.toString('utf8');
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) return bytes.readDoubleBE();
  if (type > 9) return undefined;
  const value = bytes.length === 8 ? Number(bytes.readBigInt64BE()) : bytes.readIntBE(0, bytes.length);
  return Number.isSafeInteger(value) ? value : undefined;
}
