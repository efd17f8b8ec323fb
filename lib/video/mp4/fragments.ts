import type { AudioFormat, MediaFrame, VideoFormat } from '../media';
import { isPlayable, isSameAudio, isSameVideo } from './formats';
import { initialisation, VIDEO_CLOCK } from './initialisation';
import { lengthPrefixed, sizeOf } from './length-prefixed';
import { movieFragment, type TrackRun } from './movie-fragment';
import { PictureRun } from './picture-run';
import { SoundRun } from './sound-run';
import { Timeline } from './timeline';

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
  #pictures = new PictureRun([]);
  readonly #sounds = new SoundRun();
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
    this.#pictures = new PictureRun(before);
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
