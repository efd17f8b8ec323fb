import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Semaphore } from '../../concurrency/semaphore';
import { CancelToken, cancelTokenOf } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import { toError, RvmError } from '../../error';
import { cancelled, type VideoFormat, type VideoFrame } from '../media';
import { type ChildLimits, type Ended, runChild } from './child-process';
import { type Jpeg, jpegIn, pictureArguments, sheetArguments } from './ffmpeg-arguments';
import { wantedAt } from './wanted-picture';

export type { Jpeg } from './ffmpeg-arguments';

export interface DecoderLimits extends ChildLimits {
  /** Programs that run at the same time. */
  atOnce: number;
}

interface DecoderOptions {
  /** File of ffmpeg; the one on the PATH where it is absent. */
  path?: string | undefined;
  limits?: Partial<DecoderLimits> | undefined;
}

export interface PictureOptions {
  /** Largest width in pixels; a picture is never enlarged. Default: the width of the video; for a sheet 1920. */
  width?: number | undefined;
  /** Cancels it, with its reason where that is an RvmError. */
  signal: AbortSignal;
}

const LIMITS = { longestMs: 10_000, graceMs: 2_000, mostOutput: 16 * 1024 * 1024 };
const VERSION = ['-version'];
/** How all versions begin their answer. */
const NAME = 'ffmpeg version ';

/**
 * Makes JPEGs of video with ffmpeg, which gets only the video, by standard input; its arguments contain nothing of the video or
 * its source. One program per picture, not more at a time than processors; the others are queued.
 */
export class Decoder {
  readonly #path: string | undefined;
  readonly #limits: DecoderLimits;
  readonly #permits: Semaphore;
  readonly #program = new Program(() => this.#lookForProgram());
  readonly #closing = new CancelToken();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: DecoderOptions = {}) {
    this.#path = options.path;
    this.#limits = { ...LIMITS, atOnce: os.availableParallelism(), ...options.limits };
    this.#permits = new Semaphore(this.#limits.atOnce);
  }

  /** Whether there is a working ffmpeg. A missing one is searched again after a minute. */
  async available(): Promise<boolean> {
    return (await this.#program.find()) !== undefined;
  }

  /** @throws RvmError DECODER_MISSING where there is none */
  async demand(): Promise<void> {
    if (!(await this.available())) throw decoderMissing(this.#path);
  }

  /**
   * The picture on the screen at a time: the last one shown at or before it; where all are later, the first.
   * @param frames in decoding order, from a key frame on, including one shown after the time where there is
   *   one
   * @param time in seconds on the clock of the frames
   * @throws RvmError DECODER_MISSING; VIDEO_FAILED where no picture results; CANCELLED, or the reason of
   *   the signal
   */
  async picture(frames: readonly VideoFrame[], time: number, options: PictureOptions): Promise<Jpeg> {
    const wanted = wantedAt(frames, time);
    if (wanted === undefined) throw noKeyFrame();
    const args = pictureArguments(wanted.codec, wanted.before, options.width);
    return this.#make(args, () => byteStream(wanted.frames), options.signal);
  }

  /**
   * One picture composed of one to nine: rows of up to three, left to right, in cells of equal size.
   * @throws RvmError as `picture`
   */
  async sheet(pictures: readonly Jpeg[], options: PictureOptions): Promise<Jpeg> {
    const args = sheetArguments(pictures, options.width);
    return this.#make(args, () => pictures.map(({ jpeg }) => jpeg), options.signal);
  }

  /** Cancels all pictures in progress. Resolves when their programs have ended. */
  async close(): Promise<void> {
    this.#closing.abort(cancelled());
    await Promise.allSettled(this.#running);
  }

  async #make(args: readonly string[], input: () => Iterable<Buffer>, signal: AbortSignal): Promise<Jpeg> {
    const abort = new CancelToken();
    const listening = [this.#closing, cancelTokenOf(signal)].map((each) =>
      each.onAbort((reason) => abort.abort(reason)),
    );
    try {
      return await this.#inTurn(args, input, abort);
    } finally {
      for (const stopListening of listening) stopListening();
    }
  }

  async #inTurn(args: readonly string[], input: () => Iterable<Buffer>, abort: CancelToken): Promise<Jpeg> {
    const file = await cancellable(abort, this.#program.find());
    if (file === undefined) throw decoderMissing(this.#path);
    const leave = await this.#permits.acquire(abort);
    try {
      return this.#pictureIn(await this.#start(file, args, input(), abort));
    } finally {
      leave();
    }
  }

  /** @throws RvmError DECODER_MISSING where a program found before is gone */
  async #start(
    file: string,
    args: readonly string[],
    input: Iterable<Buffer>,
    abort: CancelToken,
  ): Promise<Ended> {
    try {
      return await this.#run(file, args, input, this.#limits, abort);
    } catch (error) {
      if (error instanceof RvmError) throw error;
      const fault = toError(error);
      if (!isGone(fault)) throw notStarted(fault);
      this.#program.forget();
      throw decoderMissing(this.#path);
    }
  }

  #pictureIn(ended: Ended): Jpeg {
    // The output of a program that was stopped is never used: something is wrong with it.
    const jpeg = ended.how === 'exited' && ended.exitCode !== undefined ? jpegIn(ended.output) : undefined;
    if (jpeg === undefined) throw noPicture(ended, this.#limits.longestMs / 1000);
    return jpeg;
  }

  async #lookForProgram(): Promise<string | undefined> {
    const files =
      this.#path === undefined
        ? await executablesOnPath('ffmpeg')
        : await executablesAmong([path.resolve(this.#path)]);
    for (const file of files) if (await this.#isFfmpeg(file)) return file;
    return undefined;
  }

  async #isFfmpeg(file: string): Promise<boolean> {
    try {
      const { how, exitCode, output } = await this.#run(file, VERSION, [], LIMITS, this.#closing);
      return how === 'exited' && exitCode === 0 && output.toString('latin1', 0, NAME.length) === NAME;
    } catch {
      // It cannot run on this machine, or the decoder was closed meanwhile.
      return false;
    }
  }

  /** Tracks the program until it has ended, even after its caller was cancelled: `close` waits for it. */
  #run(...args: Parameters<typeof runChild>): Promise<Ended> {
    const run = runChild(...args);
    this.#running.add(run);
    const done = (): void => void this.#running.delete(run);
    run.then(done, done);
    return run;
  }
}

/** Milliseconds. */
const ASK_AGAIN = 60_000;

/** The path of a program. A found path is cached until `forget`; a missing program is searched again after a minute. */
export class Program {
  #found: Promise<string | undefined> | undefined;
  /** Milliseconds of `performance.now`. */
  #lookAgainAt = Infinity;

  /** @param look returns the file of a program that runs, undefined without one; never fails */
  constructor(private readonly look: () => Promise<string | undefined>) {}

  find(): Promise<string | undefined> {
    if (performance.now() >= this.#lookAgainAt) this.forget();
    this.#found ??= this.#lookNow();
    return this.#found;
  }

  /** To be called where the program found before is gone. */
  forget(): void {
    this.#found = undefined;
    this.#lookAgainAt = Infinity;
  }

  async #lookNow(): Promise<string | undefined> {
    const file = await this.look();
    if (file === undefined) this.#lookAgainAt = performance.now() + ASK_AGAIN;
    return file;
  }
}

/**
 * The executable files with a program's name in the folders of the PATH, in order. By absolute path, because Windows would
 * search the working folder first.
 */
async function executablesOnPath(name: string): Promise<string[]> {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  return executablesAmong(folders.map((folder) => path.join(folder, file)));
}

/** Those that are files and may be run. */
async function executablesAmong(files: readonly string[]): Promise<string[]> {
  const known = await Promise.all(files.map(async (file) => ((await isExecutable(file)) ? [file] : [])));
  return known.flat();
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Messages, in all versions of ffmpeg, about a video that it cannot decode. */
const NO_DECODER =
  /Decoder \(codec [\w-]+\) not found|Unknown decoder|Unknown input format|no decoder found/i;
/** Codes of a program that is gone or was replaced by something else. */
const GONE = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOEXEC', 'ENOTDIR', 'EINVAL', 'UNKNOWN']);

/** @param path as configured by the user */
export function decoderMissing(path: string | undefined): RvmError {
  return new RvmError(
    'DECODER_MISSING',
    path === undefined
      ? 'There is no ffmpeg to make the picture: install it (apt install ffmpeg, winget install ffmpeg, brew install ffmpeg), or name its file as rvmFfmpeg in settings.js.'
      : 'The file that rvmFfmpeg in settings.js names is no ffmpeg that runs: correct it, or remove it to use the ffmpeg on the PATH.',
  );
}

/** @returns whether the error means that a program found before can no longer be started */
export function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code !== undefined && GONE.has(error.code);
}

export function notStarted({ code }: NodeJS.ErrnoException): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    `The system could not start ffmpeg for the picture (${code ?? 'unknown fault'}): this machine may have too little memory, or too much to do.`,
  );
}

function noKeyFrame(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The video has no key frame, so no picture of it can be made: try again, or ask for another time.',
  );
}

/** The error for a program without a picture. @param seconds its time limit */
export function noPicture({ how, complaint }: Ended, seconds: number): RvmError {
  if (how === 'too slow')
    return failed(
      `ffmpeg had not made the picture after ${seconds} seconds: this machine has too much to do.`,
    );
  if (how === 'too much output')
    return failed('ffmpeg gave more than a picture can have: try again, or ask for a smaller width.');
  if (NO_DECODER.test(complaint))
    return new RvmError(
      'DECODER_MISSING',
      'This ffmpeg cannot decode the video of this camera: install one with decoders for H.264 and H.265.',
    );
  return failed(
    'ffmpeg made no picture of the video, which may be damaged: try again, or ask for another time.',
  );
}

function failed(message: string): RvmError {
  return new RvmError('VIDEO_FAILED', message);
}

const START_CODE = Buffer.from([0, 0, 0, 1]);

/**
 * Frames as a byte stream without a container: NAL units behind start codes, with parameter sets at the start and wherever they
 * change (ITU-T H.264 and H.265, annex B).
 */
function* byteStream(frames: readonly VideoFrame[]): Generator<Buffer> {
  let format: VideoFormat | undefined;
  for (const frame of frames) {
    const sets = frame.format === format ? [] : frame.format.parameterSets;
    format = frame.format;
    yield Buffer.concat([...sets, ...frame.nals].flatMap((nal) => [START_CODE, nal]));
  }
}
