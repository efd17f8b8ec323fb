import { RvmError } from '../../error';
import type { AudioFormat, MediaFrame, VideoFrame } from '../media';
import type { VideoSource } from '../sessions/session-slots';
import type { Subscription } from '../sessions/shared-stream';
import { type Job, later, startOf } from './job';
import { SpanEnd } from './span-reader';

/** Seconds: a recording that ends this close to the wanted end is complete. */
const WHOLE = 1;

/** Receives the pictures and audio of a clip in decoding order, with times from 0 on. */
export interface ClipSink {
  /** Resolves with false once the sink accepts no more frames. */
  add(frame: MediaFrame): Promise<boolean>;
  /** Why the sink accepts no more frames. */
  readonly ended: 'format changed' | 'too large' | undefined;
  /** Whether the clip contains audio. */
  readonly hasSound: boolean;
}

export interface ClipSpan {
  /**
   * End of the clip in milliseconds since 1970. Called repeatedly, because the end of an alarm may not be known yet.
   * @param from the moment of the first picture; undefined before it
   */
  until: (from?: number) => number;
}

/** Why a clip is shorter than requested. */
type Shortness = 'recording ends' | 'stalled' | 'broken off' | 'format changed' | 'too large';

export interface Recorded {
  /** Moments of the first and last picture, in milliseconds since 1970. */
  from: number;
  to: number;
  camera: Subscription['session']['device'];
  /** Codecs that were left out, or announced but absent. */
  leftOut: readonly string[];
  reason: Shortness | undefined;
}

/**
 * Records a clip. Where a recent recording ends too early, the rest is requested again from there on; a stream that breaks off
 * after the first picture yields the clip so far.
 * @throws RvmError those of the session and of the relay, before the first picture; CANCELLED
 */
export async function recordClip(
  job: Job,
  source: VideoSource,
  span: ClipSpan,
  sink: ClipSink,
): Promise<Recorded> {
  const recording = new Recording(job, source, span, sink);
  return recording.run();
}

class Recording {
  /** Moment of the first picture. */
  #from: number | undefined;
  /** Moment of the newest picture in display order. */
  #to = -Infinity;
  /** Moment of the last picture in decoding order. */
  #last = -Infinity;
  #camera: Recorded['camera'] = { id: '', name: '', status: '' };
  #leftOut: readonly string[] = [];
  /** Announced audio. */
  #audio: AudioFormat | undefined;
  /** Moment of the newest audio frame. */
  #heard = -Infinity;
  /** The session still repeats pictures that the clip has. */
  #isBehind = true;
  /** The sink has failed, not the video. */
  #isLost = false;
  /** Milliseconds to add to the times of the session. */
  #shift = 0;
  readonly #seam = new ClipSeam();
  #end = new SpanEnd();

  constructor(
    private readonly job: Job,
    private readonly source: VideoSource,
    private readonly span: ClipSpan,
    private readonly sink: ClipSink,
  ) {}

  async run(): Promise<Recorded> {
    for (let attempt = 1; !this.#isWhole; attempt += 1) {
      if (this.#isOverdue) return this.#recorded('stalled');
      const joined = await this.#join();
      if (joined === undefined) return this.#recorded(this.#isWhole ? undefined : 'recording ends');
      const end = await this.#read(joined);
      if (end !== 'recording ends' || !this.job.mayCome(this.#until())) return this.#recorded(end);
      if (!this.#isBehind) attempt = 1;
      if (!this.#isBehind) this.job.came();
      try {
        await this.job.again(endsShort(), attempt);
      } catch (error) {
        if (this.job.hasEnded) throw error;
        return this.#recorded(this.#isWhole ? undefined : end);
      }
    }
    return this.#recorded(undefined);
  }

  /** Undefined where the clip has pictures and no more can be fetched. */
  async #join(): Promise<Subscription | undefined> {
    try {
      return await this.job.join(this.#next(), 'stream waits');
    } catch (error) {
      if (this.#from === undefined || this.job.hasEnded) throw error;
      return undefined;
    }
  }

  /** The source from the beginning, or from where the recording ended. */
  #next(): VideoSource {
    const start = startOf(this.source.wanted, Infinity);
    if (this.#from === undefined || start === undefined) return this.source;
    return later(this.source, (this.#to - start) / 1000);
  }

  /** @returns undefined once the clip is complete */
  async #read(joined: Subscription): Promise<Shortness | undefined> {
    const { reader, session } = joined;
    this.#camera = session.device;
    this.#leftOut = reader.leftOut;
    this.#audio = reader.audio;
    this.#isBehind = true;
    this.#shift = 0;
    this.#end = new SpanEnd();
    try {
      for await (const frame of reader) {
        if (this.#isOverdue) return 'stalled';
        const moment = joined.momentOf(frame.time);
        const end = this.#isNew(frame, moment) ? await this.#take(frame, moment + this.#shift) : 'goes on';
        if (end !== 'goes on') return end;
      }
    } catch (error) {
      if (this.job.hasEnded || this.#isLost || this.#from === undefined) throw error;
      if (this.#end.isReached) return undefined;
      return error instanceof RvmError && error.code === 'TIMEOUT' ? 'stalled' : 'broken off';
    } finally {
      await reader.close();
    }
    return this.#isWhole || this.#end.isReached ? undefined : 'recording ends';
  }

  get #isWhole(): boolean {
    return this.#to + WHOLE * 1000 >= this.#until();
  }

  get #isOverdue(): boolean {
    return this.#from !== undefined && this.job.isOverdue((this.#until() - this.#from) / 1000);
  }

  #until(): number {
    return this.span.until(this.#from);
  }

  async #take(frame: MediaFrame, moment: number): Promise<Shortness | 'goes on' | undefined> {
    const isBeyond = this.#from !== undefined && moment >= this.#until();
    // Audio may be ahead: only pictures show the progress.
    if (frame.kind === 'audio') return isBeyond ? 'goes on' : this.#keep(frame, moment);
    const pictures = this.#end.next(frame, isBeyond);
    for (const picture of pictures ?? []) {
      const end = await this.#keep(picture, moment + (picture.time - frame.time) * 1000);
      if (end !== 'goes on') return end;
    }
    return pictures && 'goes on';
  }

  async #keep(frame: MediaFrame, moment: number): Promise<Shortness | 'goes on'> {
    this.#from ??= moment;
    const isTaken = await this.#add({ ...frame, time: (moment - this.#from) / 1000 });
    if (!isTaken) return this.sink.ended ?? 'too large';
    if (frame.kind === 'audio') this.#heard = moment;
    else this.#took(frame, moment);
    return 'goes on';
  }

  async #add(frame: MediaFrame): Promise<boolean> {
    try {
      return await this.sink.add(frame);
    } catch (error) {
      this.#isLost = true;
      throw error;
    }
  }

  #took(frame: VideoFrame, moment: number): void {
    this.#seam.took(frame);
    this.#last = moment;
    this.#to = Math.max(this.#to, moment);
    this.job.report({ kind: 'reading', ...this.#progress() });
  }

  /** A session that continues another one begins with pictures that the clip already has. */
  #isNew(frame: MediaFrame, moment: number): boolean {
    if (frame.kind === 'audio') return !this.#isBehind && moment + this.#shift > this.#heard;
    if (!this.#isBehind) return true;
    if (this.#seam.isLast(frame)) {
      this.#shift = this.#last - moment;
      this.#isBehind = false;
      return false;
    }
    // The relay has encoded the video again: the next key frame is the first new one.
    if (frame.key && moment > this.#to) this.#isBehind = false;
    return !this.#isBehind;
  }

  #progress(): { seconds: number; of: number | undefined } {
    const from = this.#from ?? 0;
    const end = this.#until();
    return { seconds: (this.#to - from) / 1000, of: Number.isFinite(end) ? (end - from) / 1000 : undefined };
  }

  #recorded(reason: Shortness | undefined): Recorded {
    const from = this.#from ?? 0;
    const lacking = this.#audio === undefined || this.sink.hasSound ? [] : [this.#audio.codec.toUpperCase()];
    const leftOut = [...this.#leftOut, ...lacking];
    return { from, to: this.#to, camera: this.#camera, leftOut, reason };
  }
}

function endsShort(): RvmError {
  return new RvmError('VIDEO_NOT_YET', 'The recording ends before the end of the clip.');
}

/**
 * Finds where a session continues another one that ended within a group of pictures: at the same picture, byte by byte. Times
 * do not help: a relay starts at the key frame before the requested time, and few relays report which one that is.
 */
class ClipSeam {
  /** Key frame of the last picture taken. */
  #key: VideoFrame | undefined;
  #last: VideoFrame | undefined;
  #behindKey = 0;
  /** Pictures of the new session since a key frame that equals `#key`; undefined without one. */
  #seen: number | undefined;

  /** In the order of decoding. */
  took(frame: VideoFrame): void {
    this.#behindKey = frame.key ? 0 : this.#behindKey + 1;
    if (frame.key) this.#key = frame;
    this.#last = frame;
    this.#seen = undefined;
  }

  /** Whether this picture of the new session is the last one taken. Call it for every picture from the start. */
  isLast(frame: VideoFrame): boolean {
    if (frame.key) this.#seen = isSame(frame, this.#key) ? 0 : undefined;
    else if (this.#seen !== undefined) this.#seen += 1;
    return this.#seen === this.#behindKey && isSame(frame, this.#last);
  }
}

function isSame({ nals }: VideoFrame, other: VideoFrame | undefined): boolean {
  if (nals.length !== other?.nals.length) return false;
  return nals.every((nal, index) => other.nals[index]?.equals(nal));
}
