import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GrowingBuffer } from '../../bytes';
import type { CancelToken } from '../../concurrency/signals';
import { lenientTimeout } from '../../concurrency/timers';

export interface ChildLimits {
  /** Milliseconds from start to end, wall clock time. */
  longestMs: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  graceMs: number;
  /** Largest number of bytes of standard output. */
  mostOutput: number;
}

/** The result of a program. */
export interface Ended {
  /** `exited` where it was not stopped for a limit. */
  how: 'exited' | 'too slow' | 'too much output';
  /** Undefined where it was ended by a signal. */
  exitCode: number | undefined;
  output: Buffer;
  /** The beginning of its standard error. Not to be shown to users: it may quote its input. */
  complaint: string;
}

const FIRST_OUTPUT = 64 * 1024;
/** Bytes. */
const MOST_COMPLAINT = 4096;
/**
 * The variables that a program may need to run. The others are not passed: they contain secrets of Node-RED, and settings of
 * ffmpeg that write files (`FFREPORT`).
 */
const NEEDED_VARIABLES = [
  'PATH',
  'HOME',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'SystemRoot',
  'TEMP',
  'TMPDIR',
];

/**
 * Runs a program without a shell until it has ended; it never outlives the call.
 * @param file absolute path
 * @param input its standard input, which it need not read to the end
 * @throws Error with the `code` of the system where it cannot be started; the reason of the abort
 */
export async function runChild(
  file: string,
  args: readonly string[],
  input: Iterable<Buffer>,
  limits: ChildLimits,
  abort: CancelToken,
): Promise<Ended> {
  if (abort.reason !== undefined) throw abort.reason;
  const child = new Child(
    spawn(file, args, { stdio: 'pipe', windowsHide: true, env: environment() }),
    limits,
  );
  const stopListening = abort.onAbort(() => child.end());
  const ended = await child.run(input).finally(stopListening);
  if (abort.reason !== undefined) throw abort.reason;
  return ended;
}

function environment(): NodeJS.ProcessEnv {
  const variables = NEEDED_VARIABLES.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(variables.filter(([, value]) => value !== undefined));
}

class Child {
  readonly #output = new GrowingBuffer(FIRST_OUTPUT);
  readonly #complaint = new GrowingBuffer(MOST_COMPLAINT);
  #how: Ended['how'] = 'exited';
  #isEnding = false;
  #kill: NodeJS.Timeout | undefined;

  constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly limits: ChildLimits,
  ) {}

  run(input: Iterable<Buffer>): Promise<Ended> {
    const tooSlow = lenientTimeout(() => this.#endAs('too slow'), this.limits.longestMs);
    this.#read();
    this.#feed(input);
    return this.#ended().finally(() => {
      clearTimeout(tooSlow);
      clearTimeout(this.#kill);
    });
  }

  /** Ends it: SIGTERM, and SIGKILL after the grace period. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { exitCode, signalCode } = this.child;
    if (exitCode !== null || signalCode !== null) return this.#letGo();
    this.child.once('exit', () => this.#letGo());
    this.child.stdin.destroy();
    this.child.kill('SIGTERM');
    this.#kill = setTimeout(() => this.child.kill('SIGKILL'), this.limits.graceMs);
  }

  #endAs(how: Ended['how']): void {
    if (this.#isEnding) return;
    this.#how = how;
    this.end();
  }

  /** Destroys the pipes of an ended program: a process that it left behind may hold their other ends open for ever. */
  #letGo(): void {
    const { stdin, stdout, stderr } = this.child;
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
  }

  /** Errors are ignored: a program may close its input early, and output errors show in its result. */
  #feed(input: Iterable<Buffer>): void {
    pipeline(Readable.from(input), this.child.stdin).catch(() => undefined);
  }

  #read(): void {
    const { stdout, stderr } = this.child;
    stdout.on('error', () => undefined).on('data', (piece: Buffer) => this.#readOutput(piece));
    stderr.on('error', () => undefined).on('data', (piece: Buffer) => this.#readComplaint(piece));
  }

  #readOutput(piece: Buffer): void {
    if (this.#isEnding) return;
    if (this.#output.length + piece.length > this.limits.mostOutput) return this.#endAs('too much output');
    this.#output.append(piece);
  }

  #readComplaint(piece: Buffer): void {
    const free = MOST_COMPLAINT - this.#complaint.length;
    if (free > 0) this.#complaint.append(piece.subarray(0, free));
  }

  #ended(): Promise<Ended> {
    return new Promise((resolve, reject) => {
      this.child.on('error', (error) => {
        // A running program also emits `error` where a signal cannot be sent.
        if (this.child.pid === undefined) reject(error);
      });
      this.child.once('close', (code: number | null) => resolve(this.#result(code)));
    });
  }

  #result(code: number | null): Ended {
    const complaint = this.#complaint.content().toString('utf8');
    return {
      how: this.#how,
      exitCode: code ?? undefined,
      output: Buffer.from(this.#output.content()),
      complaint,
    };
  }
}
