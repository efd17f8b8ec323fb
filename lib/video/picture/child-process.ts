import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GrowingBuffer } from '../../bytes';
import type { CancelToken } from '../../concurrency/signals';
import { lenientTimeout } from '../../concurrency/timers';

export interface ChildLimits {
  /** Milliseconds from the start to the end, by the clock on the wall. */
  longestMs: number;
  /** Milliseconds that it has to end by itself once it was asked to. */
  graceMs: number;
  /** Bytes of its standard output. */
  mostOutput: number;
}

/** What became of a program. */
export interface Ended {
  /** `exited` where nobody made it end. */
  how: 'exited' | 'too slow' | 'too much output';
  /** Undefined where a signal ended it. */
  exitCode: number | undefined;
  output: Buffer;
  /** The beginning of what it wrote to standard error. Not for the eyes of users: it may quote what it was given. */
  complaint: string;
}

const FIRST_OUTPUT = 64 * 1024;
/** Bytes. */
const MOST_COMPLAINT = 4096;
/**
 * What a program may need of the environment to run at all. Nothing else: it holds secrets of Node-RED, and settings of ffmpeg that
 * write files (`FFREPORT`).
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
 * Runs a program, without a shell, until it has ended: then nothing of it is left, however it came to that.
 * @param file absolute path
 * @param input what it reads from its standard input, as far as it wants to
 * @throws Error what keeps it from starting, with the `code` of the system; the reason of the abort
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
  const kept = NEEDED_VARIABLES.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined));
}

class Child {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #limits: ChildLimits;
  readonly #output = new GrowingBuffer(FIRST_OUTPUT);
  readonly #complaint = new GrowingBuffer(MOST_COMPLAINT);
  #how: Ended['how'] = 'exited';
  #isEnding = false;
  #kill: NodeJS.Timeout | undefined;

  constructor(child: ChildProcessWithoutNullStreams, limits: ChildLimits) {
    this.#child = child;
    this.#limits = limits;
  }

  run(input: Iterable<Buffer>): Promise<Ended> {
    const tooSlow = lenientTimeout(() => this.#endAs('too slow'), this.#limits.longestMs);
    this.#read();
    this.#feed(input);
    return this.#ended().finally(() => {
      clearTimeout(tooSlow);
      clearTimeout(this.#kill);
    });
  }

  /** Asks it to end, and does not ask any more when it had time for that. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return this.#letGo();
    this.#child.once('exit', () => this.#letGo());
    this.#child.stdin.destroy();
    this.#child.kill('SIGTERM');
    this.#kill = setTimeout(() => this.#child.kill('SIGKILL'), this.#limits.graceMs);
  }

  #endAs(how: Ended['how']): void {
    if (this.#isEnding) return;
    this.#how = how;
    this.end();
  }

  /** The pipes of one that has ended: another process that it left behind may hold their other ends for ever. */
  #letGo(): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
  }

  /** One that has seen enough closes its input: no fault. What is wrong with its output, its end tells. */
  #feed(input: Iterable<Buffer>): void {
    pipeline(Readable.from(input), this.#child.stdin).catch(() => undefined);
  }

  #read(): void {
    const { stdout, stderr } = this.#child;
    stdout.on('error', () => undefined).on('data', (piece: Buffer) => this.#readOutput(piece));
    stderr.on('error', () => undefined).on('data', (piece: Buffer) => this.#readComplaint(piece));
  }

  #readOutput(piece: Buffer): void {
    if (this.#isEnding) return;
    if (this.#output.length + piece.length > this.#limits.mostOutput) return this.#endAs('too much output');
    this.#output.append(piece);
  }

  #readComplaint(piece: Buffer): void {
    const room = MOST_COMPLAINT - this.#complaint.length;
    if (room > 0) this.#complaint.append(piece.subarray(0, room));
  }

  #ended(): Promise<Ended> {
    return new Promise((resolve, reject) => {
      this.#child.on('error', (error) => {
        // One that runs tells so of a signal that it may not be sent.
        if (this.#child.pid === undefined) reject(error);
      });
      this.#child.once('close', (code: number | null) => resolve(this.#result(code)));
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
