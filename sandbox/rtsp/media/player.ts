import { randomInt } from 'node:crypto';

import { FRAMES_PER_SECOND, type Fixture } from './fixture';
import { CLOCK_RATE, Packetiser } from './packetiser';
import { compoundBye, loneBye, senderReport, type SenderState } from './rtcp';
import type { StreamTrouble } from './stream-trouble';
import type { MediaTransport } from './transport';

const TICKS_PER_PICTURE = CLOCK_RATE / FRAMES_PER_SECOND;
const REPORT_INTERVAL_MS = 5000;
const MAX_PICTURES_PER_TURN = 25;
const RETRY_MS = 20;

export interface PlayerOptions {
  fixture: Fixture;
  transport: MediaTransport;
  trouble: StreamTrouble;
  /** 1 = real time, 2 = twice as fast, Infinity = as fast as the player reads. */
  pace: number;
  /** Wall clock of a picture for sender reports, epoch milliseconds. */
  wallClock: (picture: number) => number;
}

/** Pictures by their number since the epoch (see Fixture): the first, the one after the last, the one that is due now. */
export interface Passage {
  from: number;
  to: number;
  due: number;
}

/** First packet of a passage, for `RTP-Info`. */
export interface StartPoint {
  sequence: number;
  timestamp: number;
}

/** Sends pictures at their time, with sender reports, and a BYE after the last. */
export class Player {
  readonly ssrc: number;
  readonly #options: PlayerOptions;
  readonly #packetiser: Packetiser;
  #passage: Passage = { from: 0, to: 0, due: 0 };
  #next = 0;
  #startedAt = 0;
  #timestamp = randomInt(0, 2 ** 31);
  #sent = 0;
  #reportedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PlayerOptions) {
    this.#options = options;
    this.#packetiser = new Packetiser({ aggregateParameterSets: options.trouble.aggregatesParameterSets });
    this.ssrc = this.#packetiser.ssrc;
  }

  /** Number of the picture that comes next. */
  get position(): number {
    return this.#next;
  }

  get playing(): boolean {
    return this.#timer !== undefined;
  }

  /** Where the next packet stands. */
  get startPoint(): StartPoint {
    return { sequence: this.#packetiser.sequence, timestamp: this.#timestamp };
  }

  /** Makes a passage the next to be played; nothing is sent before `run`. */
  load(passage: Passage): void {
    this.pause();
    this.#passage = passage;
    const skipped = this.#sent === 0 && this.#options.trouble.skipsKeyFrame ? 1 : 0;
    this.#next = passage.from + skipped;
  }

  /** Plays what is loaded. */
  run(): void {
    this.pause();
    this.#startedAt = performance.now();
    this.#passage = { ...this.#passage, due: Math.max(this.#passage.due, this.#next) };
    this.#schedule(0);
  }

  /** Stops the packets and keeps the position. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => this.#turn(), ms);
  }

  #turn(): void {
    for (let i = 0; i < MAX_PICTURES_PER_TURN; i++) {
      const wait = this.#dueIn();
      if (wait > 0) return this.#schedule(wait);
      if (!this.#options.transport.ready()) return this.#schedule(RETRY_MS);
      if (this.#next >= this.#passage.to) return this.#finish();
      if (!this.#sendPicture()) return this.pause();
    }
    this.#schedule(0);
  }

  #dueIn(): number {
    const elapsed = performance.now() - this.#startedAt;
    const due = ((this.#next - this.#passage.due) * 1000) / FRAMES_PER_SECOND / this.#options.pace;
    return due - elapsed;
  }

  /** False where a fault has ended the stream. */
  #sendPicture(): boolean {
    const { fixture, transport, trouble } = this.#options;
    const breakOff = trouble.breakOff(this.#sent);
    if (trouble.jumps(this.#sent)) this.#jump();
    this.#reportIfDue();
    const packets = this.#packetiser.picture(fixture.picture(this.#next).nals, this.#timestamp);
    if (breakOff === 'stall') return false;
    if (breakOff !== undefined) {
      transport.breakOff(breakOff, packets[0] ?? Buffer.alloc(0));
      return false;
    }
    for (const packet of trouble.arrange(packets)) transport.sendRtp(packet);
    this.#next++;
    this.#sent++;
    this.#timestamp = (this.#timestamp + TICKS_PER_PICTURE) >>> 0;
    return true;
  }

  #jump(): void {
    this.#packetiser.sequence = (this.#packetiser.sequence + 1000) & 0xffff;
    this.#timestamp = (this.#timestamp + 10 * CLOCK_RATE) >>> 0;
  }

  #reportIfDue(): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_INTERVAL_MS) return;
    this.#reportedAt = now;
    this.#options.transport.sendRtcp(senderReport(this.#sender()));
  }

  #finish(): void {
    this.pause();
    const { transport, trouble } = this.#options;
    transport.sendRtcp(trouble.loneBye ? loneBye(this.ssrc) : compoundBye(this.#sender()));
  }

  #sender(): SenderState {
    const { packets, octets } = this.#packetiser;
    return {
      ssrc: this.ssrc,
      wallClock: this.#options.wallClock(this.#next),
      timestamp: this.#timestamp,
      packets,
      octets,
    };
  }
}
