import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';
import { byLane } from '../support/suite/lanes';

const COMMAND = path.join(ROOT, 'scripts', 'test.ts');

/** Test files by what they are to show. */
const FILES = {
  passes: `it('is right', () => {}); it('is right, too', () => {});`,
  fails: `describe('a group', () => { it('is wrong', () => { throw new Error('the reason'); }); it('is right', () => {}); });`,
  'cannot be loaded': `it('is right', () => {}); throw new Error('not loadable');`,
  'names one test alone': `it.only('is right', () => {});`,
  crashes: `it('is right', () => {}); it('takes all with it', () => process.kill(process.pid, 'SIGSEGV'));`,
  'never ends': `it('is right', () => {});
    it('goes round and round', () => {
      require('child_process').spawn('sleep', ['600'], { stdio: 'inherit' });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`,
  'leaves a server open': `it('is right', () => { require('net').createServer().listen(0, '127.0.0.1'); });`,
  'leaves a process behind': `it('is right', () => leaveProcess());`,
  'crashes and leaves a process behind': `it('takes all with it', () => {
      leaveProcess();
      process.kill(process.pid, 'SIGSEGV');
    });`,
  'stands still at its end': `it('is right', () => {
      process.once('disconnect', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`,
  'has no test': '',
  'skips a test': `it('is not run', function () { this.skip(); });`,
  'needs programs': `for (const what of ['ffmpeg is not installed', 'ffmpeg is not installed, strace is not installed'])
    it('is not run (not run: ' + what + ')', function () { this.skip(); });`,
  'forgets a promise': `it('is right', () => { Promise.reject(new Error('nobody waits')); return new Promise(() => {}); });`,
  removed: '',
  'fails late': `it('is right', (done) => { setTimeout(() => { throw new Error('thrown by a timer'); }, 1); });`,
};
type Kind = keyof typeof FILES;

/** Begins each of them: a process of its own group, which nobody ends, holds on to the output. */
const LEAVE_PROCESS = `function leaveProcess() {
  const child = require('child_process').spawn('sleep', ['600'], { detached: true, stdio: 'inherit' });
  child.unref();
  require('fs').writeFileSync(__filename + '.pid', String(child.pid));
}
`;

interface Outcome {
  status: number | null;
  output: string;
  lastLine: string;
}

describe('the command that runs the tests', () => {
  let folder: string;
  let mixed: Outcome;

  const fileOf = (kind: string): string => path.join(folder, `${kind.replaceAll(' ', '-')}.test.js`);

  async function run(kinds: Kind[], options: string[] = []): Promise<Outcome> {
    const args = ['--import=tsx', COMMAND, '--tests-only', ...options, ...kinds.map(fileOf)];
    const child = spawn(process.execPath, args, { cwd: ROOT });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => (output += piece.toString()));
    await once(child, 'close');
    return { status: child.exitCode, output, lastLine: output.trimEnd().split('\n').at(-1) ?? '' };
  }

  /** What the end tells of the failure of a file, or nothing. */
  function failureOf({ output }: Outcome, kind: Kind): string {
    const failures = output.slice(output.search(/^ {2}\d+ failing/m)).split(/^ {2}\d+\) /m);
    return failures.find((text) => text.includes(`${path.basename(fileOf(kind))}:`)) ?? '';
  }

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-test-command-'));
    for (const [kind, text] of Object.entries(FILES)) fs.writeFileSync(fileOf(kind), LEAVE_PROCESS + text);
    mixed = await run(['passes', ...FAILING.map(([, kind]) => kind)]);
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  it('counts what passes in the last line, and as mocha does', async () => {
    const { lastLine, output, status } = await run(['passes']);
    assert.deepEqual([status, lastLine], [0, '2 passed, 0 failed'], output);
    assert.match(output, /^ {2}2 passing \(/m);
  });

  it('counts what fails, and fails itself', () => {
    assert.deepEqual([mixed.status, mixed.lastLine], [1, '4 passed, 6 failed']);
    assert.match(mixed.output, /^ {2}4 passing \([^]*^ {2}6 failing$/m);
    assert.match(mixed.output, /^Failed: tests\.$/m);
    assert.equal(failureOf(mixed, 'passes'), '');
  });

  const FAILING: [title: string, kind: Kind, told: RegExp][] = [
    [
      'tells of a failure its title below those of its groups, and its error',
      'fails',
      /a group › is wrong\n {5}Error: the reason\n {5} +at /,
    ],
    ['tells what a timer throws', 'fails late', /is right\n {5}Error: thrown by a timer/],
    ['tells what nobody waits for', 'forgets a promise', /is right\n {5}Error: nobody waits/],
    ['counts a file that cannot be loaded as a failure', 'cannot be loaded', /not loadable/],
    [
      'counts a file that names one test alone as a failure, for it hides the others',
      'names one test alone',
      /\.only/,
    ],
    [
      'names the test whose process crashes, keeps what passed before, and goes on in another process',
      'crashes',
      /takes all with it\n {5}Its process ended with SIGSEGV/,
    ],
  ];
  for (const [title, kind, told] of FAILING) it(title, () => assert.match(failureOf(mixed, kind), told));

  for (const [kinds, options] of [
    [['has no test'], []],
    [['passes'], ['--grep', 'a title that no test has']],
  ] as [Kind[], string[]][]) {
    it(`fails where no test is run: ${[...kinds, ...options].join(' ')}`, async () => {
      const { lastLine, output, status } = await run(kinds, options);
      assert.equal(status, 1);
      assert.match(output, /no test was run/);
      assert.equal(lastLine, '0 passed, 1 failed');
    });
  }

  for (const [option, value] of byLane<[option: string, value: string]>(
    [],
    [
      ['--jobs', '0'],
      ['--jobs', '1.5'],
      ['--silence', 'x'],
    ],
    [
      ['--jobs', 'x'],
      ['--silence', '0'],
      ['--silence', '1.5'],
    ],
  )) {
    it(`refuses ${option}=${value}, for it is no positive integer`, async () => {
      const { lastLine, output, status } = await run(['passes'], [`${option}=${value}`]);
      assert.equal(status, 1);
      assert.match(output, new RegExp(`^${option} takes a positive integer, not "${value}"\\.$`, 'm'));
      assert.equal(lastLine, '0 passed, 1 failed');
    });
  }

  for (const [how, options, status, lastLine] of [
    ['skipped', [], 0, '0 passed, 0 failed, 1 skipped'],
    ['a failure with --no-skips', ['--no-skips'], 1, '0 passed, 1 failed'],
  ] as const)
    it(`counts a test that is skipped as ${how}`, async () => {
      const outcome = await run(['skips a test'], [...options]);
      assert.deepEqual([outcome.status, outcome.lastLine], [status, lastLine], outcome.output);
      assert.equal(/^ {2}1 pending$/m.test(outcome.output), status === 0);
    });

  it('tells in a line for each program that is missing what was left out', async () => {
    const { output } = await run(['needs programs']);
    const told = output.split('\n').filter((line) => line.includes('is not installed'));
    assert.equal(told.length, 2, output);
    assert.match(told[0] ?? '', /^ffmpeg is not installed: 2 tests of .* left out$/);
    assert.match(told[1] ?? '', /^strace is not installed: 1 test of .* left out$/);
  });

  it('tells the slowest files', async () => {
    const files = Array.from({ length: 6 }, (_, index) => path.join(folder, `slow-${index}.test.js`));
    const pauses = files.map((file, index) => [file, index === 0 ? 300 : 0] as const);
    for (const [file, ms] of pauses)
      fs.writeFileSync(file, `it('waits', () => new Promise((done) => setTimeout(done, ${ms})));`);
    const { output } = await run([], ['--jobs', '1', ...files]);
    const [, slowest = ''] = output.split('The 5 slowest files:\n');
    assert.match(slowest.split('\n')[0] ?? '', / s {2}.*slow-0\.test\.js$/);
    assert.equal(slowest.split('\n\n')[0]?.split('\n').length, 5);
  });

  it('fails where there is no such file', async () => {
    fs.rmSync(fileOf('removed'));
    const { lastLine, output, status } = await run(['removed']);
    assert.equal(status, 1);
    assert.match(output, /^There is no .*removed\.test\.js\.$/m);
    assert.equal(lastLine, '0 passed, 1 failed');
  });

  describe('whose processes do not come to an end by themselves', () => {
    const leftBy = (kind: Kind): number => Number(fs.readFileSync(`${fileOf(kind)}.pid`, 'utf8'));
    const LEAVING = ['leaves a process behind', 'crashes and leaves a process behind'] as const;
    const ENDLESS: [title: string, kind: Kind, told: RegExp][] = [
      // What that has started holds its output open: where it goes on, the command does not come to an end.
      [
        'ends a file that never ends, with all that it has started, and names the test',
        'never ends',
        /goes round and round\n {5}Nothing has happened for 10 s/,
      ],
      [
        'names a file that leaves something open, and what that is',
        'leaves a server open',
        /the end of its process[^]*Still open: .*TCPServerWrap/,
      ],
      [
        'does not wait for a process that a file has left behind, and names the file',
        LEAVING[0],
        /the end of its process\n {5}Its process ended with code 0, and something it started lives on/,
      ],
      [
        'does not wait for a process that a file has left behind that crashes',
        LEAVING[1],
        /takes all with it\n {5}Its process ended with SIGSEGV, and something it started lives on/,
      ],
      [
        'ends a process that stands still when it is to end',
        'stands still at its end',
        /the end of its process\n {5}Its process ended with SIGKILL/,
      ],
    ];
    let outcomes: Outcome[];

    before(async () => {
      // Apart, for what is found at the end of a process is booked on the last of its files.
      outcomes = await Promise.all(ENDLESS.map(([, kind]) => run([kind], ['--silence', '10'])));
    });
    after(() => {
      for (const kind of LEAVING) process.kill(leftBy(kind), 'SIGKILL');
    });

    for (const [at, [title, kind, told]] of ENDLESS.entries())
      it(title, () => {
        const outcome = outcomes[at] ?? assert.fail();
        assert.match(failureOf(outcome, kind), told);
        if (kind !== LEAVING[1]) assert.equal(outcome.lastLine, '1 passed, 1 failed');
        // It is still there.
        if (LEAVING.some((each) => each === kind)) process.kill(leftBy(kind), 0);
      });
  });
});
