import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';
import { needs, NO_SKIPS_VARIABLE, PROGRAM_NAMES } from '../support/suite/programs';

describe('a program that a test needs', () => {
  let saved: Record<string, string | undefined>;

  beforeEach(() => {
    saved = { PATH: process.env.PATH, [NO_SKIPS_VARIABLE]: process.env[NO_SKIPS_VARIABLE] };
    process.env.PATH = path.join(ROOT, 'icons');
  });

  afterEach(() => {
    for (const [name, value] of Object.entries(saved)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it('is a failure of a run without skips where it is missing, and is named', function () {
    process.env[NO_SKIPS_VARIABLE] = 'yes';
    assert.throws(
      () => needs(this, 'gst-launch-1.0', 'strace'),
      /^Error: gst-launch-1\.0 is not installed, strace is not installed\. /,
    );
  });

  it('is installed by the script of the CI', () => {
    const script = fs.readFileSync(path.join(ROOT, '.ci', 'run'), 'utf8');
    const installed = [...script.matchAll(/^need (\S+) /gm)].map(([, name]) => name);
    assert.deepEqual(new Set(installed), new Set(PROGRAM_NAMES));
  });
});
