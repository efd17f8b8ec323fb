import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { RvmError, type RvmErrorCode } from '../../lib/error';
import { connectionStatus, failureStatus, unsetStatus } from '../../nodes/support/status';
import { ROOT } from '../support/node-red/node-red';

const TEXTS = (
  JSON.parse(fs.readFileSync(path.join(ROOT, 'nodes/support/locales/en-US.json'), 'utf8')) as {
    status: Record<string, string>;
  }
).status;

function shown(code: RvmErrorCode): string | undefined {
  const RED = { _: (key: string) => key } as NodeAPI;
  const { fill, shape, text } = connectionStatus(
    RED,
    { kind: 'refused', error: new RvmError(code, '') },
    false,
  );
  assert.deepEqual([fill, shape], ['red', 'ring']);
  return TEXTS[(text ?? '').replace(/^status\./, '')];
}

describe('the status of a station that is refused', () => {
  const expected: [RvmErrorCode, string][] = [
    ['CONFIG_MISSING', 'not configured'],
    ['BAD_INPUT', 'wrong setting'],
    ['API_KEY_REJECTED', 'wrong API key'],
    ['LOGIN_FAILED', 'wrong password'],
    ['INCOMPATIBLE_VERSION', 'incompatible'],
    ['VERSION_NOT_REQUESTED', 'incompatible'],
    ['PERMISSION_DENIED', 'no permission'],
    ['LINK_NOT_OFFERED', 'not offered by the service'],
    ['UNTRUSTED_LINK', 'untrusted link'],
    ['NETWORK', 'sandbox cannot start'],
  ];
  for (const [code, text] of expected) {
    it(`is "${text}" for ${code}`, () => assert.equal(shown(code), text));
  }
});

/** What the page of errors says of each code. */
const TOLD = fs
  .readFileSync(path.join(ROOT, 'docs/errors.md'), 'utf8')
  .split(/^### /m)
  .slice(1)
  .map((section): [RvmErrorCode, string] => [section.split('\n', 1)[0] as RvmErrorCode, section]);

describe('the status of a node whose last message has failed', () => {
  for (const [code, told] of TOLD) {
    it(`is a red dot with a short text for ${code}, which the page of errors tells`, () => {
      const { fill, shape, text } = failureStatus(code);
      assert.deepEqual([fill, shape], ['red', 'dot']);
      const inEnglish = TEXTS[(text ?? '').replace(/^status\./, '')] ?? '';
      assert.match(inEnglish, /^[^_]{5,30}$/);
      assert.ok(told.includes(`\`${inEnglish}\``), inEnglish);
    });
  }
});

describe('the status of a node that lacks environment variables', () => {
  const RED = {
    _: (key: string, values: Record<string, string>) =>
      Object.entries(values).reduce(
        (text, [name, value]) => text.replace(`__${name}__`, value),
        TEXTS[key.replace(/^status\./, '')] ?? '',
      ),
  } as NodeAPI;

  it('names the only one, or all of them', () => {
    assert.deepEqual(unsetStatus(RED, ['URL']), { fill: 'red', shape: 'ring', text: 'URL is not set' });
    assert.equal(unsetStatus(RED, ['URL', 'KEY']).text, 'URL, KEY are not set');
  });
});
