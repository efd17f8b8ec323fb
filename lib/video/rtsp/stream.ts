import type { CancelToken } from '../../concurrency/signals';
import { lenientTimeout } from '../../concurrency/timers';
import { RvmError } from '../../error';
import {
  type AudioFormat,
  type AudioFrame,
  costOf,
  type MediaFrame,
  type MediaStream,
  type VideoFrame,
} from '../media';
import type { TrackReceiver } from '../rtp/track-receiver';
import type { PlayedTrack, PlayingSession } from './handshake';
import type { StreamLimits } from './limits';
import { KeepAlive, type RtspClientSession } from './rtsp-client';

/** Milliseconds between what we tell the sender of its packets (RFC 3550, section 6.2). */
const REPORT_MS = 5_000;
/** Seconds that may be missing at the end of what was announced: the last picture has no length of its own. */
const END_TOLERANCE = 2;

interface StreamParts {
  session: RtspClientSession;
  playing: PlayingSession;
  limits: StreamLimits;
  /** Ends it from outside. */
  ending: CancelToken;
  isLive: boolean;
}

/** A stream that is being sent, from its first packet to the end of its connection. */
export class RtspStream implements MediaStream {
  readonly #session: RtspClientSession;
  readonly #playing: PlayingSession;
  readonly #limits: StreamLimits;
  readonly #queue: FrameQueue;
  readonly #soundTime: AudioClock | undefined;
  /** What a relay must not be without for long: packets, and whole pictures. */
  readonly #silence: StallWatchdog;
  readonly #darkness: StallWatchdog;
  readonly #keepAlive: KeepAlive;
  readonly #reports: NodeJS.Timeout;
  readonly #stopListening: () => void;
  #soundWait: NodeJS.Timeout | undefined;
  /** The time of the last picture, at least, where the end of the connection is that of the video. */
  readonly #whole: number;
  #lastTime: number | undefined;
  #isPaused = false;
  #closing: Promise<void> | undefined;

  constructor({ session, playing, limits, ending, isLive }: StreamParts) {
    const { video, audio, isOneClock, length = isLive ? Infinity : -Infinity } = playing;
    this.#whole = length - END_TOLERANCE;
    this.#session = session;
    this.#playing = playing;
    this.#limits = limits;
    this.#queue = new FrameQueue(limits);
    this.#soundTime = audio && new AudioClock(video.receiver, audio.receiver, isOneClock);
    this.#silence = new StallWatchdog(limits.silenceMs, () => this.#fellSilent());
    this.#darkness = new StallWatchdog(limits.pictureMs, () => this.#fail(dark()));
    this.#keepAlive = new KeepAlive(session, (fault) => this.#fail(fault));
    this.#reports = setInterval(() => this.#report(), REPORT_MS);
    this.#stopListening = ending.onAbort((reason) => this.#abort(reason));
    session.listen({
      packet: (channel, data) => this.#take(channel, data),
      ended: (fault, inOrder) => this.#connectionEnded(fault, inOrder),
    });
  }

  get leftOut(): readonly string[] {
    return this.#playing.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.#playing.audio?.receiver.audio;
  }

  get lost(): number {
    return this.#tracks.reduce((sum, { receiver }) => sum + receiver.lost, 0);
  }

  wallClock(time: number): number | undefined {
    return this.#playing.video.receiver.wallClock(time);
  }

  /** Who leaves the iteration early ends the stream. */
  [Symbol.asyncIterator](): AsyncIterator<MediaFrame, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        await this.close();
        return { done: true, value: undefined };
      },
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  get #tracks(): readonly PlayedTrack[] {
    const { video, audio } = this.#playing;
    return audio === undefined ? [video] : [video, audio];
  }

  #next(): Promise<IteratorResult<MediaFrame, undefined>> {
    const next = this.#queue.next();
    if (this.#isPaused && this.#queue.hasRoom) this.#resume();
    return next;
  }

  #take(channel: number, data: Buffer): void {
    if (this.#closing !== undefined) return;
    for (const track of this.#tracks) {
      if (channel === track.channels.rtp) this.#takeMedia(track, data);
      else if (channel === track.channels.rtcp) this.#takeReport(track, data);
    }
  }

  #takeMedia(track: PlayedTrack, data: Buffer): void {
    const isVideo = track === this.#playing.video;
    if (isVideo) this.#silence.heard();
    this.#push(track.receiver.rtp(data));
    const { fault } = track.receiver;
    // Sound that cannot be read keeps nobody from the pictures.
    if (isVideo && fault !== undefined) this.#fail(fault);
    else if (this.#queue.isFull) this.#pause();
  }

  /** Sound that ends alone leaves the pictures. */
  #takeReport(track: PlayedTrack, data: Buffer): void {
    const told = track.receiver.rtcp(data);
    this.#give(this.#soundTime?.reported() ?? []);
    if (told === 'bye' && track === this.#playing.video) this.#finish();
  }

  #push(frames: readonly MediaFrame[]): void {
    for (const frame of frames) {
      if (frame.kind === 'video') this.#sawPicture(frame);
      this.#give(frame.kind === 'video' ? [frame] : (this.#soundTime?.add(frame) ?? []));
    }
    if (this.#soundTime?.isWaiting === true)
      this.#soundWait ??= setTimeout(() => this.#releaseSound(), this.#limits.reportMs);
  }

  #give(frames: readonly MediaFrame[]): void {
    for (const frame of frames) this.#queue.push(frame);
  }

  /** The reports did not come. */
  #releaseSound(): void {
    this.#give(this.#soundTime?.release() ?? []);
  }

  #sawPicture({ time }: VideoFrame): void {
    this.#darkness.heard();
    this.#lastTime = Math.max(this.#lastTime ?? time, time);
  }

  /** Some tell the end of a recording beforehand, and nothing more at it. */
  #fellSilent(): void {
    if (this.#whole !== -Infinity && this.#isAll) this.#finish();
    else this.#fail(silent());
  }

  get #isAll(): boolean {
    return this.#lastTime !== undefined && this.#lastTime >= this.#whole;
  }

  #connectionEnded(fault: RvmError, inOrder: boolean): void {
    if (this.#closing !== undefined) return;
    if (inOrder) this.#flush();
    // Some end a recording so, without a word.
    if (inOrder && this.#isAll) this.#finish();
    else this.#fail(fault);
  }

  #flush(): void {
    for (const { receiver } of this.#tracks) this.#push(receiver.flush());
    this.#releaseSound();
  }

  #finish(): void {
    this.#flush();
    this.#queue.end();
    void this.close();
  }

  #fail(fault: Error): void {
    this.#releaseSound();
    this.#queue.end(fault);
    void this.close();
  }

  #abort(reason: Error): void {
    this.#soundTime?.release();
    this.#queue.clear();
    this.#fail(reason);
  }

  /** The consumer is slower than the sender, who notices that nothing is read. */
  #pause(): void {
    if (this.#isPaused || this.#closing !== undefined) return;
    this.#isPaused = true;
    this.#silence.pause();
    this.#darkness.pause();
    this.#session.pause();
  }

  #resume(): void {
    this.#isPaused = false;
    this.#silence.resume();
    this.#darkness.resume();
    this.#session.resume();
  }

  #report(): void {
    for (const { channels, receiver } of this.#tracks)
      this.#session.sendPacket(channels.rtcp, receiver.receiverReport());
  }

  async #close(): Promise<void> {
    this.#stopListening();
    this.#silence.end();
    this.#darkness.end();
    this.#keepAlive.end();
    clearInterval(this.#reports);
    clearTimeout(this.#soundWait);
    this.#queue.end();
    await this.#session.end(this.#limits.farewellMs);
  }
}

function dark(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The video relay sends packets, but no whole picture; try again, or set the camera to a key frame every few seconds.',
  );
}

function silent(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The video relay has fallen silent; try again, or look whether the camera is online.',
  );
}

interface Waiting {
  resolve: (result: IteratorResult<MediaFrame, undefined>) => void;
  reject: (error: Error) => void;
}

const DONE: IteratorResult<MediaFrame, undefined> = { done: true, value: undefined };

/** Frames on their way to their consumer, who comes for them. */
class FrameQueue {
  readonly #limits: StreamLimits;
  readonly #frames: MediaFrame[] = [];
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #hasEnded = false;
  #failure: Error | undefined;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Whether so much waits that nothing more should be added. */
  get isFull(): boolean {
    return this.#holds(1);
  }

  /** Whether there is room again for a good part. */
  get hasRoom(): boolean {
    return !this.#holds(0.5);
  }

  push(frame: MediaFrame): void {
    if (this.#hasEnded) return;
    const first = this.#waiting.shift();
    if (first !== undefined) return first.resolve({ done: false, value: frame });
    this.#frames.push(frame);
    this.#bytes += costOf(frame);
  }

  /** What waits is still to be had, and after it the end or the failure. */
  end(failure?: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#failure = failure;
    for (const waiting of this.#waiting.splice(0)) {
      if (this.#failure === undefined) waiting.resolve(DONE);
      else waiting.reject(this.#takeFailure(this.#failure));
    }
  }

  /** Nothing of what waits is wanted any more. */
  clear(): void {
    this.#frames.length = 0;
    this.#bytes = 0;
  }

  /** The next frame, as soon as there is one. @throws the failure, once all frames before it were had */
  next(): Promise<IteratorResult<MediaFrame, undefined>> {
    const frame = this.#frames.shift();
    if (frame !== undefined) {
      this.#bytes -= costOf(frame);
      return Promise.resolve({ done: false, value: frame });
    }
    if (this.#failure !== undefined) return Promise.reject(this.#takeFailure(this.#failure));
    if (this.#hasEnded) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** It is told once, as iterators do. */
  #takeFailure(failure: Error): Error {
    this.#failure = undefined;
    return failure;
  }

  #holds(part: number): boolean {
    const { queuedFrames, queuedBytes } = this.#limits;
    return this.#frames.length >= queuedFrames * part || this.#bytes >= queuedBytes * part;
  }
}

/** Calls back once where nothing was heard for a time. One timer, however much is heard. */
class StallWatchdog {
  readonly #ms: number;
  readonly #silent: () => void;
  #heardAt = performance.now();
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** @param ms milliseconds */
  constructor(ms: number, silent: () => void) {
    this.#ms = ms;
    this.#silent = silent;
    this.#wait(ms);
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Nobody listens for now, so silence means nothing. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.heard();
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    this.#timer = lenientTimeout(() => this.#look(), ms);
  }

  #look(): void {
    if (this.#hasEnded) return;
    const left = this.#isPaused ? this.#ms : this.#heardAt + this.#ms - performance.now();
    if (left > 0) return this.#wait(left);
    this.#hasEnded = true;
    this.#silent();
  }
}

/** Seconds: clocks of one sender differ by less, and two that have nothing to do with each other by more. */
const FARTHEST = 10;
/** Seconds by which a report must say otherwise than the one before: less is rounding, and each correction is heard. */
const HEARD = 0.1;

/**
 * Brings sound to the clock of the pictures. Only the reports of the sender tell of one moment in both (RFC 3550, section 6.4.1): the
 * answer to PLAY names the same moment with some servers, and the first packet of each with others. Sound therefore waits for
 * them; without them both are taken to begin as that answer says, or at once.
 */
class AudioClock {
  readonly #video: TrackReceiver;
  readonly #audio: TrackReceiver;
  /** Seconds that the sound begins after the pictures. */
  #offset = 0;
  /** Whether that was told at all, and by a report. */
  #isTold: boolean;
  #isReported = false;
  /** What waits for the reports; undefined once nothing does any more. */
  #held: AudioFrame[] | undefined = [];
  #last = -Infinity;

  /** @param isOneClock whether both have the same clock already, by the answer to PLAY */
  constructor(video: TrackReceiver, audio: TrackReceiver, isOneClock: boolean) {
    this.#video = video;
    this.#audio = audio;
    this.#isTold = isOneClock;
  }

  /** Sound waits for the reports. */
  get isWaiting(): boolean {
    return this.#held !== undefined && this.#held.length > 0;
  }

  /** The next unit: what can be given now, on the clock of the pictures. */
  add(frame: AudioFrame): AudioFrame[] {
    if (this.#held === undefined) return this.#corrected([frame]);
    this.#held.push(frame);
    return this.reported();
  }

  /** What can be given now that the sender may have reported. */
  reported(): AudioFrame[] {
    return this.#held === undefined || this.#difference() === undefined ? [] : this.release();
  }

  /** All that waits: from now on nothing does. */
  release(): AudioFrame[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    return this.#corrected(held);
  }

  /** Without those that would come before what was given: their time was corrected meanwhile. */
  #corrected(frames: readonly AudioFrame[]): AudioFrame[] {
    this.#follow();
    return frames.flatMap((frame) => {
      const time = frame.time + this.#offset;
      if (time <= this.#last) return [];
      this.#last = time;
      return [{ ...frame, time }];
    });
  }

  #follow(): void {
    const reported = this.#difference();
    if (reported === undefined) return;
    const change = Math.abs(reported - this.#offset);
    if ((this.#isReported && change < HEARD) || (this.#isTold && change > FARTHEST)) return;
    this.#isTold = true;
    this.#isReported = true;
    this.#offset = reported;
  }

  #difference(): number | undefined {
    const [video, audio] = [this.#video.wallClock(0), this.#audio.wallClock(0)];
    return video === undefined || audio === undefined ? undefined : (audio - video) / 1000;
  }
}
