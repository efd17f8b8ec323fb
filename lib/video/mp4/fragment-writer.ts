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

/** Pictures that tell whether some are shown in another order than they are decoded in; or the seconds that are enough. */
const TELLING = { pictures: 3, seconds: 1 };
/** Seconds of pictures until announced sound is given up: a player would wait for it for ever. */
const SOUND_COMES = 1;
/** What is held until then, whatever the times of a stream say. */
const MOST_HELD = 128;
/** Pictures that are held back where any are: encoders of cameras use no more. */
const HELD_BACK = 2;

/**
 * Fragmented MP4 of a stream, for a player that takes it as it comes (Media Source Extensions): an initialisation, then a fragment for
 * each picture, with the sound that came beside it. A fragment is given once the next picture is there. Begins with the first key
 * frame, at second 0; where pictures are shown in another order than they are decoded in, two pictures later.
 */
export class FragmentWriter {
  readonly #timeline = new Timeline();
  /** Sound that is announced, and later that which is part of the initialisation. */
  #audio: AudioFormat | undefined;
  #video: VideoFormat | undefined;
  /** The first of all, until it is clear what the initialisation says; undefined from then on. */
  #held: Placed[] | undefined = [];
  /** Seconds by which all is later than on the timeline, so that no time of decoding lies below 0. */
  #delay = 0;
  #pictures = new VideoSamples([]);
  readonly #sounds = new AudioSamples();
  #fragments = 0;

  /**
   * @param audio sound that will come; other sound is left out
   * @param seconds length of the whole, at most: without it browsers stutter where the machine is busy
   */
  constructor(
    audio?: AudioFormat,
    private readonly seconds?: number,
  ) {
    this.#audio = audio;
  }

  /** Media type with the codecs of what was given last, once anything was, such as `video/mp4; codecs="avc1.42C015"`. */
  get mimeType(): string {
    if (this.#video === undefined) return 'video/mp4';
    const codecs = [this.#video.codecString, ...(this.#audio === undefined ? [] : [this.#audio.codecString])];
    return `video/mp4; codecs="${codecs.join(', ')}"`;
  }

  /**
   * What can be given now that this frame is there, the next in the order of decoding. After a change of the video's format a new
   * initialisation comes before what follows.
   */
  add(frame: MediaFrame): Buffer[] {
    const isUsable = frame.kind === 'video' ? sizeOf(frame) > 0 : this.#isOurs(frame.format);
    if (!isUsable || !isPlayable(frame)) return [];
    const time = frame.kind === 'video' ? this.#timeline.picture(frame) : this.#timeline.sound(frame);
    if (time === undefined) return [];
    if (this.#held === undefined) return this.#give({ frame, time });
    this.#held.push({ frame, time });
    return this.#isClear(this.#held) ? this.#begin(this.#held) : [];
  }

  /** What is left, where nothing follows. */
  end(): Buffer[] {
    const first = this.#held === undefined ? [] : this.#begin(this.#held);
    return [...first, ...this.#fragment(this.#last())];
  }

  #isOurs(format: AudioFormat): boolean {
    return this.#audio !== undefined && isSameAudio(format, this.#audio);
  }

  #isClear(held: readonly Placed[]): boolean {
    const newest = held.at(-1)?.time ?? 0;
    const pictures = held.filter(({ frame }) => frame.kind === 'video').length;
    const isTelling = pictures >= TELLING.pictures || (pictures > 1 && newest >= TELLING.seconds);
    const soundIsClear = this.#audio === undefined || pictures < held.length || newest >= SOUND_COMES;
    return (isTelling && soundIsClear) || held.length >= MOST_HELD;
  }

  #begin(held: readonly Placed[]): Buffer[] {
    this.#held = undefined;
    if (!held.some(({ frame }) => frame.kind === 'audio')) this.#audio = undefined;
    const shown = held.flatMap(({ frame, time }) => (frame.kind === 'video' ? [time] : []));
    const isReordered = shown.some((time, index) => time < Math.max(...shown.slice(0, index)));
    if (isReordered) this.#holdBack(shortestOf(shown));
    return held.flatMap((placed) => this.#give(placed));
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

  /** The initialisation, where this is the first picture of its format; before it all that is left of the one before. */
  #startOf(format: VideoFormat): Buffer[] {
    if (this.#video !== undefined && isSameVideo(format, this.#video)) return [];
    const rest = this.#fragment(this.#last());
    this.#video = format;
    return [...rest, initialisation(format, this.#audio, this.seconds)];
  }

  /** The newest picture, with a duration that is as good as any. */
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

/** A picture as it lies in a fragment, and when it is shown, on the clock of its track. */
export interface TimedSample {
  data: Buffer;
  key: boolean;
  shown: number;
}

/**
 * Pictures, each given once the next is there: only then is it known how long it lasts. A player that is told a guess finds a gap
 * behind it, or drops what follows.
 */
class VideoSamples {
  readonly #times: DecodingTimes;
  #held: (TimedSample & { decoded: number }) | undefined;

  /** @param before see DecodingTimes */
  constructor(before: readonly number[]) {
    this.#times = new DecodingTimes(before);
  }

  /** The picture before this one. */
  next(picture: TimedSample): TrackRun | undefined {
    const decoded = this.#times.next(picture.shown);
    const before = this.end(decoded - (this.#held?.decoded ?? 0));
    this.#held = { ...picture, decoded };
    return before;
  }

  /** The newest picture, which nothing follows. @param duration on the clock of the track */
  end(duration: number): TrackRun | undefined {
    if (this.#held === undefined) return undefined;
    const { data, key, shown, decoded } = this.#held;
    this.#held = undefined;
    const samples = [{ data, key, duration, offset: shown - decoded }];
    return { track: VIDEO_TRACK, start: decoded, samples };
  }
}

/** What waits at most, in bytes: some seconds without a picture. Each unit counts with what it takes beside its own. */
const MOST = 1024 * 1024;
const OF_UNIT = 512;

/** Sound that waits for the next fragment. Without a break it is one run, whatever the times of its packets are rounded to. */
class AudioSamples {
  #runs: { start: number; samples: FragmentSample[] }[] = [];
  /** Where the newest ends. */
  #end = -Infinity;
  #bytes = 0;

  /**
   * Left out where too much waits.
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

  /** All that waits. */
  take(): TrackRun[] {
    const runs = this.#runs.map((run) => ({ ...run, track: AUDIO_TRACK }));
    this.#runs = [];
    this.#bytes = 0;
    return runs;
  }
}

/** H.264 and H.265 hold back no more pictures than this (max_dec_frame_buffering). */
const DEEPEST = 16;

/**
 * Finds times of decoding for pictures of which only the time of showing is known: each is decoded when the picture is shown that
 * comes so many places before it in the order of showing, so that what is shown earlier is decoded in time and all intervals are
 * those of the stream.
 */
export class DecodingTimes {
  /** Times of showing that no decoding has taken yet, in order. */
  readonly #waiting: number[];
  #last = -Infinity;

  /** @param before made-up times before that of the first picture, in order: as many as pictures are held back */
  constructor(before: readonly number[]) {
    this.#waiting = [...before];
  }

  /** When the next picture is decoded, later than all before it; as a rule not after it is shown. */
  next(shown: number): number {
    const place = this.#waiting.findIndex((time) => time > shown);
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, shown);
    // More are held back than was known: from now on one more is.
    const isDeeper = shown < this.#last && this.#waiting.length <= DEEPEST;
    const earliest = isDeeper ? -Infinity : (this.#waiting.shift() ?? shown);
    this.#last = Math.max(earliest, this.#last + 1);
    return this.#last;
  }
}
