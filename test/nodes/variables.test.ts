import assert from 'node:assert/strict';
import { variableIn } from '../../lib/environment-variable';
import { isUsablePhrase } from '../../lib/webhook/proof/receiving-station';
import { firstUnsetVariable } from '../../nodes/support/settings';

describe('a value that stands for an environment variable', () => {
  for (const value of ['${NAME}', '$(NAME)', ' ${NAME} ']) {
    it(`is ${JSON.stringify(value)}: for the settings, and as a phrase that proves nothing`, () => {
      assert.equal(variableIn(value), 'NAME');
      assert.equal(firstUnsetVariable({ other: 1, value }), 'NAME');
      assert.equal(isUsablePhrase(value), false);
    });
  }

  for (const value of ['${NAME', 'x${NAME}', '${A}${B}', '$NAME', '${}', '$()', 7]) {
    it(`is not ${JSON.stringify(value)}: for the settings and as a phrase alike`, () => {
      assert.equal(variableIn(value), undefined);
      assert.equal(firstUnsetVariable({ value }), undefined);
      assert.equal(isUsablePhrase(String(value)), true);
    });
  }
});
