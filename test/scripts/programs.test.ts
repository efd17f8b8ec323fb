import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Mocha from 'mocha';
import { ROOT } from '../support/node-red/node-red';
import { needs, NO_SKIPS_VARIABLE, PROGRAM_NAMES } from '../support/suite/programs';

/** A suite by itself, with hooks and tests that note that they ran; group `c` is in `b`, which is in `a`. */
async function ran(set: (groups: Record<'a' | 'b' | 'c', Mocha.Suite>) => void): Promise<string[]> {
  const notes: string[] = [];
  const a = new Mocha.Suite('a', new Mocha.Context());
  const b = Mocha.Suite.create(a, 'b');
  const c = Mocha.Suite.create(b, 'c');
  set({ a, b, c });
  for (const group of [a, b, c]) {
    for (const hook of ['beforeAll', 'beforeEach', 'afterEach', 'afterAll'] as const)
      group[hook](() => void notes.push(`${hook} of ${group.title}`));
    group.addTest(new Mocha.Test('a test', () => void notes.push(`test of ${group.title}`)));
  }
  const runner = new Mocha.Runner(a, { delay: false });
  runner.on('fail', ({ title }, error: Error) => void notes.push(`${title} has failed: ${error.message}`));
  runner.on('pending', (test) => void notes.push(test.title));
  await new Promise((resolve) => runner.run(resolve));
  return notes;
}

describe('a program that a test needs', () => {
  let saved: Record<'PATH' | typeof NO_SKIPS_VARIABLE, string | undefined>;

  beforeEach(() => {
    saved = { PATH: process.env.PATH, [NO_SKIPS_VARIABLE]: process.env[NO_SKIPS_VARIABLE] };
    delete process.env[NO_SKIPS_VARIABLE];
    process.env.PATH = path.join(ROOT, 'icons');
  });

  afterEach(() => {
    for (const [name, value] of Object.entries(saved)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it('is a failure with --no-skips where it is missing, and is named', function () {
    process.env[NO_SKIPS_VARIABLE] = 'yes';
    assert.throws(
      () => needs(this, 'gst-launch-1.0', 'strace'),
      /^Error: gst-launch-1\.0 is not installed, strace is not installed\. /,
    );
  });

  const title = 'a test (not run: strace is not installed)';

  function needStrace(group: Mocha.Suite): void {
    group.beforeAll(function () {
      needs(this, 'strace');
    });
  }

  it('skips a group before anything is set up, whose hooks and groups then have nothing to take away', async () => {
    const notes = await ran(({ b }) => needStrace(b));
    const ofA = ['beforeAll of a', 'beforeEach of a', 'test of a', 'afterEach of a'];
    assert.deepEqual(notes, [...ofA, title, title, 'afterAll of a']);
  });

  it('skips a group after something was set up, which is taken away', async () => {
    const notes = await ran(({ c }) => {
      c.beforeAll(() => undefined);
      needStrace(c);
    });
    assert.deepEqual(notes.slice(-4), [title, 'afterAll of c', 'afterAll of b', 'afterAll of a']);
  });

  it('is installed by the script of the CI', () => {
    const script = fs.readFileSync(path.join(ROOT, '.ci', 'run'), 'utf8');
    const installed = [...script.matchAll(/^need (\S+) /gm)].map(([, name]) => name);
    assert.deepEqual(new Set(installed), new Set(PROGRAM_NAMES));
  });
});
