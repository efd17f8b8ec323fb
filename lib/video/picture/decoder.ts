import os from 'node:os';
import path from 'node:path';
import { Abort, abortOf } from '../../concurrency/signals';
import { asError, RvmError } from '../../error';
import { Places } from '../../concurrency/semaphore';
import { unless } from '../../concurrency/timers';
import { cancelled } from '../cancelled';
import type { VideoFrame } from '../media';
import { pictureArguments, sheetArguments } from './arguments';
import { byteStream } from './byte-stream';
import { runChild, type ChildLimits, type Ended } from './child';
import { decoderMissing, isGone, noKeyFrame, noPicture, notStarted } from './decoder-fault';
import { executablesAmong, executablesOnPath } from './executables';
import { jpegIn, type Jpeg } from './jpeg';
import { Program } from './program';
import { wantedAt } from './wanted-frame';

export type { Jpeg } from './jpeg';

export interface DecoderLimits extends ChildLimits {
  /** Programs that run at a time. */
  atOnce: number;
}

export interface DecoderOptions {
  /** File of ffmpeg; the one on the PATH where it is absent. */
  path?: string | undefined;
  limits?: Partial<DecoderLimits> | undefined;
}

export interface PictureOptions {
  /** Pixels at most; a picture is never made wider. As wide as the video where absent; a sheet 1920 at most. */
  width?: number | undefined;
  /** Ends it, with its reason where that is an RvmError. */
  signal: AbortSignal;
}

const LIMITS = { longestMs: 10_000, graceMs: 2_000, mostOutput: 16 * 1024 * 1024 };
const VERSION = ['-version'];
/** How its answer begins, since ever. */
const NAME = 'ffmpeg version ';

/**
 * Makes JPEGs of video with ffmpeg, which sees the video alone: it comes by its standard input, and nothing of it, nor of where it
 * is from, stands in its arguments. A program for each picture, not more at a time than there are processors; the others wait in line.
 */
export class Decoder {
  readonly #path: string | undefined;
  readonly #limits: DecoderLimits;
  readonly #places: Places;
  readonly #program = new Program(() => this.#lookForProgram());
  readonly #closing = new Abort();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: DecoderOptions = {}) {
    this.#path = options.path;
    this.#limits = { ...LIMITS, atOnce: os.availableParallelism(), ...options.limits };
    this.#places = new Places(this.#limits.atOnce);
  }

  /** Whether there is an ffmpeg that runs. Where there is none, it is looked for again after a minute. */
  async available(): Promise<boolean> {
    return (await this.#program.find()) !== undefined;
  }

  /** @throws RvmError DECODER_MISSING where there is none */
  async demand(): Promise<void> {
    if (!(await this.available())) throw decoderMissing(this.#path);
  }

  /**
   * The picture that is on the screen at a time: the last one shown at or before it; where all are later, the first.
   * @param frames in the order of decoding, from a key frame on, with at least one that is shown after the time where there is one
   * @param time in seconds on the clock of the frames
   * @throws RvmError DECODER_MISSING; VIDEO_FAILED where no picture comes out; CANCELLED, or the reason of the signal
   */
  async picture(frames: readonly VideoFrame[], time: number, options: PictureOptions): Promise<Jpeg> {
    const wanted = wantedAt(frames, time);
    if (wanted === undefined) throw noKeyFrame();
    const args = pictureArguments(wanted.codec, wanted.before, options.width);
    return this.#make(args, () => byteStream(wanted.frames), options.signal);
  }

  /**
   * One picture of one to nine: in rows of up to three, from left to right, in cells of the same size.
   * @throws RvmError as `picture`
   */
  async sheet(pictures: readonly Jpeg[], options: PictureOptions): Promise<Jpeg> {
    const args = sheetArguments(pictures, options.width);
    return this.#make(args, () => pictures.map(({ jpeg }) => jpeg), options.signal);
  }

  /** Ends all that is under way, and waits until it has ended. */
  async close(): Promise<void> {
    this.#closing.abort(cancelled());
    await Promise.allSettled(this.#running);
  }

  async #make(args: readonly string[], input: () => Iterable<Buffer>, signal: AbortSignal): Promise<Jpeg> {
    const abort = new Abort();
    const listening = [this.#closing, abortOf(signal)].map((each) =>
      each.onAbort((reason) => abort.abort(reason)),
    );
    try {
      return await this.#inTurn(args, input, abort);
    } finally {
      for (const stopListening of listening) stopListening();
    }
  }

  async #inTurn(args: readonly string[], input: () => Iterable<Buffer>, abort: Abort): Promise<Jpeg> {
    const file = await unless(abort, this.#program.find());
    if (file === undefined) throw decoderMissing(this.#path);
    const leave = await this.#places.take(abort);
    try {
      return this.#pictureIn(await this.#start(file, args, input(), abort));
    } finally {
      leave();
    }
  }

  /** @throws RvmError DECODER_MISSING where a program that was found is not there any more */
  async #start(file: string, args: readonly string[], input: Iterable<Buffer>, abort: Abort): Promise<Ended> {
    try {
      return await this.#run(file, args, input, this.#limits, abort);
    } catch (error) {
      if (error instanceof RvmError) throw error;
      const fault = asError(error);
      if (!isGone(fault)) throw notStarted(fault);
      this.#program.forget();
      throw decoderMissing(this.#path);
    }
  }

  #pictureIn(ended: Ended): Jpeg {
    // Of what has come by then, nothing is taken: it was made to end because something is wrong.
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
      // No program of this machine, or the decoder was closed meanwhile.
      return false;
    }
  }

  /** Until it has ended, whoever still waits for it: `close` does. */
  #run(...asked: Parameters<typeof runChild>): Promise<Ended> {
    const run = runChild(...asked);
    this.#running.add(run);
    const done = (): void => void this.#running.delete(run);
    run.then(done, done);
    return run;
  }
}
