import { RvmError } from '../error';

/** Aspect ratio of a pixel: width to height. */
export interface PixelAspect {
  across: number;
  down: number;
}

/** Decoding parameters of a video track, and their names for players. Other parameter sets are another format. */
export interface VideoFormat {
  codec: 'h264' | 'h265';
  /** VPS (H.265 alone), SPS and PPS, in this order, without start codes. */
  parameterSets: readonly Buffer[];
  /** After cropping, in pixels. */
  width: number;
  height: number;
  /** Absent where pixels are square. */
  pixelAspect?: PixelAspect | undefined;
  /** RFC 6381, such as `avc1.42C015` or `hvc1.1.6.L93.B0`. */
  codecString: string;
  /** The decoder configuration record of an MP4: `avcC` or `hvcC` (ISO/IEC 14496-15). */
  description: Buffer;
}

export interface AudioFormat {
  codec: 'aac';
  /** AudioSpecificConfig (ISO/IEC 14496-3). */
  description: Buffer;
  sampleRate: number;
  channels: number;
  /** RFC 6381, such as `mp4a.40.2`. */
  codecString: string;
}

/** One complete picture. */
export interface VideoFrame {
  kind: 'video';
  /** The same object until the parameter sets change. */
  format: VideoFormat;
  /** Decoding can begin here. */
  key: boolean;
  /**
   * A key frame that is no IDR picture: pictures decoded after it and shown before it may need earlier ones, so a player cannot
   * seek to it.
   */
  open?: boolean | undefined;
  /** Its NAL units without start codes, parameter sets and delimiters left out. */
  nals: readonly Buffer[];
  /** Display time in seconds on the clock of its stream. With B-frames it may be less than that of the frame before. */
  time: number;
}

/** One access unit of audio. */
export interface AudioFrame {
  kind: 'audio';
  format: AudioFormat;
  data: Buffer;
  /** Seconds on the clock of its stream, which audio and pictures share. */
  time: number;
}

export type MediaFrame = VideoFrame | AudioFrame;

/**
 * Video, and audio where there is any, in decoding order as it arrives. The first picture, and the first one
 * after lost packets, is a key frame. The iteration ends where the sender ends the stream.
 * @throws RvmError (from the iteration) VIDEO_FAILED where the sender breaks off or sends unreadable data,
 *   TIMEOUT where it falls silent, CANCELLED; none of them contains a URL
 */
export interface MediaStream extends AsyncIterable<MediaFrame> {
  /** Names of codecs that the sender offers and that are left out, such as `PCMA`. */
  readonly leftOut: readonly string[];
  /** Format of the audio; undefined where there is none. */
  readonly audio: AudioFormat | undefined;
  /** Notifies the sender, closes the connection and ends the iteration. Never fails; takes two seconds at most. */
  close(): Promise<void>;
}

/** A stream as it comes from its relay. */
export interface RelayStream extends MediaStream {
  /**
   * The sender's wall clock at a time of the stream, in milliseconds since 1970, from its last sender report (RFC 3550, section
   * 6.4.1); undefined before the first one. The sender chooses whether that is the time of recording or of sending.
   */
  wallClock(time: number): number | undefined;
}

/** Bytes of an object without its data: a relay may send pictures of one byte. */
const OF_FRAME = 512;
const OF_NAL = 128;

/** Bytes of memory of a frame, to limit buffers and caches. */
export function costOf(frame: MediaFrame): number {
  if (frame.kind === 'audio') return OF_FRAME + frame.data.length;
  return frame.nals.reduce((sum, nal) => sum + OF_NAL + nal.length, OF_FRAME + formatCostOf(frame));
}

/** Each key frame may have its own parameter sets, which are stored twice. */
function formatCostOf({ key, format }: VideoFrame): number {
  return key ? 2 * format.description.length : 0;
}

export function cancelled(): RvmError {
  return new RvmError('CANCELLED', 'The work on this video was cancelled before it was complete.');
}

/** The payload of one packet, in order. */
export interface TimedPayload {
  /** Not empty. */
  payload: Buffer;
  marker: boolean;
  /** Seconds on the clock of the stream. */
  time: number;
}

/** Assembles frames from payloads in order. */
export interface Track {
  /** Set once the track can never be read. */
  readonly fault: RvmError | undefined;
  readonly audio: AudioFormat | undefined;
  /** The frames that this one completed. */
  read(packet: TimedPayload): MediaFrame[];
  /** Packets before the next one are missing. */
  gap(): void;
  /** At the end of the stream: the frames still under assembly, if complete. */
  flush(): MediaFrame[];
}

/** One medium of a session description (RFC 4566): the properties needed to read its packets. */
export interface MediaDescription {
  kind: 'video' | 'audio';
  payloadType: number;
  /** As in `a=rtpmap`, in capitals, such as `H264`; without it the name of the static payload type (RFC 3551, section 6). */
  encoding: string;
  /** RTP ticks in a second. */
  clockRate: number;
  /** Of audio; 1 by default. */
  channels: number;
  /** Parameters of `a=fmtp`, names in lower case, values as they are. */
  parameters: ReadonlyMap<string, string>;
}
