import { FRAMES_PER_SECOND } from '../../scene/packs';
import { formatSeconds, parseRange } from '../protocol';

/** A range of pictures, by number since the epoch (see Footage): first, last + 1, and the one due now. */
export interface Passage {
  from: number;
  to: number;
  due: number;
}

/** A passage to play, and the `Range` header of the answer. */
interface PlayPlan {
  passage: Passage;
  range: string;
}

/** Maps the seconds of a `Range` header to pictures. */
export interface Timeline {
  /**
   * The plan for a PLAY. `range` is the header; absent = continue at `position`, or begin at the start if that is undefined. A
   * number is the status of a refusal: 457 outside the recording, 501 unknown unit.
   */
  plan(range: string | undefined, position: number | undefined): PlayPlan | 457 | 501;
  /** `Range` of a playback from `position`. */
  rangeFrom(position: number): string;
  /** Wall clock of a picture that is sent now, epoch milliseconds. */
  wallClock(picture: number): number;
}

/** Live video, without an end unless requested. After a pause playback continues at the present. */
export class LiveTimeline implements Timeline {
  constructor(private readonly now: () => number) {}

  plan(range: string | undefined): PlayPlan | 457 | 501 {
    const wanted = parseRange(range ?? 'npt=now-');
    if (typeof wanted === 'number') return wanted;
    // ffmpeg begins a live stream with `npt=0.000-`.
    if (wanted.kind === 'from' && wanted.start > 0) return 457;
    const end = wanted.kind === 'from' ? wanted.end : undefined;
    const seconds = this.now() / 1000;
    const from = Math.floor(seconds) * FRAMES_PER_SECOND;
    const to = end === undefined ? Infinity : from + Math.ceil(end * FRAMES_PER_SECOND);
    const passage = { from, to, due: Math.floor(seconds * FRAMES_PER_SECOND) };
    return {
      passage,
      range: end === undefined ? this.rangeFrom() : `npt=${formatSeconds(0)}-${formatSeconds(end)}`,
    };
  }

  rangeFrom(): string {
    return 'npt=now-';
  }

  wallClock(picture: number): number {
    return (picture * 1000) / FRAMES_PER_SECOND;
  }
}

/**
 * A recording of a fixed length; position 0 is the key frame of the requested second. The pictures between it and the requested
 * moment are sent at once, so that the player does not wait for them.
 */
export class RecordedTimeline implements Timeline {
  readonly #base: number;
  readonly #requested: number;
  readonly #end: number;

  /**
   * `start` in epoch milliseconds, `length` in seconds. `available` returns the number of the first picture that is not
   * recorded yet.
   */
  constructor(
    start: number,
    length: number,
    private readonly now: () => number,
    private readonly available: () => number,
  ) {
    this.#requested = Math.floor((start / 1000) * FRAMES_PER_SECOND);
    this.#base = Math.floor(start / 1000) * FRAMES_PER_SECOND;
    this.#end = this.#base + length * FRAMES_PER_SECOND;
  }

  plan(range: string | undefined, position: number | undefined): PlayPlan | 457 | 501 {
    if (range === undefined) return this.#passage(this.#resumeAt(position), this.#end, this.#requested);
    const wanted = parseRange(range);
    if (typeof wanted === 'number') return wanted;
    if (wanted.kind === 'now') return 457;
    const from = this.#base + Math.floor(wanted.start) * FRAMES_PER_SECOND;
    if (from >= this.#end) return 457;
    const due =
      from === this.#base ? this.#requested : this.#base + Math.floor(wanted.start * FRAMES_PER_SECOND);
    return this.#passage(from, this.#endOf(wanted.end), due);
  }

  rangeFrom(position: number): string {
    return `npt=${this.#seconds(position)}-${this.#seconds(this.#end)}`;
  }

  // Sender reports contain the time of sending (RFC 3550, section 6.4.1), not of recording.
  wallClock(): number {
    return this.now();
  }

  #resumeAt(position: number | undefined): number {
    return position === undefined || position >= this.#end ? this.#base : position;
  }

  #endOf(end: number | undefined): number {
    if (end === undefined) return this.#end;
    return Math.min(this.#end, this.#base + Math.ceil(end * FRAMES_PER_SECOND));
  }

  #passage(from: number, to: number, due: number): PlayPlan {
    const recorded = Math.max(from, Math.min(to, this.available()));
    return {
      passage: { from, to: recorded, due: Math.max(from, due) },
      range: `npt=${this.#seconds(from)}-${this.#seconds(to)}`,
    };
  }

  #seconds(picture: number): string {
    return formatSeconds((picture - this.#base) / FRAMES_PER_SECOND);
  }
}
