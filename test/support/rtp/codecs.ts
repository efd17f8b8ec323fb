import type { VideoFrame } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { h264Pps, h264Slice, h264Sps } from '../../../scripts/fuzz/inputs/h264-units';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { aggregationPacket, fragmentationUnits, fuA, stapA } from '../../../scripts/fuzz/inputs/rtp';
import { medium, RtpSender, videoOf } from './sender';

/** Not the first of its picture. */
const FAR = 99;

/** What both codecs have, each in its own units: key pictures of two slices, and others. */
export const CODECS = {
  H264: {
    sets: [h264Sps(), h264Pps()],
    otherSets: [h264Sps({ across: 40 }), h264Pps()],
    key: (length?: number) => h264Slice({ type: 'idr', length }),
    restOfKey: h264Slice({ type: 'idr', firstMacroblock: FAR }),
    predicted: (length?: number) => h264Slice({ length }),
    restOfPredicted: h264Slice({ firstMacroblock: FAR }),
    information: Buffer.from([0x06, 0x05, 0x02, 0x41, 0x42, 0x80]),
    /** Delimiters, fillers, ends, other layers, and what is of no use to anybody. */
    others: [[9, 0xf0], [12, 0xff, 0x80], [10], [11], [14, 1], [20, 1], [6, 5, 1, 0, 0x80], [0], [30]],
    /** Lengths that lie, a piece without a beginning, the head of a slice that cannot be read. */
    damaged: [
      [0x78, 0xff, 0xff, 0x41],
      [0x78, 0],
      [0x7c, 1, 9],
      [0x41, 0, 0],
    ],
    aggregate: stapA,
    pieces: fuA,
    headBytes: 1,
    described: (sets: string[]): Record<string, string> => ({ 'sprop-parameter-sets': sets.join(',') }),
  },
  H265: {
    sets: [h265Vps(), h265Sps(), h265Pps()],
    otherSets: [h265Vps(), h265Sps({ width: 320 }), h265Pps()],
    key: (length?: number) => h265Slice({ type: H265.idr, length }),
    restOfKey: h265Slice({ type: H265.idr, isFirst: false }),
    predicted: (length?: number) => h265Slice({ length }),
    restOfPredicted: h265Slice({ isFirst: false }),
    information: Buffer.from([39 << 1, 1, 5, 2, 0x41, 0x42, 0x80]),
    others: [
      [35 << 1, 1, 0x50],
      [39 << 1, 1, 5, 1, 0, 0x80],
      [36 << 1, 1],
      [63 << 1, 1],
      [...h265Slice({ type: H265.idr, layer: 1 })],
    ],
    damaged: [[98], [98, 1], [96, 1, 0], [2], [2, 1]],
    aggregate: aggregationPacket,
    pieces: fragmentationUnits,
    headBytes: 2,
    described: ([vps = '', sps = '', pps = '']: string[]): Record<string, string> => ({
      'sprop-vps': vps,
      'sprop-sps': sps,
      'sprop-pps': pps,
    }),
  },
};

/** A receiver of a codec, and who sends to it. */
export class SentVideo {
  readonly sender = new RtpSender();
  readonly receiver: TrackReceiver;

  constructor(encoding: string, parameters: Record<string, string> = {}, now?: () => number) {
    this.receiver = new TrackReceiver(medium({ encoding }, parameters), {}, now);
  }

  /** What comes of pictures, each of these units or payloads. */
  of(...pictures: readonly Buffer[][]): VideoFrame[] {
    return videoOf(
      this.receiver,
      pictures.flatMap((payloads) => this.sender.picture(payloads)),
    );
  }

  end(): VideoFrame[] {
    return this.receiver.flush().filter((frame) => frame.kind === 'video');
  }
}
