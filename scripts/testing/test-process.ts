import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Failure, LastOrder, News, Order } from './news';

export interface FileResult {
  /** Absolute. */
  file: string;
  passed: number;
  /** Titles. */
  skipped: string[];
  failures: Failure[];
  seconds: number;
  /** What the tests, and what they started, have printed. */
  output: string;
}

/** A process that runs test files, one after the other, in a process group of its own with all that they start. */
export class TestProcess {
  static readonly #running = new Set<TestProcess>();
  readonly #child: ChildProcess;
  readonly #files: string[] = [];
  #output = '';

  constructor() {
    this.#child = fork(path.join(__dirname, 'worker.ts'), [], {
      execArgv: ['--import=tsx'],
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    TestProcess.#running.add(this);
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (piece: Buffer) => (this.#output += piece.toString()));
    this.#child.on('exit', () => {
      TestProcess.#running.delete(this);
      this.kill();
    });
  }

  /** For a command that is stopped itself. */
  static killAll(): void {
    for (const each of TestProcess.#running) each.kill();
  }

  /** False once it has crashed, or was ended: it runs no further file. */
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Runs a file to its end, or to that of the process.
   * @param silence seconds without news after which the file counts as one that never ends
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

  /** Lets the process end by itself. Where it does not, one of its files has left something open: a failure of the last. */
  async end(seconds: number): Promise<FileResult | undefined> {
    if (!this.isRunning) return undefined;
    this.#output = '';
    const order: LastOrder = { endWithin: seconds };
    this.#child.send(order);
    await once(this.#child, 'close');
    if (this.#child.exitCode === 0) return undefined;
    const error = `${this.#ended()} some time after\n${this.#files.join('\n')}\n${this.#output}`;
    return {
      ...emptyResult(this.#files.at(-1) ?? ''),
      failures: [{ title: 'the end of its process', error }],
    };
  }

  /** Ends it and all that it has started. */
  kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
    } catch {
      // There is nothing left of it.
    }
  }

  /** Fills the result; tells what went wrong with the process, if something did. */
  #follow(order: Order, silence: number, result: FileResult): Promise<Failure | undefined> {
    return new Promise((resolve) => {
      let title = 'its loading';
      let error: string | undefined;
      const timer = setTimeout(() => {
        error = `Nothing has happened for ${silence} s: its process was ended.`;
        this.kill();
      }, silence * 1000);
      const closed = (): void => finish({ title, error: error ?? `${this.#ended()}\n${this.#output}` });
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
}

function emptyResult(file: string): FileResult {
  return { file, passed: 0, skipped: [], failures: [], seconds: 0, output: '' };
}

function add(news: Exclude<News, { kind: 'begins' | 'ended' }>, result: FileResult): void {
  if (news.kind === 'passed') result.passed += 1;
  else if (news.kind === 'skipped') result.skipped.push(news.title);
  else result.failures.push(news.failure);
}
