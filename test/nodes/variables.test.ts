import assert from 'node:assert/strict';
import { variableIn } from '../../lib/text';
import { isUsablePhrase } from '../../lib/webhook/proof/receiving-station';
import { unsetTogether, unsetVariableError, unsetVariables } from '../../nodes/support/settings';

describe('a value that stands for an environment variable', () => {
  for (const value of ['${NAME}', '$(NAME)', ' ${NAME} ']) {
    it(`is ${JSON.stringify(value)}: for the settings, and as a phrase that proves nothing`, () => {
      assert.equal(variableIn(value), 'NAME');
      assert.deepEqual(unsetVariables({ other: 1, value }), ['NAME']);
      assert.equal(isUsablePhrase(value), false);
    });
  }

  for (const value of ['${NAME', 'x${NAME}', '${A}${B}', '$NAME', '${}', '$()', 7]) {
    it(`is not ${JSON.stringify(value)}: for the settings and as a phrase alike`, () => {
      assert.equal(variableIn(value), undefined);
      assert.equal(unsetVariables({ value }), undefined);
      assert.equal(isUsablePhrase(String(value)), true);
    });
  }
});

describe('environment variables that are not set', () => {
  it('are named all, in the order of the properties, and each once', () => {
    const cloud = unsetVariables({ url: '${URL}', timeout: 5 }, { apiKey: '$(KEY)' });
    const station = unsetVariables(
      { cloud: 'cloud' },
      { username: '${NAME}', password: '${KEY}' },
      undefined,
    );
    assert.deepEqual(cloud, ['URL', 'KEY']);
    assert.deepEqual(unsetTogether(station, cloud, undefined), ['NAME', 'KEY', 'URL']);
    assert.equal(unsetTogether(undefined, []), undefined);
  });

  it('are told in one sentence, which says what to do', () => {
    const { code, message } = unsetVariableError(['URL', 'KEY']);
    assert.equal(code, 'CONFIG_MISSING');
    assert.match(message, /^The environment variables URL, KEY are not set: set them /);
    assert.match(unsetVariableError(['KEY']).message, /^The environment variable KEY is not set: set it /);
  });
});
