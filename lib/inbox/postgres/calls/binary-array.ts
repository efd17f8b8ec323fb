/** Types of the elements, by their numbers in every PostgreSQL: `pg_type.dat`. */
const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const TEXT = 25;
const UUID = 2950;

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const UUID_BYTES = 16;
const INT8_BYTES = 8;
/** The length of what is null. */
const NULL = -1;

/*
 * Arrays as PostgreSQL reads them in binary form. As text each element would be quoted here and read letter by letter there: that
 * took more time than all else of a batch, bodies as hexadecimal digits twice their room.
 */

/** @param texts of what PostgreSQL can store: `storable` */
export function texts(texts: readonly (string | null)[]): Buffer {
  return arrayOf(
    TEXT,
    texts,
    (text) => Buffer.byteLength(text),
    (array, text, at) => array.write(text, at),
  );
}

/** @param ids UUIDs in their usual form, or without hyphens */
export function uuids(ids: readonly (string | null)[]): Buffer {
  return arrayOf(
    UUID,
    ids,
    () => UUID_BYTES,
    (array, id, at) => array.write(id.replaceAll('-', ''), at, 'hex'),
  );
}

export function booleans(values: readonly boolean[]): Buffer {
  return arrayOf(
    BOOL,
    values,
    () => 1,
    (array, value, at) => array.writeUInt8(Number(value), at),
  );
}

/** @param numbers whole ones */
export function integers(numbers: readonly (number | null)[]): Buffer {
  return arrayOf(
    INT8,
    numbers,
    () => INT8_BYTES,
    (array, number, at) => array.writeBigInt64BE(BigInt(number), at),
  );
}

export function byteStrings(values: readonly Uint8Array[]): Buffer {
  return arrayOf(
    BYTEA,
    values,
    ({ byteLength }) => byteLength,
    (array, bytes, at) => array.set(bytes, at),
  );
}

function arrayOf<Element>(
  type: number,
  elements: readonly (Element | null)[],
  sizeOf: (element: Element) => number,
  write: (array: Buffer, element: Element, at: number) => unknown,
): Buffer {
  const sizes = elements.map((element) => (element === null ? NULL : sizeOf(element)));
  const total = sizes.reduce((sum, size) => sum + LENGTH_BYTES + Math.max(0, size), HEADER_BYTES);
  const array = Buffer.allocUnsafe(total);
  // One dimension, whether any is null, the type, how many, and that they are counted from 1.
  let at = array.writeInt32BE(1, 0);
  at = array.writeInt32BE(Number(elements.includes(null)), at);
  at = array.writeInt32BE(type, at);
  at = array.writeInt32BE(elements.length, at);
  at = array.writeInt32BE(1, at);
  elements.forEach((element, index) => {
    const size = sizes[index] ?? NULL;
    at = array.writeInt32BE(size, at);
    if (element === null) return;
    write(array, element, at);
    at += size;
  });
  return array;
}
