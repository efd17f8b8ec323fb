import { AAC_SAMPLES } from './aac-samples';
import { AUDIO_TRACK } from './initialisation';
import type { FragmentSample, TrackRun } from './movie-fragment';

/** What waits at most, in bytes: some seconds without a picture. Each unit counts with what it takes beside its own. */
const MOST = 1024 * 1024;
const OF_UNIT = 512;

/** Sound that waits for the next fragment. Without a break it is one run, whatever the times of its packets are rounded to. */
export class SoundRun {
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
