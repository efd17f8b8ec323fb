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
    mixed = await run([
      'passes',
      'fails',
      'cannot be loaded',
      'names one test alone',
      'crashes',
      'fails late',
      'forgets a promise',
    ]);
  });

  after(() => {
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('counts what passes in the last line, and as mocha does', async () => {
    const { lastLine, output, status } = await run(['passes']);
    assert.equal(status, 0, output);
    assert.equal(lastLine, '2 passed, 0 failed');
    assert.match(output, /^ {2}2 passing \(/m);
  });

  it('counts what fails, and fails itself', () => {
    assert.equal(mixed.status, 1);
    assert.equal(mixed.lastLine, '4 passed, 6 failed');
    assert.match(mixed.output, /^ {2}4 passing \([^]*^ {2}6 failing$/m);
    assert.match(mixed.output, /^Failed: tests\.$/m);
  });

  it('tells at the end of each failure: its file, its title below those of its groups, and its error', () => {
    assert.match(failureOf(mixed, 'fails'), /a group › is wrong\n {5}Error: the reason\n {5} +at /);
    assert.match(failureOf(mixed, 'fails late'), /is right\n {5}Error: thrown by a timer/);
    assert.match(failureOf(mixed, 'forgets a promise'), /is right\n {5}Error: nobody waits/);
    assert.equal(failureOf(mixed, 'passes'), '');
  });

  it('counts a file that cannot be loaded as a failure', () => {
    assert.match(failureOf(mixed, 'cannot be loaded'), /not loadable/);
  });

  it('counts a file that names one test alone as a failure, for it hides the others', () => {
    assert.match(failureOf(mixed, 'names one test alone'), /\.only/);
  });

  it('names the test whose process crashes, keeps what passed before, and goes on in another process', () => {
    assert.match(failureOf(mixed, 'crashes'), /takes all with it\n {5}Its process ended with SIGSEGV/);
  });

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

  it('counts a test that is skipped as skipped', async () => {
    const { lastLine, output, status } = await run(['skips a test']);
    assert.equal(status, 0, output);
    assert.equal(lastLine, '0 passed, 0 failed, 1 skipped');
    assert.match(output, /^ {2}1 pending$/m);
  });

  it('counts a test that is skipped as a failure with --no-skips', async () => {
    const { lastLine, status } = await run(['skips a test'], ['--no-skips']);
    assert.equal(status, 1);
    assert.equal(lastLine, '0 passed, 1 failed');
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
    let endless: Outcome;
    let open: Outcome;
    let leaving: Outcome;
    let crashing: Outcome;
    let standing: Outcome;

    before(async () => {
      [endless, open, leaving, crashing, standing] = await Promise.all([
        run(['never ends'], ['--silence', '10']),
        // Apart, for what is found at the end of a process is booked on the last of its files.
        run(['leaves a server open'], ['--silence', '10']),
        run(['leaves a process behind']),
        run(['crashes and leaves a process behind']),
        run(['stands still at its end'], ['--silence', '10']),
      ]);
    });
    after(() => {
      for (const kind of ['leaves a process behind', 'crashes and leaves a process behind'] as const)
        process.kill(leftBy(kind), 'SIGKILL');
    });

    const leftBy = (kind: Kind): number => Number(fs.readFileSync(`${fileOf(kind)}.pid`, 'utf8'));

    // What that has started holds its output open: where it goes on, the command does not come to an end.
    it('ends a file that never ends, with all that it has started, and names the test', () => {
      assert.match(
        failureOf(endless, 'never ends'),
        /goes round and round\n {5}Nothing has happened for 10 s/,
      );
    });

    it('names a file that leaves something open, and what that is', () => {
      assert.match(
        failureOf(open, 'leaves a server open'),
        /the end of its process[^]*Still open: .*TCPServerWrap/,
      );
      assert.deepEqual([endless.lastLine, open.lastLine], ['1 passed, 1 failed', '1 passed, 1 failed']);
    });

    it('does not wait for a process that a file has left behind, and names the file', () => {
      // It is still there.
      process.kill(leftBy('leaves a process behind'), 0);
      assert.match(
        failureOf(leaving, 'leaves a process behind'),
        /the end of its process\n {5}Its process ended with code 0, and something it started lives on/,
      );
      assert.equal(leaving.lastLine, '1 passed, 1 failed');
    });

    it('does not wait for a process that a file has left behind that crashes', () => {
      process.kill(leftBy('crashes and leaves a process behind'), 0);
      assert.match(
        failureOf(crashing, 'crashes and leaves a process behind'),
        /takes all with it\n {5}Its process ended with SIGSEGV, and something it started lives on/,
      );
    });

    it('ends a process that stands still when it is to end', () => {
      assert.match(
        failureOf(standing, 'stands still at its end'),
        /the end of its process\n {5}Its process ended with SIGKILL/,
      );
      assert.equal(standing.lastLine, '1 passed, 1 failed');
    });
  });
});
