import { randomBytes } from 'node:crypto';

import type { Grant } from './grants';
import type { Player, StartPoint } from './media/player';
import type { Timeline } from './media/timeline';
import type { MediaTransport } from './media/transport';

export interface PlayResult {
  range: string;
  /** Absent where the stream simply goes on. */
  start?: StartPoint;
}

/** What a session plays with, known from SETUP on. */
export interface Stage {
  transport: MediaTransport;
  player: Player;
}

/** One RTSP session: from SETUP to TEARDOWN, to its time-out, or to the end of the connection that carries it. */
export class RtspSession {
  readonly id = randomBytes(12).toString('hex');
  readonly grant: Grant;
  readonly #timeline: Timeline;
  readonly #cleanUp: (() => void)[] = [];
  #stage: Stage | undefined;
  readonly #steady: () => number;
  #lastSign: number;
  #played = false;
  #ended = false;

  /** `steady` = milliseconds of a clock that never jumps. */
  constructor(grant: Grant, timeline: Timeline, steady: () => number) {
    this.grant = grant;
    this.#timeline = timeline;
    this.#steady = steady;
    this.#lastSign = steady();
  }

  get playing(): boolean {
    return this.#stage?.player.playing ?? false;
  }

  /** A sign of life: a request with this id, or a report of the player. */
  touch(): void {
    this.#lastSign = this.#steady();
  }

  /** True after `seconds` without a sign of life. */
  silentFor(seconds: number): boolean {
    return this.#steady() - this.#lastSign > seconds * 1000;
  }

  /** Sets how the stream is sent, or changes it while nothing is played. */
  equip(stage: Stage): void {
    this.#stage?.transport.close();
    this.#stage = stage;
    if (this.#ended) stage.transport.close();
  }

  /** Called once when the session ends. */
  whenEnded(action: () => void): void {
    this.#cleanUp.push(action);
  }

  /** Prepares what a PLAY asks for; `start` sends it. A number is the status of a refusal. */
  prepare(range: string | undefined): PlayResult | 455 | 457 | 501 {
    const player = this.#stage?.player;
    if (player === undefined) return 455;
    if (range === undefined && player.playing) return { range: this.#timeline.rangeFrom(player.position) };
    const plan = this.#timeline.plan(range, this.#played ? player.position : undefined);
    if (typeof plan === 'number') return plan;
    player.load(plan.passage);
    return { range: plan.range, start: player.startPoint };
  }

  /** Sends what was prepared. */
  start(): void {
    if (this.#ended) return;
    this.#played = true;
    this.#stage?.player.run();
  }

  /** False before SETUP is complete. */
  pause(): boolean {
    this.#stage?.player.pause();
    return this.#stage !== undefined;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stage?.player.pause();
    this.#stage?.transport.close();
    for (const action of this.#cleanUp) action();
  }
}
