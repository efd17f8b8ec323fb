import { randomInt } from 'node:crypto';
import { FRAMES_PER_SECOND } from '../../scene/packs';
import type { StreamFault } from '../faults';
import {
  compoundBye,
  loneBye,
  RtpPackets,
  senderReport,
  type SenderState,
  soundPayload,
  videoPayloads,
} from './packets';
import { type Programme, TICKS_PER_PICTURE, VIDEO_CLOCK } from './programme';
import type { Passage, Timeline } from './timeline';
import type { MediaTransport } from './transport';

const MAX_UNITS_PER_TURN = 25;
const RETRY_MS = 20;

/** Sends pictures and, if requested, sound when they are due, with sender reports and a BYE at the end. */
export class MediaSender {
  video: Track | undefined;
  sound: Track | undefined;
  #passage: Passage = { from: 0, to: 0, due: 0 };
  /** Numbers of the next picture and the next audio frame. */
  #next = 0;
  #nextSound = 0;
  #startedAt = 0;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly programme: Programme,
    private readonly timeline: Timeline,
    private readonly trouble: StreamTrouble,
    /** 1 = real time, 2 = twice as fast, Infinity = as fast as the player reads. */
    private readonly pace: number,
  ) {}

  /** Number of the next picture. */
  get position(): number {
    return this.#next;
  }

  get playing(): boolean {
    return this.#timer !== undefined;
  }

  /** Sequence number and RTP timestamp of the next packet of each track. */
  get startPoints(): { video: StartPoint | undefined; sound: StartPoint | undefined } {
    return {
      video: this.video?.startPoint(this.#ticks(this.#next)),
      sound: this.sound?.startPoint(0),
    };
  }

  /** Sets the passage to play; nothing is sent before `run`. */
  load(passage: Passage): void {
    this.pause();
    this.#leave();
    const skipped = this.#sent === 0 && this.trouble.has('no-key-frame') ? 1 : 0;
    const from = passage.from + skipped;
    this.#passage = { ...passage, from };
    this.#next = from;
    this.#nextSound = this.programme.soundAt(from);
  }

  /** Plays the loaded passage. */
  run(): void {
    this.pause();
    this.#startedAt = performance.now();
    this.#passage = { ...this.#passage, due: Math.max(this.#passage.due, this.#next) };
    this.#schedule(0);
  }

  /** Stops sending; the position stays. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // RTP time continues from the end of the previous passage, whatever the next one shows.
  #leave(): void {
    const played = (this.#next - this.#passage.from) / FRAMES_PER_SECOND;
    const soundRate = this.programme.sound?.sampleRate ?? 0;
    if (this.video !== undefined) this.video.base = (this.video.base + played * VIDEO_CLOCK) >>> 0;
    if (this.sound !== undefined) this.sound.base = (this.sound.base + played * soundRate) >>> 0;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => this.#turn(), ms);
  }

  #turn(): void {
    for (let i = 0; i < MAX_UNITS_PER_TURN; i++) {
      const soundPlace = this.#soundPlace();
      const index = Math.min(this.#next, soundPlace);
      const wait = this.#dueIn(index);
      if (wait > 0) return this.#schedule(wait);
      if (!this.#ready()) return this.#schedule(RETRY_MS);
      if (this.#next >= this.#passage.to) return this.#finish();
      if (soundPlace < this.#next) this.#sendSound(soundPlace);
      else if (!this.#sendPicture()) return this.pause();
    }
    this.#schedule(0);
  }

  #soundPlace(): number {
    return this.sound === undefined ? Infinity : this.programme.pictureAt(this.#nextSound);
  }

  #ready(): boolean {
    return (this.video?.transport.ready() ?? true) && (this.sound?.transport.ready() ?? true);
  }

  #dueIn(index: number): number {
    const elapsed = performance.now() - this.#startedAt;
    const due = ((index - this.#passage.due) * 1000) / FRAMES_PER_SECOND / this.pace;
    return due - elapsed;
  }

  /** False if a fault has ended the stream. */
  #sendPicture(): boolean {
    const { trouble } = this;
    const breakOff = trouble.breakOff(this.#sent);
    if (trouble.jumps(this.#sent)) this.#jump();
    const packets = this.#packetsOfPicture();
    if (breakOff === 'stall') return false;
    if (breakOff !== undefined) {
      const track = this.video ?? this.sound;
      track?.transport.breakOff(breakOff, packets[0] ?? Buffer.alloc(0));
      return false;
    }
    for (const packet of trouble.arrange(packets)) this.video?.transport.sendRtp(packet);
    this.#next++;
    this.#sent++;
    return true;
  }

  #packetsOfPicture(): Buffer[] {
    const { programme, trouble, timeline } = this;
    if (this.video === undefined) return [];
    const { nals, shown } = programme.picture(this.#next);
    const ticks = this.#ticks(shown);
    this.video.reportIfDue(ticks, timeline.wallClock(shown));
    const payloads = videoPayloads(programme.footage.codec, nals, trouble.has('aggregate-parameter-sets'));
    return this.video.packetsOf(payloads, ticks);
  }

  #sendSound(index: number): void {
    const { programme, timeline } = this;
    if (this.sound === undefined || programme.sound === undefined) return;
    const ticks = programme.soundTicks(this.#passage.from, this.#nextSound);
    this.sound.reportIfDue(ticks, timeline.wallClock(index));
    const payload = soundPayload(programme.sound.frame(this.#nextSound));
    for (const packet of this.sound.packetsOf([payload], ticks)) this.sound.transport.sendRtp(packet);
    this.#nextSound++;
  }

  #jump(): void {
    if (this.video === undefined) return;
    this.video.packets.sequence = (this.video.packets.sequence + 1000) & 0xffff;
    this.video.base = (this.video.base + 10 * VIDEO_CLOCK) >>> 0;
  }

  #finish(): void {
    this.pause();
    const { programme, trouble, timeline } = this;
    const now = timeline.wallClock(this.#next);
    this.video?.bye(this.#ticks(this.#next), now, trouble.has('lone-bye'));
    this.sound?.bye(programme.soundTicks(this.#passage.from, this.#nextSound), now, trouble.has('lone-bye'));
  }

  #ticks(picture: number): number {
    return (picture - this.#passage.from) * TICKS_PER_PICTURE;
  }
}

const REPORT_INTERVAL_MS = 5000;

/** First packet of a passage, for `RTP-Info`. */
export interface StartPoint {
  sequence: number;
  timestamp: number;
}

/** One track of a session (video or sound), with its own sender reports. */
export class Track {
  readonly packets: RtpPackets;
  /** RTP time at which the current passage begins. */
  base = randomInt(0, 2 ** 31);
  #reportedAt = -Infinity;

  constructor(
    readonly transport: MediaTransport,
    payloadType: number,
  ) {
    this.packets = new RtpPackets(payloadType);
  }

  startPoint(ticks: number): StartPoint {
    return { sequence: this.packets.sequence, timestamp: (this.base + ticks) >>> 0 };
  }

  /** The packets of the picture or audio frame `ticks` after the start of the passage. */
  packetsOf(payloads: readonly Buffer[], ticks: number): Buffer[] {
    return this.packets.of(payloads, this.base + ticks);
  }

  /** Sends a report that maps this RTP time to the wall clock, at most every 5 s. */
  reportIfDue(ticks: number, wallClock: number): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_INTERVAL_MS) return;
    this.#reportedAt = now;
    this.transport.sendRtcp(senderReport(this.#state(ticks, wallClock)));
  }

  bye(ticks: number, wallClock: number, alone: boolean): void {
    const state = this.#state(ticks, wallClock);
    this.transport.sendRtcp(alone ? loneBye(state.ssrc) : compoundBye(state));
  }

  #state(ticks: number, wallClock: number): SenderState {
    const { ssrc, packets, octets } = this.packets;
    return { ssrc, wallClock, timestamp: (this.base + ticks) >>> 0, packets, octets };
  }
}

type BreakOff = 'stall' | 'reset' | 'cut';

/** Applies the faults of one session to its pictures and packets. */
export class StreamTrouble {
  #packets = 0;
  #pending: Buffer | undefined;

  constructor(private readonly faults: readonly StreamFault[]) {}

  has(kind: StreamFault['kind']): boolean {
    return this.faults.some((fault) => fault.kind === kind);
  }

  /** How a fault ends the stream before the next picture; undefined = it continues. */
  breakOff(picturesSent: number): BreakOff | undefined {
    for (const fault of this.faults) {
      if (fault.kind === 'stall' && picturesSent >= fault.frames) return 'stall';
      if (fault.kind === 'drop-connection' && picturesSent >= fault.frames) return 'reset';
      if (fault.kind === 'cut-frame' && picturesSent >= fault.frames) return 'cut';
    }
    return undefined;
  }

  /** True if sequence number and timestamp jump before the next picture. */
  jumps(picturesSent: number): boolean {
    return this.faults.some((fault) => fault.kind === 'jump' && fault.frames === picturesSent);
  }

  /** The packets to send, in order, after loss, repetition and reordering. */
  arrange(packets: readonly Buffer[]): Buffer[] {
    return packets.flatMap((packet) => this.#arrangeOne(packet));
  }

  #arrangeOne(packet: Buffer): Buffer[] {
    this.#packets++;
    if (this.#hits('lose')) return [];
    if (this.#hits('repeat')) return [packet, packet];
    const pending = this.#pending;
    this.#pending = pending === undefined && this.#hits('reorder') ? packet : undefined;
    if (this.#pending !== undefined) return [];
    return pending === undefined ? [packet] : [packet, pending];
  }

  #hits(kind: 'lose' | 'repeat' | 'reorder'): boolean {
    return this.faults.some((fault) => fault.kind === kind && this.#packets % fault.every === 0);
  }
}
