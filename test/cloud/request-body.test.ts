import assert from 'node:assert/strict';
import { failure, stationOfEachTest } from '../support/service/scripted-station';

const SENT = { start: 'url', url: '/anything', rels: [], method: 'POST' } as const;

function refusing(): never {
  throw new Error('not for you');
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

describe('the body of a free request', () => {
  const station = stationOfEachTest();
  const { service } = station;

  beforeEach(() => service.on('POST', '/anything', ({ body }) => ({ json: { body } })));

  const words = Buffer.from('two words');
  const saying = (length: PropertyDescriptor) =>
    Object.defineProperty(Buffer.from(words), 'byteLength', length);
  const bytes: [string, unknown][] = [
    ['a Buffer', words],
    ['a view of bytes', new Uint8Array(words)],
    ['a view of something else', new DataView(new Uint8Array(words).buffer)],
    ['a part of a larger one', Buffer.from('not two words').subarray(4)],
    ['shared bytes', sharedCopyOf(words)],
    ['a Buffer that says it is longer', saying({ value: 99 })],
    ['a Buffer that says it is shorter', saying({ value: 2 })],
    ['a Buffer that does not say', saying({ get: refusing })],
  ];
  for (const [kind, body] of bytes) {
    it(`is the bytes that are there for ${kind}`, async () => {
      const { payload } = await station.client().request({ ...SENT, body });
      assert.deepEqual(payload, { body: 'two words' });
    });
  }

  const nothing: [string, unknown][] = [
    ['a proxy of a Buffer', new Proxy(Buffer.from('abc'), {})],
    ['a proxy that cannot be asked', new Proxy({}, { getPrototypeOf: refusing })],
    ['an object that only looks like a Buffer', Object.create(Buffer.prototype)],
    ['bytes that were given away', detached()],
    ['an object that cannot be read', Object.defineProperty({}, 'text', { get: refusing, enumerable: true })],
  ];
  for (const [kind, body] of nothing) {
    it(`is BAD_INPUT for ${kind}, and nothing is sent`, async () => {
      await failure(station.client().request({ ...SENT, body }), 'BAD_INPUT');
      assert.equal(service.count('POST', '/anything'), 0);
    });
  }
});

function sharedCopyOf(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
