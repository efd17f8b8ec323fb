import { RvmError } from '../error';

/** Width and height of a pixel, one to the other. */
export interface PixelAspect {
  across: number;
  down: number;
}

/** How a video track is decoded, and how players name that. Another set of parameter sets is another format. */
export interface VideoFormat {
  codec: 'h264' | 'h265';
  /** VPS (H.265 alone), SPS and PPS, in this order, without start codes. */
  parameterSets: readonly Buffer[];
  /** Less what is cut off, in pixels. */
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

/** One picture, whole. */
export interface VideoFrame {
  kind: 'video';
  /** The same object until the parameter sets change. */
  format: VideoFormat;
  /** Decoding can begin here. */
  key: boolean;
  /**
   * A key frame that is no IDR picture: those decoded behind it and shown before it may need pictures from before it, so that it
   * is no place to seek to.
   */
  open?: boolean | undefined;
  /** Its NAL units without start codes, parameter sets and delimiters left out. */
  nals: readonly Buffer[];
  /** When it is shown, in seconds on the clock of its stream. With B-frames it may be less than that of the frame before. */
  time: number;
}

/** One access unit of sound. */
export interface AudioFrame {
  kind: 'audio';
  format: AudioFormat;
  data: Buffer;
  /** In seconds on the clock of its stream, which it shares with the pictures. */
  time: number;
}

export type MediaFrame = VideoFrame | AudioFrame;

/**
 * Video, and sound where there is any, as it comes, in the order of decoding. The first picture is a key frame, and so is the one
 * after packets were lost. Ends where the sender says so.
 * @throws RvmError (from the iteration) VIDEO_FAILED where the sender breaks off or sends what cannot be read, TIMEOUT where it
 *   falls silent, CANCELLED; none of them holds a URL
 */
export interface MediaStream extends AsyncIterable<MediaFrame> {
  /** What the sender has and we leave out, by name, such as `PCMA`. */
  readonly leftOut: readonly string[];
  /** Whether sound will come. */
  readonly audio: AudioFormat | undefined;
  /** Packets that got lost so far. */
  readonly lost: number;
  /**
   * The sender's own wall clock at a time of the stream, in milliseconds since 1970, by its last sender report (RFC 3550, section 6.4.1);
   * undefined before there was one. Whether that is the time of the recording or of the sending is the sender's choice.
   */
  wallClock(time: number): number | undefined;
  /** Tells the sender, closes the connection and ends the iteration. Never fails; ends within two seconds. */
  close(): Promise<void>;
}

/** Bytes that objects take, however little is in them: a relay may send pictures of a byte. */
const OF_FRAME = 512;
const OF_NAL = 128;

/** Bytes of memory that a frame takes, to bound what is kept. */
export function costOf(frame: MediaFrame): number {
  if (frame.kind === 'audio') return OF_FRAME + frame.data.length;
  return frame.nals.reduce((sum, nal) => sum + OF_NAL + nal.length, OF_FRAME + formatCostOf(frame));
}

/** Each key frame may bring its own parameter sets, which are there twice. */
function formatCostOf({ key, format }: VideoFrame): number {
  return key ? 2 * format.description.length : 0;
}

export function cancelled(): RvmError {
  return new RvmError('CANCELLED', 'The work on this video was cancelled before it was complete.');
}

/** A packet in its order. */
export interface TimedPayload {
  /** Not empty. */
  payload: Buffer;
  marker: boolean;
  /** Seconds on the clock of the stream. */
  time: number;
}

/** Puts frames together of payloads that come in their order. */
export interface Track {
  /** Set once what comes can never be read. */
  readonly fault: RvmError | undefined;
  readonly audio: AudioFormat | undefined;
  /** The frames that this one completed. */
  read(packet: TimedPayload): MediaFrame[];
  /** Packets before the next one are missing. */
  gap(): void;
  /** What is under assembly when the stream ends, if whole. */
  flush(): MediaFrame[];
}

/** One medium of a session description (RFC 4566), as far as it tells how its packets are to be read. */
export interface MediaDescription {
  kind: 'video' | 'audio';
  payloadType: number;
  /** As in `a=rtpmap`, in capitals, such as `H264`; the name of a static payload type where there is none (RFC 3551, section 6). */
  encoding: string;
  /** RTP ticks in a second. */
  clockRate: number;
  /** Of sound; 1 unless said. */
  channels: number;
  /** Parameters of `a=fmtp`, names in lower case, values as they are. */
  parameters: ReadonlyMap<string, string>;
}
