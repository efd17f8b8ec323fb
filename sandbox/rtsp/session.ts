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
  readonly grant: Grant;
  readonly #timeline: Timeline;
  readonly #player: MediaSender;
  readonly #cleanUp: (() => void)[] = [];
  readonly #monotonic: () => number;
  #lastSign: number;
  #played = false;
  #ended = false;

  /** `monotonic` = milliseconds of a monotonic clock. */
  constructor(grant: Grant, timeline: Timeline, player: MediaSender, monotonic: () => number) {
    this.grant = grant;
    this.#player = player;
    this.#timeline = timeline;
    this.#monotonic = monotonic;
    this.#lastSign = monotonic();
  }

  get playing(): boolean {
    return this.#player.playing;
  }

  /** Notes a sign of life: a request with this id, or a report of the player. */
  touch(): void {
    this.#lastSign = this.#monotonic();
  }

  /** True after `seconds` without a sign of life. */
  silentFor(seconds: number): boolean {
    return this.#monotonic() - this.#lastSign > seconds * 1000;
  }

  /** Sets or replaces a track; not while the session plays. */
  equip(kind: 'video' | 'sound', track: Track): void {
    this.#player[kind]?.transport.close();
    this.#player[kind] = track;
    if (this.#ended) track.transport.close();
  }

  /** Adds an action that runs once, when the session ends. */
  whenEnded(action: () => void): void {
    this.#cleanUp.push(action);
  }

  /** Prepares the playback that a PLAY requests; `start` sends it. A number is the status of a refusal. */
  prepare(range: string | undefined): PlayResult | 455 | 457 | 501 {
    const player = this.#player;
    if (!this.#isReady) return 455;
    if (range === undefined && player.playing) return { range: this.#timeline.rangeFrom(player.position) };
    const plan = this.#timeline.plan(range, this.#played ? player.position : undefined);
    if (typeof plan === 'number') return plan;
    player.load(plan.passage);
    return { range: plan.range, start: player.startPoints };
  }

  /** Sends the prepared playback. */
  start(): void {
    if (this.#ended) return;
    this.#played = true;
    this.#player.run();
  }

  /** False before SETUP is complete. */
  pause(): boolean {
    this.#player.pause();
    return this.#isReady;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#player.pause();
    this.#player.video?.transport.close();
    this.#player.sound?.transport.close();
    for (const action of this.#cleanUp) action();
  }

  get #isReady(): boolean {
    return this.#player.video !== undefined || this.#player.sound !== undefined;
  }
}

/** All RTSP sessions of the server, within their limits. */
export class RtspServerSessions {
  readonly #byId = new Map<string, RtspServerSession>();
  readonly #limit: number;
  readonly #timeoutSeconds: number;
  #opened = 0;

  /** `limit` applies to the sessions of each owner (GrantRequest). */
  constructor(limit: number, timeoutSeconds: number) {
    this.#limit = limit;
    this.#timeoutSeconds = timeoutSeconds;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** Number of sessions since the start. */
  get opened(): number {
    return this.#opened;
  }

  find(id: string): RtspServerSession | undefined {
    return this.#byId.get(id);
  }

  /** True if this owner may open one more session. */
  hasCapacityFor(owner: string | undefined): boolean {
    let count = 0;
    for (const session of this.#byId.values()) if (session.grant.owner === owner) count++;
    return count < this.#limit;
  }

  add(session: RtspServerSession): void {
    this.#opened++;
    this.#byId.set(session.id, session);
    session.whenEnded(() => this.#byId.delete(session.id));
  }

  /** Ends the sessions without a sign of life within the timeout. */
  endSilent(): void {
    for (const session of this.#byId.values()) if (session.silentFor(this.#timeoutSeconds)) session.end();
  }

  endAll(): void {
    for (const session of this.#byId.values()) session.end();
  }
}
