import type { CancelToken } from '../../concurrency/signals';
import { lenientTimeout } from '../../concurrency/timers';
import { RvmError } from '../../error';
import {
  type AudioFormat,
  type AudioFrame,
  costOf,
  type MediaFrame,
  type RelayStream,
  type VideoFrame,
} from '../media';
import type { TrackReceiver } from '../rtp/track-receiver';
import type { PlayedTrack, PlayingSession } from './handshake';
import type { StreamLimits } from './limits';
import { KeepAlive, type RtspClient } from './rtsp-client';

/** Milliseconds between receiver reports (RFC 3550, section 6.2). */
const REPORT_MS = 5_000;
/** Seconds that may be missing at the announced end: the last picture has no duration of its own. */
const END_TOLERANCE = 2;

interface StreamParts {
  session: RtspClient;
  playing: PlayingSession;
  limits: StreamLimits;
  /** Cancels the stream. */
  ending: CancelToken;
  isLive: boolean;
}

/** A playing stream, from its first packet to the end of its connection. */
export class RtspStream implements RelayStream {
  readonly #session: RtspClient;
  readonly #playing: PlayingSession;
  readonly #limits: StreamLimits;
  readonly #soundTime: AudioClock | undefined;
  /** End the stream after a time without packets, and without complete pictures. */
  readonly #silence: StallWatchdog;
  readonly #darkness: StallWatchdog;
  readonly #keepAlive: KeepAlive;
  readonly #reports: NodeJS.Timeout;
  readonly #stopListening: () => void;
  #soundWait: NodeJS.Timeout | undefined;
  /** From this time of the last picture on, the end of the connection is the end of the video. */
  readonly #whole: number;
  #lastTime: number | undefined;
  #isPaused = false;
  /** Frames that wait for the consumer, which pulls them one by one, and their bytes. */
  #frames: MediaFrame[] = [];
  #bytes = 0;
  /** Queued frames remain available; after them comes the end or the failure. */
  #end: { failure?: Error } | undefined;
  #wake: () => void = () => undefined;
  #closing: Promise<void> | undefined;

  constructor({ session, playing, limits, ending, isLive }: StreamParts) {
    const { video, audio, isOneClock, length = isLive ? Infinity : -Infinity } = playing;
    this.#whole = length - END_TOLERANCE;
    this.#session = session;
    this.#playing = playing;
    this.#limits = limits;
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

  wallClock(time: number): number | undefined {
    return this.#playing.video.receiver.wallClock(time);
  }

  /** Leaving the iteration early closes the stream. */
  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame, undefined> {
    try {
      while (this.#frames.length > 0 || this.#end === undefined) {
        const frame = this.#frames.shift();
        if (frame === undefined) await this.#news();
        else yield this.#taken(frame);
      }
      if (this.#end.failure !== undefined) throw this.#end.failure;
    } finally {
      if (this.#end === undefined) await this.close();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  get #tracks(): readonly PlayedTrack[] {
    const { video, audio } = this.#playing;
    return audio === undefined ? [video] : [video, audio];
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #taken(frame: MediaFrame): MediaFrame {
    this.#bytes -= costOf(frame);
    if (this.#isPaused && !this.#holds(0.5)) this.#resume();
    return frame;
  }

  /** Whether this part of the limits is queued. */
  #holds(part: number): boolean {
    const { queuedFrames, queuedBytes } = this.#limits;
    return this.#frames.length >= queuedFrames * part || this.#bytes >= queuedBytes * part;
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
    // Audio that cannot be read does not end the video.
    if (isVideo && fault !== undefined) this.#fail(fault);
    else if (this.#holds(1)) this.#pause();
  }

  /** The end of the audio alone does not end the stream. */
  #takeReport(track: PlayedTrack, data: Buffer): void {
    const report = track.receiver.rtcp(data);
    this.#give(this.#soundTime?.reported() ?? []);
    if (report === 'bye' && track === this.#playing.video) this.#finish();
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
    if (this.#end !== undefined) return;
    this.#frames.push(...frames);
    this.#bytes += frames.reduce((sum, frame) => sum + costOf(frame), 0);
    this.#wake();
  }

  /** The sender reports did not arrive in time: audio goes on without them. */
  #releaseSound(): void {
    this.#give(this.#soundTime?.release() ?? []);
  }

  #sawPicture({ time }: VideoFrame): void {
    this.#darkness.heard();
    this.#lastTime = Math.max(this.#lastTime ?? time, time);
  }

  /** Some relays announce the length of a recording and send no sign of its end. */
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
    // Some relays end a recording by closing the connection, without BYE.
    if (inOrder && this.#isAll) this.#finish();
    else this.#fail(fault);
  }

  #flush(): void {
    for (const { receiver } of this.#tracks) this.#push(receiver.flush());
    this.#releaseSound();
  }

  #finish(): void {
    this.#flush();
    void this.close();
  }

  #fail(fault: Error): void {
    this.#releaseSound();
    this.#end ??= { failure: fault };
    void this.close();
  }

  #abort(reason: Error): void {
    this.#soundTime?.release();
    this.#frames = [];
    this.#bytes = 0;
    this.#fail(reason);
  }

  /** The consumer is slower than the sender: reading stops, so that the sender slows down. */
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
    this.#end ??= {};
    this.#wake();
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

/** Calls back once when `heard` was not called for a time. One timer, however often it is called. */
class StallWatchdog {
  #heardAt = performance.now();
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** @param silent called once, after `ms` milliseconds without `heard` */
  constructor(
    private readonly ms: number,
    private readonly silent: () => void,
  ) {
    this.#wait(ms);
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** The connection is not read for now, so silence means nothing. */
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
    const left = this.#isPaused ? this.ms : this.#heardAt + this.ms - performance.now();
    if (left > 0) return this.#wait(left);
    this.#hasEnded = true;
    this.silent();
  }
}

/** Seconds: clocks of one sender differ by less, unrelated clocks by more. */
const FARTHEST = 10;
/** Seconds by which a report must differ to count: less is rounding, and each correction is audible. */
const HEARD = 0.1;

/**
 * Puts audio on the clock of the pictures. Only sender reports state one moment on both clocks (RFC 3550, section 6.4.1): in
 * the answer to PLAY, some servers state the same moment for both media, others the first packet of each. Audio therefore waits
 * for the reports; without them both begin as that answer says, or at the same time.
 */
class AudioClock {
  /** Seconds from the start of the pictures to the start of the audio. */
  #offset = 0;
  /** Whether the offset is known, and whether from a report. */
  #isTold: boolean;
  #isReported = false;
  /** Audio that waits for the reports; undefined once no audio waits any more. */
  #pending: AudioFrame[] | undefined = [];
  #last = -Infinity;

  /** @param isOneClock whether both have the same clock already, by the answer to PLAY */
  constructor(
    private readonly video: TrackReceiver,
    private readonly audio: TrackReceiver,
    isOneClock: boolean,
  ) {
    this.#isTold = isOneClock;
  }

  /** Whether audio waits for the reports. */
  get isWaiting(): boolean {
    return this.#pending !== undefined && this.#pending.length > 0;
  }

  /** Adds the next unit. @returns the audio that is ready, on the clock of the pictures */
  add(frame: AudioFrame): AudioFrame[] {
    if (this.#pending === undefined) return this.#corrected([frame]);
    this.#pending.push(frame);
    return this.reported();
  }

  /** The sender may have reported. @returns the audio that is ready */
  reported(): AudioFrame[] {
    return this.#pending === undefined || this.#difference() === undefined ? [] : this.release();
  }

  /** Returns all audio that waits; later audio does not wait. */
  release(): AudioFrame[] {
    const pending = this.#pending ?? [];
    this.#pending = undefined;
    return this.#corrected(pending);
  }

  /** Applies the offset; drops units that a correction puts before those already returned. */
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
    const [video, audio] = [this.video.wallClock(0), this.audio.wallClock(0)];
    return video === undefined || audio === undefined ? undefined : (audio - video) / 1000;
  }
}
