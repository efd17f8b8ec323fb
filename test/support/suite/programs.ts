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
  strace: [],
  'systemd-analyze': [],
  tinyproxy: [],
} satisfies Record<string, string[]>;

export type Program = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as Program[];

/** Where a program of the system is: those of administrators are not on the PATH of everybody. */
export function programPath(program: Program): string | undefined {
  // Debian has the programs of each version of PostgreSQL in a folder of its own.
  const databases = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
  const folders = [
    ...(process.env.PATH ?? '').split(path.delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
    ...databases,
  ];
  const ending = process.platform === 'win32' ? '.exe' : '';
  const names = [program, ...PROGRAMS[program]].map((name) => `${name}${ending}`);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
}

/** For the first line of a test, or of a `before`: what cannot be run without these programs is not. */
export function needs(context: Mocha.Context, ...programs: Program[]): void {
  const missing = programs.filter((program) => programPath(program) === undefined);
  if (missing.length > 0) cannotRun(context, missing.map((name) => `${name} is not installed`).join(', '));
}

/**
 * Skips a test, or all tests below a hook, and says why in their titles.
 * @throws Error in CI, which has everything: a test that is skipped there would be missed by nobody
 */
export function cannotRun(context: Mocha.Context, why: string): never {
  if (process.env.CI) throw new Error(`${why}. In CI no test is skipped: .ci/run installs what they need.`);
  const { test } = context;
  const isHook = test !== undefined && 'type' in test && test.type === 'hook';
  for (const each of isHook ? testsBelow(test.parent) : [test])
    if (each !== undefined) each.title += ` (not run: ${why})`;
  return context.skip();
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
