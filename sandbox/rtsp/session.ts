import { randomBytes } from 'node:crypto';
import type { Grant } from './grants';
import type { MediaSender, StartPoint, Track } from './media/player';
import type { Timeline } from './media/timeline';

export interface PlayResult {
  range: string;
  /** Absent if a running stream continues. */
  start?: { video: StartPoint | undefined; sound: StartPoint | undefined };
}

/** One RTSP session, from SETUP to TEARDOWN, its timeout or the end of its connection. */
export class RtspServerSession {
  readonly id = randomBytes(12).toString('hex');
  readonly #cleanUp: (() => void)[] = [];
  #lastSign: number;
  #played = false;
  #ended = false;

  constructor(
    readonly grant: Grant,
    private readonly timeline: Timeline,
    private readonly player: MediaSender,
    /** Milliseconds of a monotonic clock. */
    private readonly monotonic: () => number,
  ) {
    this.#lastSign = monotonic();
  }

  get playing(): boolean {
    return this.player.playing;
  }

  /** Notes a sign of life: a request with this id, or a report of the player. */
  touch(): void {
    this.#lastSign = this.monotonic();
  }

  /** True after `seconds` without a sign of life. */
  silentFor(seconds: number): boolean {
    return this.monotonic() - this.#lastSign > seconds * 1000;
  }

  /** Sets or replaces a track; not while the session plays. */
  equip(kind: 'video' | 'sound', track: Track): void {
    this.player[kind]?.transport.close();
    this.player[kind] = track;
    if (this.#ended) track.transport.close();
  }

  /** Adds an action that runs once, when the session ends. */
  whenEnded(action: () => void): void {
    this.#cleanUp.push(action);
  }

  /** Prepares the playback that a PLAY requests; `start` sends it. A number is the status of a refusal. */
  prepare(range: string | undefined): PlayResult | 455 | 457 | 501 {
    const { player } = this;
    if (!this.#isReady) return 455;
    if (range === undefined && player.playing) return { range: this.timeline.rangeFrom(player.position) };
    const plan = this.timeline.plan(range, this.#played ? player.position : undefined);
    if (typeof plan === 'number') return plan;
    player.load(plan.passage);
    return { range: plan.range, start: player.startPoints };
  }

  /** Sends the prepared playback. */
  start(): void {
    if (this.#ended) return;
    this.#played = true;
    this.player.run();
  }

  /** False before SETUP is complete. */
  pause(): boolean {
    this.player.pause();
    return this.#isReady;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.player.pause();
    this.player.video?.transport.close();
    this.player.sound?.transport.close();
    for (const action of this.#cleanUp) action();
  }

  get #isReady(): boolean {
    return this.player.video !== undefined || this.player.sound !== undefined;
  }
}
