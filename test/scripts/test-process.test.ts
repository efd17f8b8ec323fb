import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { TestProcess, type FileResult } from '../../scripts/testing/test-process';
import { eventually } from '../support/time/patience';

/** Seconds. */
const SILENCE = 60;
/** Stays, and lets go of its command once it has told that it is through. */
const HEARS_NO_MORE = `it('is right', () => {
  setInterval(() => {}, 1000);
  const send = process.send;
  process.send = (news) => send.call(process, news, () => news.kind === 'ended' && process.disconnect());
});`;

describe('a process that runs test files', () => {
  let folder: string;
  let tests: TestProcess;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-test-process-'));
  });
  beforeEach(() => {
    tests = new TestProcess();
  });
  afterEach(() => tests.kill());
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  function run(text: string): Promise<FileResult> {
    const file = path.join(folder, 'some.test.js');
    fs.writeFileSync(file, text);
    return tests.run({ file }, SILENCE);
  }

  it('is let go of without a word where all is in order', async () => {
    assert.equal((await run(`it('is right', () => {});`)).passed, 1);
    assert.ok(tests.isRunning);
    assert.equal(await tests.end(SILENCE), undefined);
  });

  it('tells that it has gone after a file', async () => {
    await run(`it('is right', () => {});`);
    tests.kill();
    await eventually(() => !tests.isRunning, 'its end');
    assert.match((await tests.end(SILENCE))?.failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
  });

  it('may go in the moment in which it is told to end', async () => {
    await run(`it('is right', () => {});`);
    tests.kill();
    assert.match((await tests.end(SILENCE))?.failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
  });

  it('may go in the moment in which it is given a file', async () => {
    tests.kill();
    const { failures } = await run(`it('is right', () => {});`);
    assert.match(failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
    // That is told already.
    assert.equal(await tests.end(SILENCE), undefined);
  });

  it('runs no further file once it hears no more, and is ended then', async () => {
    await run(HEARS_NO_MORE);
    await eventually(() => !tests.isRunning, 'its silence');
    assert.match((await tests.end(SILENCE))?.failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
  });

  it('is still counted where an order does not reach it', async () => {
    await run(HEARS_NO_MORE);
    await eventually(() => !tests.isRunning, 'its silence');
    const unheard = run('');
    tests.kill();
    assert.match((await unheard).failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
  });
});
