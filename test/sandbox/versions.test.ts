import assert from 'node:assert/strict';
import { parseSupportedVersions, requestedRange, selectVersion } from '../../sandbox/world/versions';

function select(accept: string, supported: string): string | undefined {
  const range = requestedRange(accept);
  assert.ok(range !== undefined, 'a version is requested');
  return selectVersion(range, parseSupportedVersions(supported) ?? []);
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
  ] as const) {
    it(`selects ${expected ?? 'none'} for ${range} where ${supported} is supported`, () => {
      assert.equal(select(`application/json; version=${range}`, supported), expected);
    });
  }

  for (const accept of [
    'application/json;version=1-3',
    'application/json; charset=utf-8; version=1-3',
    'application/json; version="1-3"',
    'text/html, application/json; Version=1-3',
  ]) {
    it(`reads the range of ${accept}`, () => assert.equal(select(accept, '1-3'), '3'));
  }

  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json; version=3',
    'text/html; version=1-3',
  ]) {
    it(`finds no requested version in ${accept ?? 'no header'}`, () => {
      assert.equal(requestedRange(accept), undefined);
    });
  }

  for (const [text, versions] of [
    ['0', ['0']],
    ['1-3', ['1', '2', '3']],
    ['5,6', ['5', '6']],
    ['1.2', ['1.2']],
    ['1.2-1.4', ['1.2', '1.3', '1.4']],
    ['1.2-3', ['1.2', '2', '3']],
    ['1.9-2.1', ['1.9', '2', '2.1']],
    ['2.0.1-2.0.3', ['2.0.1', '2.0.2', '2.0.3']],
    ['1.10,1.2', ['1.2', '1.10']],
    ['2,1-3,2.0', ['1', '2', '3']],
  ] as const) {
    it(`supports ${versions.join(', ')} for "${text}"`, () => {
      assert.deepEqual(parseSupportedVersions(text), versions);
    });
  }

  for (const text of ['', 'x', '3-1', '1-', '1-3-5', '1.', '.5', '1..2', '1.3-1.2', '1-200', '1.1-1.200']) {
    it(`refuses "${text}" as the supported versions`, () => {
      assert.equal(parseSupportedVersions(text), undefined);
    });
  }
});
