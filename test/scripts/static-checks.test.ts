import assert from 'node:assert/strict';
import { runStaticChecks, type CheckResult } from '../../scripts/testing/static-checks';

describe('the static checks', () => {
  const check = (name: string, code: string): { name: string; command: string; args: string[] } => ({
    name,
    command: process.execPath,
    args: ['-e', code],
  });

  it('end with the first that fails, whose output is told', async () => {
    const told: CheckResult[] = [];
    const passed = await runStaticChecks(
      (result) => told.push(result),
      [check('one', ''), check('two', 'console.log("the reason"); process.exit(1)'), check('three', '')],
    );
    assert.equal(passed, false);
    assert.deepEqual(
      told.map(({ name, ok, output }) => [name, ok, output.trim()]),
      [
        ['one', true, ''],
        ['two', false, 'the reason'],
      ],
    );
  });

  it('pass where each of them does', async () => {
    assert.equal(await runStaticChecks(() => undefined, [check('one', ''), check('two', '')]), true);
  });
});
