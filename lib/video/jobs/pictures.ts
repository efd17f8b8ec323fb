import { RvmError } from '../../error';
import { costOf, type VideoFrame } from '../media';
import { ROUNDING, wantedAt } from '../picture/wanted-picture';
import type { VideoSource } from '../sessions/session-slots';
import type { Subscription, MomentClock } from '../sessions/shared-stream';
import { type Job, later, startOf } from './job';

/** Seconds: pictures further apart are faster to get from two sessions. */
const APART = 10;
/** Seconds that a recording may end before the wanted time: its last picture still shows that moment. */
const NEAR = 1;

/** Frames that can be decoded together, and the time of the wanted picture. */
export interface Moment {
  offset: number;
  /** From a key frame on, in the order of decoding. */
  frames: readonly VideoFrame[];
  /** On the clock of the stream. */
  time: number;
  /** When the picture was taken, in milliseconds since 1970. */
  takenAt: number;
  clock: MomentClock;
  camera: Subscription['session']['device'];
}

/**
 * Finds the moments at offsets from the time of a source, with as few sessions as are fast.
 * @param found called with each moment as soon as it is available
 * @throws RvmError VIDEO_NOT_YET where the recording ends before one of them, and those of the session and
 *   of the relay
 */
export async function findMoments(
  job: Job,
  source: VideoSource,
  offsets: readonly number[],
  found: (moment: Moment) => void,
): Promise<void> {
  const sorted = [...new Set(offsets)].sort((a, b) => a - b);
  for (const near of groupsOf(sorted)) await findNear(job, source, near, found);
}

function groupsOf(sorted: readonly number[]): number[][] {
  const groups: number[][] = [];
  for (const offset of sorted) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group === undefined || last === undefined || offset - last > APART) groups.push([offset]);
    else group.push(offset);
  }
  return groups;
}

/** Requests the rest again where a recent recording ends too early. */
async function findNear(
  job: Job,
  source: VideoSource,
  offsets: number[],
  found: (moment: Moment) => void,
): Promise<void> {
  const start = startOf(source.wanted, Infinity) ?? Infinity;
  for (let attempt = 1; ; attempt += 1) {
    const [first = 0] = offsets;
    const joined = await job.join(later(source, first), 'stream waits');
    try {
      const search = new MomentSearch(source, offsets, joined);
      await search.run(job, found);
      if (search.missing.length < offsets.length) job.came();
      offsets = search.missing;
    } finally {
      await joined.reader.close();
    }
    const [next] = offsets;
    if (next === undefined) return;
    if (!job.mayCome(start + next * 1000)) throw endsBefore();
    await job.again(endsBefore(), attempt);
  }
}

/** The search in one session. */
class MomentSearch {
  readonly missing: number[];
  readonly #start: number | undefined;
  /** Seconds of video that contain all wanted pictures. */
  readonly #length: number;
  #run = new GroupOfPictures();

  constructor(
    source: VideoSource,
    offsets: readonly number[],
    private readonly joined: Subscription,
  ) {
    this.missing = [...offsets];
    this.#start = startOf(source.wanted, Infinity);
    this.#length = Math.max(...offsets) - Math.min(...offsets);
  }

  async run(job: Job, found: (moment: Moment) => void): Promise<void> {
    const { reader } = this.joined;
    for await (const frame of reader) {
      if (job.isOverdue(this.#length)) throw tooSlow();
      if (frame.kind !== 'video') continue;
      if (frame.key) this.#settle(found, frame.time);
      if (frame.key) this.#run = new GroupOfPictures();
      this.#run.add(frame);
      while (this.missing.length > 0 && this.#run.has(this.#wanted())) this.#give(found);
      if (this.missing.length === 0) return;
      job.report({ kind: 'reading', seconds: Math.max(0, frame.time), of: this.#wanted() });
    }
    this.#settle(found, this.#run.newest + NEAR);
  }

  /** Reports the wanted moments before this time: no later frame changes them. */
  #settle(found: (moment: Moment) => void, until: number): void {
    while (this.missing.length > 0 && this.#run.frames.length > 0 && this.#wanted() < until)
      this.#give(found);
  }

  #give(found: (moment: Moment) => void): void {
    const time = this.#wanted();
    const offset = this.missing.shift();
    if (offset === undefined) return;
    const { frames } = this.#run;
    const shown = wantedAt(frames, time)?.frames.at(-1)?.time ?? time;
    found({
      offset,
      frames: [...frames],
      time,
      takenAt: this.joined.momentOf(shown),
      clock: this.joined.clockOf(shown),
      camera: this.joined.session.device,
    });
  }

  /** Time of the next wanted picture on the clock of the stream. Live video starts now. */
  #wanted(): number {
    const [offset = 0] = this.missing;
    if (this.#start === undefined) return (this.#run.frames[0]?.time ?? 0) + offset;
    return (this.#start + offset * 1000 - this.joined.momentOf(0)) / 1000;
  }
}

function tooSlow(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The video relay sends the video far more slowly than it was recorded; try again, or look at the line of the camera.',
  );
}

function endsBefore(): RvmError {
  return new RvmError(
    'VIDEO_NOT_YET',
    'The recording ends before the time of the picture: ask for an earlier one, or look whether the camera records all the time.',
  );
}

/** Largest number of bytes between two key frames. */
const LONGEST = 32 * 1024 * 1024;
/** Baseline profiles have no B-frames (ITU-T H.264, annex A.2.1): pictures come in display order. */
export const IN_ORDER = /^avc1\.42/i;

/** State of the search for one time: each picture is examined once, however many a relay sends. */
interface Search {
  readonly time: number;
  looked: number;
  highest: number;
  isBeyond: boolean;
  isSettled: boolean;
}

/** The pictures from a key frame on, which can be decoded together. */
export class GroupOfPictures {
  /** In the order of decoding. */
  readonly frames: VideoFrame[] = [];
  #bytes = 0;
  /** Display time of the newest picture. */
  newest = -Infinity;
  #search: Search | undefined;

  /** @throws RvmError VIDEO_FAILED where the group becomes too large */
  add(frame: VideoFrame): void {
    this.#bytes += costOf(frame);
    if (this.#bytes > LONGEST) throw endless();
    this.frames.push(frame);
    this.newest = Math.max(this.newest, frame.time);
  }

  /** Whether all pictures up to a time have arrived. With B-frames a picture may arrive after one that is displayed later. */
  has(time: number): boolean {
    const [first] = this.frames;
    if (first === undefined) return false;
    if (time <= first.time || IN_ORDER.test(first.format.codecString)) return this.newest >= time - ROUNDING;
    return this.#searched(time).isSettled;
  }

  #searched(time: number): Search {
    if (this.#search?.time !== time) this.#search = searchFor(time);
    const search = this.#search;
    for (const frame of this.frames.slice(search.looked)) look(search, frame);
    search.looked = this.frames.length;
    return search;
  }
}

function searchFor(time: number): Search {
  return { time, looked: 0, highest: -Infinity, isBeyond: false, isSettled: false };
}

/** B-frames follow the picture that they refer to: a picture newer than that one ends them. */
function look(search: Search, frame: VideoFrame): void {
  if (frame.time <= search.highest) return;
  search.isSettled ||= search.isBeyond;
  search.highest = frame.time;
  search.isBeyond = frame.time > search.time + ROUNDING;
}

function endless(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The camera sends more than 32 MB between two key frames: set it to a key frame every few seconds.',
  );
}
