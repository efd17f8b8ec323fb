import assert from 'node:assert/strict';
import { parseSupportedVersions, requestedRange, selectVersion } from '../../sandbox/world/versions';

function select(accept: string | undefined, supported: string): string | undefined {
  const range = requestedRange(accept);
  return range && selectVersion(range, parseSupportedVersions(supported) ?? []);
}

describe('version negotiation of the sandbox', () => {
  for (const [range, supported, expected] of [
    ['2-4', '1-3', '3'],
    ['7-7', '5,6', undefined],
    ['1-9', '1-3', '3'],
    ['2-2', '1-3', '2'],
    ['1.5-2.5', '1-3', '2'],
    ['3.1-3.9', '1-3', undefined],
    ['1-2.0', '1-3', '2'],
    ['4-1', '1-3', undefined],
    ['1-9', '1.2', '1.2'],
    ['1-1.9', '1.2,1.10', '1.2'],
    ['1-1.10', '1.2,1.10', '1.10'],
    ['1.3-1.9', '1.2', undefined],
  ] as const)
    it(`selects ${expected ?? 'none'} for ${range} where ${supported} is supported`, () => {
      assert.ok(requestedRange(`application/json; version=${range}`) !== undefined);
      assert.equal(select(`application/json; version=${range}`, supported), expected);
    });

  for (const [accept, expected] of [
    ['application/json;version=1-3', '3'],
    ['application/json; charset=utf-8; version=1-3', '3'],
    ['application/json; version="1-3"', '3'],
    ['text/html, application/json; Version=1-3', '3'],
    [undefined, undefined],
    ['', undefined],
    ['*/*', undefined],
    ['application/json', undefined],
    ['application/json; version=3', undefined],
    ['text/html; version=1-3', undefined],
  ] as const)
    it(`finds ${expected === undefined ? 'no' : 'the'} requested range in ${accept ?? 'no header'}`, () => {
      assert.equal(select(accept, '1-3'), expected);
    });

  for (const [text, ...versions] of [
    ['0', '0'],
    ['1-3', '1', '2', '3'],
    ['5,6', '5', '6'],
    ['1.2', '1.2'],
    ['1.2-1.4', '1.2', '1.3', '1.4'],
    ['1.2-3', '1.2', '2', '3'],
    ['1.9-2.1', '1.9', '2', '2.1'],
    ['2.0.1-2.0.3', '2.0.1', '2.0.2', '2.0.3'],
    ['1.10,1.2', '1.2', '1.10'],
    ['2,1-3,2.0', '1', '2', '3'],
  ] as const)
    it(`supports ${versions.join(', ')} for "${text}"`, () => {
      assert.deepEqual(parseSupportedVersions(text), versions);
    });

  for (const text of ['', 'x', '3-1', '1-', '1-3-5', '1.', '.5', '1..2', '1.3-1.2', '1-200', '1.1-1.200'])
    it(`refuses "${text}" as the supported versions`, () => {
      assert.equal(parseSupportedVersions(text), undefined);
    });
});
