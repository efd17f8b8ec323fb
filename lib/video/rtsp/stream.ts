import type { Abort } from '../../concurrency/signals';
import { RvmError } from '../../error';
import type { AudioFormat, MediaFrame, MediaStream, VideoFrame } from '../media';
import { FrameQueue } from './frame-queue';
import type { PlayedTrack, Playing } from './handshake';
import { KeepAlive } from './keep-alive';
import type { StreamLimits } from './limits';
import type { RtspSession } from './session';
import { SilenceWatch } from './silence-watch';
import { SoundTime } from './sound-time';

/** Milliseconds between what we tell the sender of its packets (RFC 3550, section 6.2). */
const REPORT_MS = 5_000;
/** Seconds that may be missing at the end of what was announced: the last picture has no length of its own. */
const END_TOLERANCE = 2;

export interface StreamParts {
  session: RtspSession;
  playing: Playing;
  limits: StreamLimits;
  /** Ends it from outside. */
  ending: Abort;
  isLive: boolean;
}

/** A stream that is being sent, from its first packet to the end of its connection. */
export class RtspStream implements MediaStream {
  readonly #session: RtspSession;
  readonly #playing: Playing;
  readonly #limits: StreamLimits;
  readonly #queue: FrameQueue;
  readonly #soundTime: SoundTime | undefined;
  /** What a relay must not be without for long: packets, and whole pictures. */
  readonly #silence: SilenceWatch;
  readonly #darkness: SilenceWatch;
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
    this.#soundTime = audio && new SoundTime(video.receiver, audio.receiver, isOneClock);
    this.#silence = new SilenceWatch(limits.silenceMs, () => this.#fellSilent());
    this.#darkness = new SilenceWatch(limits.pictureMs, () => this.#fail(dark()));
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
