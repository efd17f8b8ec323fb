import { randomInt } from 'node:crypto';

import { RtpPackets } from './rtp-packets';
import { compoundBye, loneBye, senderReport, type SenderState } from './rtcp';
import type { MediaTransport } from './transport';

const REPORT_INTERVAL_MS = 5000;

/** First packet of a passage, for `RTP-Info`. */
export interface StartPoint {
  sequence: number;
  timestamp: number;
}

/** One medium of a session on its way to the player, with sender reports of its own. */
export class Track {
  readonly transport: MediaTransport;
  readonly packets: RtpPackets;
  /** RTP time at which the present passage begins. */
  base = randomInt(0, 2 ** 31);
  #reportedAt = -Infinity;

  constructor(transport: MediaTransport, payloadType: number) {
    this.transport = transport;
    this.packets = new RtpPackets(payloadType);
  }

  startPoint(ticks: number): StartPoint {
    return { sequence: this.packets.sequence, timestamp: (this.base + ticks) >>> 0 };
  }

  /** The packets of what is shown or heard `ticks` after the begin of the passage. */
  packetsOf(payloads: readonly Buffer[], ticks: number): Buffer[] {
    return this.packets.of(payloads, this.base + ticks);
  }

  /** Sends a report that maps this RTP time to the wall clock, unless one was sent a moment ago. */
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
