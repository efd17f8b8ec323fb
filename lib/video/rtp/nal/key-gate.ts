import { costOf } from '../../frame-cost';
import type { VideoFrame } from '../../media';

/** A whole picture, as far as it decides whether it can be decoded. */
export interface Decodable {
  /** Decoding can begin here: `open` where what is shown before it may need pictures from before it. */
  entry: 'clean' | 'open' | undefined;
  /** It needs no other picture, but those behind it may need some from before it. */
  isIntra: boolean;
  isBrokenLink: boolean;
  reachesBack: boolean;
  /** When it is shown. */
  time: number;
}

/** Seconds without a key frame until decoding begins with an intra picture: some cameras have no others. */
const PATIENCE = 3;
/**
 * Seconds without a key frame until intra pictures count as such for whoever comes later, though all can be decoded: players begin
 * better with a key frame that is that old.
 */
const SELDOM = 30;
/** Seconds without a picture until what leans on missing ones is shown all the same, broken as it is. */
const DARK = 10;
/** Bytes that wait until it is clear where decoding begins. */
const MOST_HELD = 4 * 1024 * 1024;

/**
 * Lets pictures pass that can be decoded: from a key frame on, until packets are missing. Where there is no key frame, an intra
 * picture waits, with what comes behind it, for a while: then decoding begins with that one.
 */
export class KeyGate {
  #isOpen = false;
  #hasBegun = false;
  /** It has begun with an intra picture, and no key frame came since. */
  #isWithoutKeys = false;
  /** Time of the key frame before which pictures that reach back are broken. */
  #leadsTo: number | undefined;
  #held: VideoFrame[] = [];
  #heldBytes = 0;
  readonly #sinceKey: Elapsed;
  readonly #sincePicture: Elapsed;

  /** @param now milliseconds of a steady clock */
  constructor(now: () => number) {
    this.#sinceKey = new Elapsed(now);
    this.#sincePicture = new Elapsed(now);
  }

  /** Something is missing: closed until the next picture that decoding can begin with. */
  close(): void {
    this.#isOpen = false;
    this.#take();
  }

  /** Whether decoding begins with it, or may have to. */
  isBeginning({ entry, isIntra, time }: Decodable): boolean {
    const isSeldom = this.#sinceKey.at(time) >= SELDOM || this.#isWithoutKeys;
    return entry !== undefined || (isIntra && (!this.#isOpen || isSeldom));
  }

  /** Seconds without a picture that could be shown. */
  darkness(time: number): number {
    return this.#sincePicture.at(time);
  }

  /**
   * What can be shown now that this one is there.
   * @param frame what becomes of the picture, `key` where it is a beginning
   */
  passed(picture: Decodable, frame: VideoFrame): VideoFrame[] {
    const shown = this.#shown(picture, frame);
    if (shown.length > 0) this.#sincePicture.restart(frame.time);
    return shown;
  }

  /** What still waits, where nothing follows. */
  flush(): VideoFrame[] {
    return this.#take();
  }

  #shown(picture: Decodable, frame: VideoFrame): VideoFrame[] {
    if (picture.entry !== undefined) return this.#begin(picture, frame);
    if (picture.reachesBack && this.#isBefore(frame.time)) return [];
    if (this.#isOpen) return [frame];
    if (this.#held.length === 0 && !frame.key) return this.#broken(frame);
    return this.#hold(frame);
  }

  #begin({ entry, isBrokenLink, time }: Decodable, frame: VideoFrame): VideoFrame[] {
    this.#take();
    this.#leadsTo = entry === 'open' && (!this.#isOpen || isBrokenLink) ? time : undefined;
    this.#open();
    this.#isWithoutKeys = false;
    this.#sinceKey.restart(time);
    return [frame];
  }

  #hold(frame: VideoFrame): VideoFrame[] {
    if (this.#held.length === 0) this.#leadsTo = frame.time;
    this.#held.push(frame);
    this.#heldBytes += costOf(frame);
    if (this.#sinceKey.at(frame.time) < PATIENCE && this.#heldBytes < MOST_HELD) return [];
    this.#open();
    this.#isWithoutKeys = true;
    return this.#take();
  }

  /** Decoders go on with what they have. */
  #broken(frame: VideoFrame): VideoFrame[] {
    if (!this.#hasBegun || this.#sincePicture.at(frame.time) < DARK) return [];
    this.#open();
    return [frame];
  }

  #open(): void {
    this.#isOpen = true;
    this.#hasBegun = true;
  }

  #take(): VideoFrame[] {
    this.#heldBytes = 0;
    return this.#held.splice(0);
  }

  #isBefore(time: number): boolean {
    return this.#leadsTo !== undefined && time < this.#leadsTo;
  }
}

/**
 * Tells how long something lasts, by the clock of the stream or by ours, whichever says more: that of a camera may stand still, and a
 * recording may come faster than it was taken.
 */
class Elapsed {
  readonly #now: () => number;
  #from: { time: number; at: number } | undefined;

  /** @param now milliseconds of a steady clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param time seconds on the clock of the stream, as for the following */
  restart(time: number): void {
    this.#from = { time, at: this.#now() };
  }

  /** Seconds since it was started, or asked for the first time. */
  at(time: number): number {
    this.#from ??= { time, at: this.#now() };
    return Math.max(time - this.#from.time, (this.#now() - this.#from.at) / 1000);
  }
}
