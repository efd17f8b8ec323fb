import type { RvmError } from '../../error';
import type { AudioFormat, MediaFrame } from '../media';
import type { MediaDescription } from './media-description';
import type { Track } from './track';
import { trackOf } from './track-of';
import { ArrivalPace } from './transport/arrival-pace';
import { PacketOrder, type OrderedPacket } from './transport/packet-order';
import { ReceiverReporter } from './transport/receiver-report';
import { readRtcp, type Bye, type SenderReport } from './transport/rtcp-packets';
import { readRtpPacket, type RtpPacket } from './transport/rtp-packet';
import { StreamClock } from './transport/stream-clock';
import { wallMsOf } from './transport/wall-clock';

/** From `RTP-Info` of the answer to PLAY (RFC 2326, section 12.33). */
export interface TrackStart {
  /** Of the first packet. */
  sequence?: number;
  /** The time stamp that belongs to the beginning of the range. */
  rtpTime?: number;
}

const STEADY = (): number => performance.now();

/**
 * One medium of a stream: RTP and RTCP packets in, frames out. Whatever the bytes, nothing throws, and what is held of them is
 * bounded. Packets are copied where they are kept, and into frames: the memory that they came in may be used again.
 */
export class TrackReceiver {
  readonly #track: Track;
  readonly #clock: StreamClock;
  readonly #pace: ArrivalPace;
  readonly #reporter: ReceiverReporter;
  #order: PacketOrder;
  /** Packets that former sources lost. */
  #lostBefore = 0;
  #ssrc: number | undefined;
  /** Of a source that sent no packet yet. */
  #early: SenderReport | undefined;

  /** @param now milliseconds of a steady clock: when packets come */
  constructor(
    private readonly media: MediaDescription,
    start: TrackStart = {},
    now: () => number = STEADY,
  ) {
    this.#order = this.#newOrder(start.sequence);
    this.#track = trackOf(media, now);
    this.#clock = new StreamClock(media.clockRate, start.rtpTime);
    this.#pace = new ArrivalPace(now);
    this.#reporter = new ReceiverReporter(media.clockRate, now);
  }

  /** Set once what comes can never be read: from then on there are no frames. */
  get fault(): RvmError | undefined {
    return this.#track.fault;
  }

  get audio(): AudioFormat | undefined {
    return this.#track.audio;
  }

  /** Packets that did not come so far. */
  get lost(): number {
    return this.#lostBefore + this.#order.lost;
  }

  /** The frames that this packet completed. */
  rtp(bytes: Buffer): MediaFrame[] {
    const packet = readRtpPacket(bytes);
    if (packet === undefined || this.fault !== undefined) return [];
    const frames = packet.ssrc === this.#ssrc ? [] : this.#takeSource(packet);
    if (packet.ssrc !== this.#ssrc) return [];
    this.#reporter.packetCame(packet);
    return [...frames, ...this.#read(this.#order.add(packet))];
  }

  /** Notes what the sender reports; `bye` where it says that there will be no more. */
  rtcp(bytes: Buffer): 'bye' | undefined {
    const told = readRtcp(bytes);
    for (const each of told) if (each.kind === 'sender-report') this.#takeReport(each);
    return told.some((each) => each.kind === 'bye' && this.#isOurs(each)) ? 'bye' : undefined;
  }

  /** What is under assembly when the stream ends, if whole. */
  flush(): MediaFrame[] {
    const frames = this.#read(this.#order.flush());
    return [...frames, ...this.#paced(this.#track.flush())];
  }

  /** What the sender is told of how its packets come, every few seconds (RFC 3550, section 6.4.2). */
  receiverReport(): Buffer {
    return this.#reporter.report(this.#ssrc, this.#order);
  }

  /**
   * The sender's wall clock at a time of the stream, in milliseconds since 1970, by its last report; undefined before there was
   * one, or where it has none: a time stamp that tells nothing belongs to no time of the day.
   */
  wallClock(time: number): number | undefined {
    return this.#pace.isOff ? undefined : this.#clock.wallClock(time);
  }

  /** Another source goes on, or the first one begins: its numbers begin anywhere. */
  #takeSource(packet: RtpPacket): MediaFrame[] {
    if (packet.payloadType !== this.media.payloadType) return [];
    const frames = this.#ssrc === undefined ? [] : this.#endSource();
    this.#ssrc = packet.ssrc;
    const early = this.#early;
    this.#early = undefined;
    if (early?.ssrc === packet.ssrc) this.#takeReport(early);
    return frames;
  }

  /** A packet of sound may hold half a second, and all come over a connection that keeps their order: nothing waits for one. */
  #newOrder(announced?: number): PacketOrder {
    return new PacketOrder(announced, this.media.kind === 'audio' ? 0 : undefined);
  }

  #endSource(): MediaFrame[] {
    const frames = this.flush();
    this.#lostBefore += this.#order.lost;
    this.#order = this.#newOrder();
    this.#clock.anotherSource();
    this.#reporter.anotherSource();
    this.#track.gap();
    return frames;
  }

  #read(ordered: readonly OrderedPacket[]): MediaFrame[] {
    const frames: MediaFrame[] = [];
    for (const { packet, gap } of ordered) {
      if (gap) this.#track.gap();
      const { payload, payloadType, marker, rtpTime } = packet;
      if (payloadType !== this.media.payloadType || payload.length === 0) continue;
      frames.push(...this.#paced(this.#track.read({ payload, marker, time: this.#clock.at(rtpTime) })));
      if (this.fault !== undefined) return frames;
    }
    return frames;
  }

  /** Sound has a clock of its own, which has never been seen to stand still. */
  #paced(frames: MediaFrame[]): MediaFrame[] {
    for (const frame of frames) if (frame.kind === 'video') frame.time = this.#pace.next(frame.time);
    return frames;
  }

  #takeReport(report: SenderReport): void {
    if (report.ssrc !== this.#ssrc) {
      this.#early = report;
      return;
    }
    this.#reporter.senderReportCame(report);
    const wallMs = wallMsOf(report);
    if (wallMs !== undefined) this.#clock.setWall({ wallMs, rtpTime: report.rtpTime });
  }

  /** One without sources ends them all; that of another one tells nothing of ours. */
  #isOurs({ ssrcs }: Bye): boolean {
    return this.#ssrc === undefined || ssrcs.length === 0 || ssrcs.includes(this.#ssrc);
  }
}
