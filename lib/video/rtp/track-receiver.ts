import { RvmError } from '../../error';
import type { AudioFormat, MediaDescription, MediaFrame, Track } from '../media';
import { AacTrack, type AudioConfig, type AuLayout, auLayoutOf, readAudioConfig } from './aac-track';
import { h264 } from './h264';
import { h265 } from './h265';
import { type BufferedPacket, JitterBuffer, readRtpPacket, type RtpPacket } from './jitter-buffer';
import { ArrivalPace, RtpClock } from './media-clock';
import type { VideoCodec } from './nal-unit';
import { type Bye, readRtcp, ReceiverReporter, type SenderReport, wallMsOf } from './rtcp';
import { VideoTrack } from './video-track';

/** From `RTP-Info` of the answer to PLAY (RFC 2326, section 12.33). */
interface TrackStart {
  /** Sequence number of the first packet. */
  sequence?: number;
  /** The time stamp that belongs to the beginning of the range. */
  rtpTime?: number;
}

const STEADY = (): number => performance.now();

/**
 * One medium of a stream: RTP and RTCP packets in, frames out. Never throws, and its memory is bounded, whatever the bytes.
 * Stored packets and frames are copies, so the caller may reuse the receive buffer.
 */
export class TrackReceiver {
  readonly #track: Track;
  readonly #clock: RtpClock;
  readonly #pace: ArrivalPace;
  readonly #reporter: ReceiverReporter;
  #order: JitterBuffer;
  /** Packets lost of earlier sources. */
  #lostBefore = 0;
  #ssrc: number | undefined;
  /** Report of a source that has sent no packet yet. */
  #early: SenderReport | undefined;

  /** @param now monotonic clock in milliseconds, read when packets arrive */
  constructor(
    private readonly media: MediaDescription,
    start: TrackStart = {},
    now: () => number = STEADY,
  ) {
    this.#order = this.#newOrder(start.sequence);
    this.#track = trackOf(media, now);
    this.#clock = new RtpClock(media.clockRate, start.rtpTime);
    this.#pace = new ArrivalPace(now);
    this.#reporter = new ReceiverReporter(media.clockRate, now);
  }

  /** Set once the medium proves unreadable: from then on there are no frames. */
  get fault(): RvmError | undefined {
    return this.#track.fault;
  }

  get audio(): AudioFormat | undefined {
    return this.#track.audio;
  }

  /** Packets lost so far, of all sources. */
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

  /** Stores sender reports. @returns `bye` where the source has ended */
  rtcp(bytes: Buffer): 'bye' | undefined {
    const report = readRtcp(bytes);
    for (const each of report) if (each.kind === 'sender-report') this.#takeReport(each);
    return report.some((each) => each.kind === 'bye' && this.#isOurs(each)) ? 'bye' : undefined;
  }

  /** Ends the stream: returns the remaining frames that are complete. */
  flush(): MediaFrame[] {
    const frames = this.#read(this.#order.flush());
    return [...frames, ...this.#paced(this.#track.flush())];
  }

  /** The receiver report, to be sent every few seconds (RFC 3550, section 6.4.2). */
  receiverReport(): Buffer {
    return this.#reporter.report(this.#ssrc, this.#order);
  }

  /**
   * The sender's wall clock at a time of the stream, in milliseconds since 1970, by its last report; undefined before the first
   * report, where the sender has no wall clock, and while times follow the arrival of the pictures instead of their time
   * stamps.
   */
  wallClock(time: number): number | undefined {
    return this.#pace.isOff ? undefined : this.#clock.wallClock(time);
  }

  /** Switches to the first or a new source, whose sequence numbers begin anywhere. */
  #takeSource(packet: RtpPacket): MediaFrame[] {
    if (packet.payloadType !== this.media.payloadType) return [];
    const frames = this.#ssrc === undefined ? [] : this.#endSource();
    this.#ssrc = packet.ssrc;
    const early = this.#early;
    this.#early = undefined;
    if (early?.ssrc === packet.ssrc) this.#takeReport(early);
    return frames;
  }

  /** Audio waits for no missing packet: one may contain half a second, and the connection keeps the order. */
  #newOrder(announced?: number): JitterBuffer {
    return new JitterBuffer(announced, this.media.kind === 'audio' ? 0 : undefined);
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

  #read(ordered: readonly BufferedPacket[]): MediaFrame[] {
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

  /** Pictures only: the audio clock is separate and has never been seen to stand still. */
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

  /** A BYE without sources ends all; one for another source is ignored. */
  #isOurs({ ssrcs }: Bye): boolean {
    return this.#ssrc === undefined || ssrcs.length === 0 || ssrcs.includes(this.#ssrc);
  }
}

const INTERLEAVED =
  'The camera sends the pieces of its pictures out of order, which is not supported: choose another profile of video in the camera.';
const UNKNOWN = 'This kind of video cannot be read: choose H.264 or H.265 in the camera.';

/** Parameters of `a=fmtp` with the parameter sets: H.264 has all in one (RFC 6184, section 8.1; RFC 7798, section 7.1). */
const SETS = ['sprop-vps', 'sprop-sps', 'sprop-pps', 'sprop-parameter-sets'];
const MOST_SETS = 16;

/**
 * Creates the track that assembles the frames of a medium.
 * @param now monotonic clock in milliseconds
 */
function trackOf(media: MediaDescription, now: () => number): Track {
  const codec = videoCodecOf(media);
  const aac = aacOf(media);
  if (aac !== undefined) return new AacTrack(aac.config, aac.layout);
  if (codec === undefined) return new UnreadableTrack(new RvmError('VIDEO_FAILED', UNKNOWN));
  if (isInterleaved(media)) return new UnreadableTrack(new RvmError('VIDEO_FAILED', INTERLEAVED));
  return new VideoTrack(codec, setsOf(media), now);
}

/** H.264 in mode 2, H.265 with decoding order numbers. */
function isInterleaved({ encoding, parameters }: MediaDescription): boolean {
  if (encoding === 'H264') return parameters.get('packetization-mode') === '2';
  return Number(parameters.get('sprop-max-don-diff') ?? '0') > 0;
}

function setsOf({ parameters }: MediaDescription): Buffer[] {
  const texts = SETS.flatMap((name) => (parameters.get(name) ?? '').split(','));
  return texts
    .slice(0, MOST_SETS)
    .map((text) => Buffer.from(text, 'base64'))
    .filter(({ length }) => length > 0);
}

/** A medium that cannot be read: a fault and no frames. */
class UnreadableTrack implements Track {
  readonly audio = undefined;

  constructor(readonly fault: RvmError) {}

  read(): [] {
    return [];
  }

  gap(): void {}

  flush(): [] {
    return [];
  }
}

const VIDEO_CODECS: ReadonlyMap<string, VideoCodec> = new Map([
  ['H264', h264],
  ['H265', h265],
]);
/** Of RFC 3640: low and high bit rate. */
const AAC_MODES = ['aac-lbr', 'aac-hbr'];

/** Whether a `TrackReceiver` can make frames of it: H.264, H.265, and AAC as in RFC 3640. */
export function isReadable(media: MediaDescription): boolean {
  return videoCodecOf(media) !== undefined || aacOf(media) !== undefined;
}

function videoCodecOf({ kind, encoding, clockRate }: MediaDescription): VideoCodec | undefined {
  return kind === 'video' && clockRate > 0 ? VIDEO_CODECS.get(encoding) : undefined;
}

function aacOf(media: MediaDescription): { config: AudioConfig; layout: AuLayout } | undefined {
  const { kind, encoding, clockRate, parameters, channels } = media;
  if (kind !== 'audio' || encoding !== 'MPEG4-GENERIC' || clockRate <= 0) return undefined;
  if (!AAC_MODES.includes((parameters.get('mode') ?? '').toLowerCase())) return undefined;
  const config = readAudioConfig(Buffer.from(parameters.get('config') ?? '', 'hex'), channels);
  const layout = auLayoutOf(parameters);
  return config && layout && { config, layout };
}
