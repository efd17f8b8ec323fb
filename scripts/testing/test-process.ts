import { type ChildProcess, fork } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { clampTimerMs } from '../../lib/concurrency/timers';

export interface FileResult {
  /** Absolute. */
  file: string;
  passed: number;
  /** Titles. */
  skipped: string[];
  failures: Failure[];
  seconds: number;
  /** Output of the tests and of the processes that they started. */
  output: string;
}

/** Longest time in milliseconds from the end of a process until its output is read completely. */
const MOST_TO_READ = 5000;

/** A process that runs test files one after the other, in a process group with all that they start. */
export class TestProcess {
  static readonly #running = new Set<TestProcess>();
  readonly #child: ChildProcess;
  /** Resolves when the process has ended and its output is read completely. */
  readonly #closed: Promise<void>;
  readonly #files: string[] = [];
  #output = '';
  /** True if a started process has left the group, was therefore not ended, and keeps the output open. */
  #somethingLivesOn = false;
  /** True if the end of the process is already reported as a failure of the file that it ran. */
  #isReported = false;

  constructor() {
    this.#child = fork(path.join(__dirname, 'worker.ts'), [], {
      execArgv: [...NODE_OPTIONS],
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    TestProcess.#running.add(this);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (piece: Buffer) => (this.#output += piece.toString()));
    this.#closed = new Promise((resolve) => this.#child.once('close', () => resolve()));
    // An order may reach a process that has just ended; its `close` event fails the file then.
    this.#child.on('error', (error) => (this.#output += `${error.message}\n`));
    this.#child.on('exit', () => this.#exited());
  }

  /** Ends all test processes, when the test command itself is stopped. */
  static killAll(): void {
    for (const each of TestProcess.#running) each.kill();
  }

  /** False once the process has crashed, was ended, or has disconnected: it runs no further file. */
  get isRunning(): boolean {
    const { connected, exitCode, signalCode } = this.#child;
    return connected && exitCode === null && signalCode === null;
  }

  /**
   * Runs a file until it or the process ends.
   * @param silence seconds without news after which the file counts as hanging and the process is ended
   */
  async run(order: Order, silence: number): Promise<FileResult> {
    const from = performance.now();
    const { file } = order;
    this.#files.push(file);
    this.#output = '';
    const result = emptyResult(file);
    const broken = await this.#follow(order, silence, result);
    if (broken !== undefined) result.failures.push(broken);
    return { ...result, seconds: (performance.now() - from) / 1000, output: this.#output };
  }

  /**
   * Lets the process end by itself within `seconds`.
   * @returns a failure of the last file if the process did not end, has crashed after a file, or has left
   *   another process running: one of its files is the cause
   */
  async end(seconds: number): Promise<FileResult | undefined> {
    if (this.#isReported) return undefined;
    if (this.isRunning) this.#letEnd({ endWithin: seconds });
    else this.kill();
    await this.#closed;
    if (this.#child.exitCode === 0 && !this.#somethingLivesOn) return undefined;
    const error = `${this.#ended()}${this.#leftOver()}, some time after\n${this.#files.join('\n')}\n${this.#output}`;
    return {
      ...emptyResult(this.#files.at(-1) ?? ''),
      failures: [{ title: 'the end of its process', error }],
    };
  }

  /** Ends the process and all processes of its group. */
  kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch {
      // The process group has ended already.
    }
  }

  #letEnd(order: LastOrder): void {
    this.#output = '';
    this.#child.send(order);
    // A blocked process does not run its own timer.
    const timer = setTimeout(() => this.kill(), clampTimerMs(2 * order.endWithin * 1000));
    void this.#closed.then(() => clearTimeout(timer));
  }

  #exited(): void {
    TestProcess.#running.delete(this);
    this.kill();
    // Timers run before socket events: if this command was busy, output may still be waiting to be read.
    const timer = setTimeout(() => setImmediate(() => this.#stopReading()), MOST_TO_READ);
    void this.#closed.then(() => clearTimeout(timer));
  }

  /** Destroys the open output streams, so that the process emits `close`. */
  #stopReading(): void {
    const open = [this.#child.stdout, this.#child.stderr].filter((stream) => stream?.destroyed === false);
    if (open.length > 0) this.#somethingLivesOn = true;
    for (const stream of open) stream?.destroy();
  }

  /** Fills the result. Resolves with a failure if the process ended or hung. */
  #follow(order: Order, silence: number, result: FileResult): Promise<Failure | undefined> {
    return new Promise((resolve) => {
      let title = 'its loading';
      let error: string | undefined;
      const timer = setTimeout(
        () => {
          error = `Nothing has happened for ${silence} s: its process was ended.`;
          this.kill();
        },
        clampTimerMs(silence * 1000),
      );
      const closed = (): void => {
        this.#isReported = true;
        finish({ title, error: `${error ?? this.#ended()}${this.#leftOver()}\n${this.#output}` });
      };
      const hear = (news: News): void => {
        timer.refresh();
        if (news.kind === 'begins') title = news.title;
        else if (news.kind === 'ended') finish(undefined);
        else add(news, result);
      };
      const finish = (failure: Failure | undefined): void => {
        clearTimeout(timer);
        this.#child.off('message', hear).off('close', closed);
        resolve(failure);
      };
      this.#child.on('message', hear).on('close', closed);
      this.#child.send(order);
    });
  }

  #ended(): string {
    const { exitCode, signalCode } = this.#child;
    return `Its process ended with ${signalCode ?? `code ${exitCode}`}`;
  }

  #leftOver(): string {
    return this.#somethingLivesOn ? ', and something it started lives on' : '';
  }
}

function emptyResult(file: string): FileResult {
  return { file, passed: 0, skipped: [], failures: [], seconds: 0, output: '' };
}

function add(news: Exclude<News, { kind: 'begins' | 'ended' }>, result: FileResult): void {
  if (news.kind === 'passed') result.passed += 1;
  else if (news.kind === 'skipped') result.skipped.push(news.title);
  else result.failures.push(news.failure);
}

/** An order of the test command to a process that runs test files. */
export interface Order {
  /** Absolute path. */
  file: string;
  /** Only tests whose titles match this expression. */
  grep?: string;
}

/** Sent after the last file: the process has to end by itself. */
export interface LastOrder {
  /** Seconds. */
  endWithin: number;
}

export interface Failure {
  /** Title of the test or hook, below those of its groups. */
  title: string;
  error: string;
}

/** Reports of such a process while it runs a file; the last one is `ended`. */
export type News =
  | { kind: 'begins'; title: string }
  | { kind: 'passed' }
  | { kind: 'skipped'; title: string }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'ended' };

interface Settings {
  'node-option': string[];
  timeout: number;
  'forbid-only': boolean;
}

const FILE = path.join(__dirname, '..', '..', '.mocharc.json');

/** From `.mocharc.json`, so that a direct call of mocha uses the same settings. */
const SETTINGS = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Settings;

/** Node.js options of a process that runs test files. */
const NODE_OPTIONS: readonly string[] = SETTINGS['node-option'].map((option) => `--${option}`);

export const MOCHA_OPTIONS = { timeout: SETTINGS.timeout, forbidOnly: SETTINGS['forbid-only'] };
