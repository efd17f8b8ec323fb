import { RvmError } from '../../error';
import type { AudioFormat, AudioFrame, MediaFrame, VideoFormat, VideoFrame } from '../media';
import { AAC_SAMPLES } from './boxes';
import type { ClipDestination } from './clip-destination';
import { isAlike, isPlayable, isSameAudio, isSameVideo, lengthPrefixed, sizeOf, Timeline } from './timeline';
import type { Muxer } from './muxer';

export interface ClipFacts {
  /** From the first picture to the end of the last picture or of the audio. */
  seconds: number;
  bytes: number;
  /** Of all bytes, in hexadecimal digits. */
  sha256: string;
  /** As in the parameter `codecs` of a media type (RFC 6381), such as `avc1.4D401F, mp4a.40.2`. */
  codecs: string;
  /** Of the pictures, in pixels. */
  width: number;
  height: number;
  /** Pictures. */
  frames: number;
}

/** Why a clip accepts no more frames: the next one needs another decoder, or exceeds the maximum size. */
type ClipEnd = 'format changed' | 'too large';

/** Seconds of pictures until a clip begins without audio: audio may arrive later than its pictures. */
const SOUND_COMES = 2;
/** Frames and bytes held until then, whatever the times of the frames. */
const MOST_HELD = { frames: 256, bytes: 8 * 1024 * 1024 };

/**
 * Pictures and audio units, each of which takes a kilobyte of the index in memory until the end: far more than any camera
 * sends. The limit grows with the seconds of the clip, whose length the user has chosen.
 */
const MOST_SAMPLES = { first: 1000, inSecond: 500, inAll: 400_000 };

interface Placed {
  frame: MediaFrame;
  /** Seconds from the first picture on. */
  time: number;
}

/**
 * Writes the frames of a camera as an MP4 with its index first, so that it plays while it loads. Begins with the first key
 * frame, at second 0. One call at a time. A failure leaves no data behind.
 */
export class ClipWriter {
  readonly #timeline = new Timeline();
  /** The first frames, until it is known whether there is audio. */
  #pending: Placed[] = [];
  #muxer: Muxer | undefined;
  #video: VideoFormat | undefined;
  /** Some pictures need other parameter sets than the first. */
  #changesSets = false;
  #audio: AudioFormat | undefined;
  /** Why the clip accepts no more frames, if so. Once finished it is complete all the same. */
  ended: ClipEnd | undefined;
  #media = 0;
  #samples = 0;
  #frames = 0;
  #seconds = 0;

  constructor(private readonly destination: ClipDestination) {}

  get hasSound(): boolean {
    return this.#audio !== undefined;
  }

  /**
   * Adds the next frame in decoding order. Drops audio before the first picture, and all frames before the first key frame.
   * @returns false where the clip accepts no more frames, see `ended`
   * @throws RvmError STORE_FAILED; the clip is then removed
   */
  async add(input: MediaFrame): Promise<boolean> {
    if (this.ended !== undefined) return false;
    const frame = input.kind === 'video' ? this.#withSets(input) : input;
    const time = this.#placed(frame);
    if (time === undefined) return this.ended === undefined;
    await this.#orNothing(() => this.#take({ frame, time }));
    return true;
  }

  /**
   * Completes the clip.
   * @throws RvmError VIDEO_FAILED where there was no picture, STORE_FAILED; the clip is then removed
   */
  async finish(): Promise<ClipFacts> {
    return this.#orNothing(async () => {
      const video = this.#video;
      if (video === undefined)
        throw new RvmError(
          'VIDEO_FAILED',
          'The relay sent no picture that can be shown, so there is no clip.',
        );
      const muxer = this.#muxer ?? (await this.#begin(video));
      const head = await muxer.finish();
      const codecs = [video.codecString, ...(this.#audio === undefined ? [] : [this.#audio.codecString])];
      return {
        seconds: this.#seconds,
        ...(await this.destination.finish(head)),
        codecs: codecs.join(', '),
        width: video.width,
        height: video.height,
        frames: this.#frames,
      };
    });
  }

  /** Removes the clip. Never fails. */
  async discard(): Promise<void> {
    this.#pending = [];
    await this.#muxer?.cancel();
    await this.destination.discard();
  }

  /**
   * Some cameras change their parameter sets repeatedly. Each key frame then carries its own, or it would be decoded with
   * others.
   */
  #withSets(frame: VideoFrame): VideoFrame {
    const { format, key, nals } = frame;
    if (this.#video !== undefined) this.#changesSets ||= !isSameVideo(format, this.#video);
    return this.#changesSets && key ? { ...frame, nals: [...format.parameterSets, ...nals] } : frame;
  }

  async #orNothing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  /** Time of a frame; undefined where it is dropped or ends the clip. */
  #placed(frame: MediaFrame): number | undefined {
    const bytes = frame.kind === 'video' ? sizeOf(frame) : frame.data.length;
    if (bytes === 0 || !isPlayable(frame) || !this.#isOfFormat(frame)) return undefined;
    const time = frame.kind === 'video' ? this.#timeline.picture(frame) : this.#timeline.sound(frame);
    if (time === undefined) return undefined;
    if (this.#media + bytes > this.destination.most || this.#samples >= mostSamples(time))
      this.ended = 'too large';
    if (this.ended !== undefined) return undefined;
    this.#media += bytes;
    this.#samples += 1;
    return time;
  }

  #isOfFormat(frame: MediaFrame): boolean {
    if (frame.kind === 'audio') return this.#audio === undefined || isSameAudio(frame.format, this.#audio);
    const { format } = frame;
    if (this.#video !== undefined && !isSameVideo(format, this.#video) && !isAlike(format, this.#video))
      this.ended = 'format changed';
    return this.ended === undefined;
  }

  async #take(placed: Placed): Promise<void> {
    const { frame, time } = placed;
    if (frame.kind === 'video') this.#video ??= frame.format;
    // Audio that arrives once the clip has begun without it is dropped.
    else if (this.#muxer === undefined) this.#audio ??= frame.format;
    if (this.#muxer !== undefined) return this.#write(this.#muxer, placed);
    this.#pending.push(placed);
    if (this.#video !== undefined && !this.#mayHaveSound(time)) await this.#begin(this.#video);
  }

  /** Whether audio may still arrive. */
  #mayHaveSound(time: number): boolean {
    const hasCapacity = this.#pending.length < MOST_HELD.frames && this.#media < MOST_HELD.bytes;
    return hasCapacity && this.#audio === undefined && time < SOUND_COMES;
  }

  async #begin(video: VideoFormat): Promise<Muxer> {
    // Loaded at first use: loading costs 15 MB, and the smallest machines are busy for some tenths of a
    // second.
    const library = await import('./muxer.js');
    const append = (data: Uint8Array): Promise<void> => this.destination.append(data);
    const muxer = await library.Muxer.open(video, this.#audio, append);
    this.#muxer = muxer;
    const pending = this.#pending;
    this.#pending = [];
    for (const placed of pending) await this.#write(muxer, placed);
    return muxer;
  }

  #write(muxer: Muxer, { frame, time }: Placed): Promise<void> {
    return frame.kind === 'video'
      ? this.#writePicture(muxer, frame, time)
      : this.#writeSound(muxer, frame, time);
  }

  async #writePicture(muxer: Muxer, frame: VideoFrame, time: number): Promise<void> {
    const duration = this.#timeline.interval;
    // The first picture always is: the pictures shown before it were dropped.
    const isSeekable = frame.key && (frame.open !== true || this.#frames === 0);
    await muxer.addPicture(lengthPrefixed(frame), isSeekable, { time, duration });
    this.#frames += 1;
    this.#seconds = Math.max(this.#seconds, time + duration);
  }

  async #writeSound(muxer: Muxer, { data, format }: AudioFrame, time: number): Promise<void> {
    if (this.#audio === undefined) return;
    const duration = AAC_SAMPLES / format.sampleRate;
    await muxer.addSound(data, { time, duration });
    this.#seconds = Math.max(this.#seconds, time + duration);
  }
}

/** @param seconds from the beginning of the clip */
function mostSamples(seconds: number): number {
  const { first, inSecond, inAll } = MOST_SAMPLES;
  return Math.min(first + Math.max(0, seconds) * inSecond, inAll);
}
