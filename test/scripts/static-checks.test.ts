import assert from 'node:assert/strict';
import { runStaticChecks } from '../../scripts/testing/static-checks';

describe('the static checks', () => {
  for (const [title, passed, codes, told] of [
    [
      'end with the first that fails, whose output is told',
      false,
      ['', 'console.log("the reason"); process.exit(1)', ''],
      ['0 true ', '1 false the reason'],
    ],
    ['pass where each of them does', true, ['', ''], ['0 true ', '1 true ']],
  ] as const)
    it(title, async () => {
      const lines: string[] = [];
      const checks = codes.map((code, at) => ({
        name: String(at),
        command: process.execPath,
        args: ['-e', code],
      }));
      const result = await runStaticChecks(
        ({ name, ok, output }) => void lines.push(`${name} ${ok} ${output.trim()}`),
        checks,
      );
      assert.deepEqual([result, lines], [passed, told]);
    });
});
