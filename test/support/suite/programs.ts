import { accessSync, constants, globSync } from 'node:fs';
import path from 'node:path';

/** What the tests need beyond npm, each installed by `.ci/run`; with the names that it has where it is called otherwise. */
const PROGRAMS = {
  caddy: [],
  chattr: [],
  chromium: ['chromium-browser', 'google-chrome'],
  curl: [],
  ffmpeg: [],
  ffprobe: [],
  'gst-launch-1.0': [],
  nginx: [],
  haproxy: [],
  openssl: [],
  pgbouncer: [],
  postgres: [],
  prometheus: [],
  promtool: [],
  psql: [],
  initdb: [],
  pg_basebackup: [],
  pg_ctl: [],
  strace: [],
  'systemd-analyze': [],
  tinyproxy: [],
} satisfies Record<string, string[]>;

export type Program = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as Program[];

/** Set by `--no-skips`: a test that cannot be run has failed. */
export const NO_SKIPS_VARIABLE = 'RVM_NO_SKIPS';

/** A test that cannot be run says why at the end of its title, where the report finds it. */
export const NOT_RUN = / \(not run: (.*)\)$/;

/** Where a program of the system is. */
export function programPath(program: Program): string | undefined {
  const folders = searchedFolders();
  const ending = process.platform === 'win32' ? '.exe' : '';
  const names = [program, ...PROGRAMS[program]].map((name) => `${name}${ending}`);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
}

/** Those of administrators are not on the PATH of everybody; a PATH without the system's own folder means what it says. */
function searchedFolders(): string[] {
  const named = (process.env.PATH ?? '').split(path.delimiter);
  if (!named.includes('/usr/bin')) return named;
  // Debian has the programs of each version of PostgreSQL in a folder of its own.
  const databases = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
  return [...named, '/usr/sbin', '/usr/local/sbin', ...databases];
}

/** For the first line of a test, or of a `before`: what cannot be run without these programs is not. */
export function needs(context: Mocha.Context, ...programs: Program[]): void {
  const missing = programs.filter((program) => programPath(program) === undefined);
  if (missing.length > 0) cannotRun(context, missing.map((name) => `${name} is not installed`).join(', '));
}

/**
 * Skips a test, or all tests below a hook, and says why in their titles.
 * @throws Error with `--no-skips`, as in CI, which has everything: a test that is skipped there would be missed by nobody
 */
export function cannotRun(context: Mocha.Context, why: string): never {
  if (process.env[NO_SKIPS_VARIABLE] !== undefined)
    throw new Error(`${why}. No test may be skipped here: .ci/run installs what they need.`);
  const { test } = context;
  const isHook = test !== undefined && 'type' in test && test.type === 'hook';
  if (isHook && test.parent !== undefined) letHooksBe(test, test.parent);
  for (const each of isHook ? testsBelow(test.parent) : [test])
    if (each !== undefined) each.title += ` (not run: ${why})`;
  return context.skip();
}

/** Mocha runs them without a test, too: where nothing was set up before this hook, there is nothing to take away. */
function letHooksBe(skipping: unknown, suite: Mocha.Suite): void {
  const [first] = suite['_beforeAll'];
  if (first === skipping) suite['_afterAll'].length = 0;
  const below = (of: Mocha.Suite): Mocha.Suite[] => of.suites.flatMap((each) => [each, ...below(each)]);
  for (const each of below(suite)) each['_beforeAll'].length = each['_afterAll'].length = 0;
}

function testsBelow(suite: Mocha.Suite | undefined): Mocha.Test[] {
  return suite === undefined ? [] : [...suite.tests, ...suite.suites.flatMap(testsBelow)];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
