import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { TestProcess, type FileResult } from '../../scripts/testing/test-process';
import { eventually } from '../support/time/patience';

/** Seconds. */
const SILENCE = 60;
const RIGHT = `it('is right', () => {});`;
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

  function run(text = RIGHT): Promise<FileResult> {
    const file = path.join(folder, 'some.test.js');
    fs.writeFileSync(file, text);
    return tests.run({ file }, SILENCE);
  }
  const isGone = (): Promise<void> => eventually(() => !tests.isRunning, 'its end');

  it('is let go of without a word where all is in order', async () => {
    assert.equal((await run()).passed, 1);
    assert.ok(tests.isRunning);
    assert.equal(await tests.end(SILENCE), undefined);
  });

  const WAYS: [title: string, last: () => Promise<FileResult | undefined>][] = [
    [
      'tells that it has gone after a file',
      async () => {
        await run();
        tests.kill();
        await isGone();
        return tests.end(SILENCE);
      },
    ],
    [
      'may go in the moment in which it is told to end',
      async () => {
        await run();
        tests.kill();
        return tests.end(SILENCE);
      },
    ],
    [
      'may go in the moment in which it is given a file, which is told once',
      async () => {
        tests.kill();
        const result = await run();
        assert.equal(await tests.end(SILENCE), undefined);
        return result;
      },
    ],
    [
      'runs no further file once it hears no more, and is ended then',
      async () => {
        await run(HEARS_NO_MORE);
        await isGone();
        return tests.end(SILENCE);
      },
    ],
    [
      'is still counted where an order does not reach it',
      async () => {
        await run(HEARS_NO_MORE);
        await isGone();
        const unheard = run('');
        tests.kill();
        return unheard;
      },
    ],
  ];
  for (const [title, last] of WAYS)
    it(title, async () => {
      assert.match((await last())?.failures[0]?.error ?? '', /^Its process ended with SIGKILL/);
    });
});
