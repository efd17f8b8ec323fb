import { types } from 'node:util';
import { RvmError } from '../../error';
import { isJson } from '../../json/json';
import type { RequestBody } from '../http/transport';

/**
 * What a flow wants to send: a text or bytes as they are, undefined is none, all else as JSON.
 * @throws RvmError BAD_INPUT for what cannot be written so
 */
export function requestBody(value: unknown): RequestBody | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') {
    return { type: isJson(value) ? 'application/json' : 'text/plain; charset=utf-8', bytes: value };
  }
  try {
    if (ArrayBuffer.isView(value)) return { type: 'application/octet-stream', bytes: copyOf(value) };
    // What only looks like bytes has none to send.
    const text: string | undefined = Buffer.isBuffer(value) ? undefined : JSON.stringify(value);
    if (text !== undefined) return { type: 'application/json', bytes: text };
  } catch {
    // A circle, a number that JSON cannot write, bytes that were given away, or a trap of the flow: the error below says so.
  }
  throw new RvmError(
    'BAD_INPUT',
    'The payload cannot be written as JSON: send an object, a text or a Buffer.',
  );
}

/** The bytes that are there now, whatever a flow has written over the properties that tell them or does to them later. */
function copyOf(view: ArrayBufferView): Buffer {
  const bytes = types.isUint8Array(view)
    ? view
    : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return Buffer.from(new Uint8Array(bytes).buffer);
}
