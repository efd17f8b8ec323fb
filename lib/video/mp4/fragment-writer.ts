import type { AudioFormat, MediaFrame, VideoFormat } from '../media';
import {
  AAC_SAMPLES,
  AUDIO_TRACK,
  type FragmentSample,
  initialisation,
  movieFragment,
  type TrackRun,
  VIDEO_CLOCK,
  VIDEO_TRACK,
} from './boxes';
import { isPlayable, isSameAudio, isSameVideo, lengthPrefixed, sizeOf, Timeline } from './timeline';

interface Placed {
  frame: MediaFrame;
  /** Seconds from the first picture on. */
  time: number;
}

/** Pictures, or seconds of them, that show whether the display order differs from the decoding order. */
const TELLING = { pictures: 3, seconds: 1 };
/** Seconds of pictures until announced audio is given up: a player would wait for it forever. */
const SOUND_COMES = 1;
/** Frames held until then, whatever their times. */
const MOST_HELD = 128;
/** Pictures held back where the orders differ: encoders of cameras use no more. */
const HELD_BACK = 2;

/**
 * Writes a stream as fragmented MP4, for Media Source Extensions: an initialisation, then a fragment for each picture, with the
 * audio received meanwhile. A fragment is returned once the next picture is there. Begins with the first key frame, at second
 * 0; where display order and decoding order differ, two pictures later.
 */
export class FragmentWriter {
  readonly #timeline = new Timeline();
  #video: VideoFormat | undefined;
  /** The first frames, until the content of the initialisation is known; then undefined. */
  #pending: Placed[] | undefined = [];
  /** Seconds added to the timeline, so that no decoding time is below 0. */
  #delay = 0;
  #pictures = new VideoSamples([]);
  readonly #sounds = new AudioSamples();
  #fragments = 0;

  /**
   * @param audio audio that is announced, later that of the initialisation; other audio is dropped
   * @param seconds maximum length of the whole: without it browsers stutter on a busy machine
   */
  constructor(
    private audio?: AudioFormat,
    private readonly seconds?: number,
  ) {}

  /**
   * Media type with the codecs of the last initialisation, such as `video/mp4; codecs="avc1.42C015"`; without codecs before the
   * first.
   */
  get mimeType(): string {
    if (this.#video === undefined) return 'video/mp4';
    const codecs = [this.#video.codecString, ...(this.audio === undefined ? [] : [this.audio.codecString])];
    return `video/mp4; codecs="${codecs.join(', ')}"`;
  }

  /**
   * Adds the next frame in decoding order.
   * @returns the bytes that are ready; a change of the video format adds a new initialisation
   */
  add(frame: MediaFrame): Buffer[] {
    const isUsable = frame.kind === 'video' ? sizeOf(frame) > 0 : this.#isOurs(frame.format);
    if (!isUsable || !isPlayable(frame)) return [];
    const time = frame.kind === 'video' ? this.#timeline.picture(frame) : this.#timeline.sound(frame);
    if (time === undefined) return [];
    if (this.#pending === undefined) return this.#give({ frame, time });
    this.#pending.push({ frame, time });
    return this.#isClear(this.#pending) ? this.#begin(this.#pending) : [];
  }

  /** Returns the rest, at the end of the stream. */
  end(): Buffer[] {
    const first = this.#pending === undefined ? [] : this.#begin(this.#pending);
    return [...first, ...this.#fragment(this.#last())];
  }

  #isOurs(format: AudioFormat): boolean {
    return this.audio !== undefined && isSameAudio(format, this.audio);
  }

  #isClear(pending: readonly Placed[]): boolean {
    const newest = pending.at(-1)?.time ?? 0;
    const pictures = pending.filter(({ frame }) => frame.kind === 'video').length;
    const isTelling = pictures >= TELLING.pictures || (pictures > 1 && newest >= TELLING.seconds);
    const soundIsClear = this.audio === undefined || pictures < pending.length || newest >= SOUND_COMES;
    return (isTelling && soundIsClear) || pending.length >= MOST_HELD;
  }

  #begin(pending: readonly Placed[]): Buffer[] {
    this.#pending = undefined;
    if (!pending.some(({ frame }) => frame.kind === 'audio')) this.audio = undefined;
    const shown = pending.flatMap(({ frame, time }) => (frame.kind === 'video' ? [time] : []));
    const isReordered = shown.some((time, index) => time < Math.max(...shown.slice(0, index)));
    if (isReordered) this.#holdBack(shortestOf(shown));
    return pending.flatMap((placed) => this.#give(placed));
  }

  /** @param interval seconds from one picture to the next */
  #holdBack(interval: number): void {
    this.#delay = HELD_BACK * interval;
    const before = Array.from({ length: HELD_BACK }, (_, index) =>
      Math.round(index * interval * VIDEO_CLOCK),
    );
    this.#pictures = new VideoSamples(before);
  }

  #give({ frame, time }: Placed): Buffer[] {
    if (frame.kind === 'audio') {
      if (this.#isOurs(frame.format))
        this.#sounds.add(frame.data, Math.round((time + this.#delay) * frame.format.sampleRate));
      return [];
    }
    const start = this.#startOf(frame.format);
    const shown = Math.round((time + this.#delay) * VIDEO_CLOCK);
    const before = this.#pictures.next({ data: lengthPrefixed(frame), key: frame.key, shown });
    return [...start, ...this.#fragment(before)];
  }

  /** The initialisation, at the first picture of a format, after the rest of the previous format. */
  #startOf(format: VideoFormat): Buffer[] {
    if (this.#video !== undefined && isSameVideo(format, this.#video)) return [];
    const rest = this.#fragment(this.#last());
    this.#video = format;
    return [...rest, initialisation(format, this.audio, this.seconds)];
  }

  /** The newest picture, with the mean interval as its duration. */
  #last(): TrackRun | undefined {
    return this.#pictures.end(Math.max(1, Math.round(this.#timeline.interval * VIDEO_CLOCK)));
  }

  #fragment(picture: TrackRun | undefined): Buffer[] {
    if (picture === undefined) return [];
    this.#fragments = (this.#fragments + 1) % 2 ** 32;
    return [movieFragment(this.#fragments, [picture, ...this.#sounds.take()])];
  }
}

/** The shortest time between two neighbours. */
function shortestOf(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.min(...sorted.slice(1).map((time, index) => time - (sorted[index] ?? 0)));
}

/** A picture of a fragment; `shown` is its display time on the clock of its track. */
interface TimedSample {
  data: Buffer;
  key: boolean;
  shown: number;
}

/**
 * Returns each picture once the next one is there: only then is its duration known. After a guessed duration, a player finds a
 * gap or drops the next picture.
 */
class VideoSamples {
  readonly #times: DecodingTimes;
  #pending: (TimedSample & { decoded: number }) | undefined;

  /** @param before see DecodingTimes */
  constructor(before: readonly number[]) {
    this.#times = new DecodingTimes(before);
  }

  /** Adds a picture. @returns the one before it */
  next(picture: TimedSample): TrackRun | undefined {
    const decoded = this.#times.next(picture.shown);
    const before = this.end(decoded - (this.#pending?.decoded ?? 0));
    this.#pending = { ...picture, decoded };
    return before;
  }

  /** The newest picture, which nothing follows. @param duration on the clock of the track */
  end(duration: number): TrackRun | undefined {
    if (this.#pending === undefined) return undefined;
    const { data, key, shown, decoded } = this.#pending;
    this.#pending = undefined;
    const samples = [{ data, key, duration, offset: shown - decoded }];
    return { track: VIDEO_TRACK, start: decoded, samples };
  }
}

/** Bytes of audio that wait: some seconds without a picture. Each unit has `OF_UNIT` bytes of overhead. */
const MOST = 1024 * 1024;
const OF_UNIT = 512;

/** Audio that waits for the next fragment. Without a break it is one run, however its times are rounded. */
class AudioSamples {
  #runs: { start: number; samples: FragmentSample[] }[] = [];
  /** End of the newest run. */
  #end = -Infinity;
  #bytes = 0;

  /**
   * Adds a unit; drops it where too much waits.
   * @param heard in samples, on the clock of the track
   */
  add(data: Buffer, heard: number): void {
    this.#bytes += OF_UNIT + data.length;
    if (this.#bytes > MOST) return;
    const follows = Math.abs(heard - this.#end) < AAC_SAMPLES / 2;
    const start = follows ? this.#end : heard;
    const sample = { data, duration: AAC_SAMPLES, offset: 0, key: true };
    const newest = this.#runs.at(-1);
    if (follows && newest !== undefined) newest.samples.push(sample);
    else this.#runs.push({ start, samples: [sample] });
    this.#end = start + AAC_SAMPLES;
  }

  /** Takes all audio that waits. */
  take(): TrackRun[] {
    const runs = this.#runs.map((run) => ({ ...run, track: AUDIO_TRACK }));
    this.#runs = [];
    this.#bytes = 0;
    return runs;
  }
}

/** H.264 and H.265 hold back no more pictures (max_dec_frame_buffering). */
const DEEPEST = 16;

/**
 * Derives decoding times from display times. With `d` pictures held back, picture `n` is decoded at display time number `n-d`,
 * so that reordered pictures are decoded in time and all intervals are those of the stream.
 */
class DecodingTimes {
  /** Display times not yet used as decoding times, in order. */
  readonly #waiting: number[];
  #last = -Infinity;

  /** @param before artificial times before that of the first picture, in order: one for each picture held back */
  constructor(before: readonly number[]) {
    this.#waiting = [...before];
  }

  /** Decoding time of the next picture: later than all before, as a rule not after its display time. */
  next(shown: number): number {
    const index = this.#waiting.findIndex((time) => time > shown);
    this.#waiting.splice(index < 0 ? this.#waiting.length : index, 0, shown);
    // More pictures are held back than known so far: from now on one more.
    const isDeeper = shown < this.#last && this.#waiting.length <= DEEPEST;
    const earliest = isDeeper ? -Infinity : (this.#waiting.shift() ?? shown);
    this.#last = Math.max(earliest, this.#last + 1);
    return this.#last;
  }
}
