import assert from 'node:assert/strict';

/** An object inside a message, such as `webhook` or `payload`. */
export function part(msg: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = msg[name];
  assert.ok(typeof value === 'object' && value !== null, `msg.${name} is an object`);
  return { ...value };
}

/** A Buffer, as it comes over from the process of Node-RED. */
export function bytesOf(payload: unknown): Buffer {
  const { type, data } = payload as { type: string; data: number[] };
  assert.equal(type, 'Buffer');
  return Buffer.from(data);
}
