import type { VideoFormat, VideoFrame } from '../../../lib/video/media';

const FORMAT: VideoFormat = {
  codec: 'h264',
  parameterSets: [Buffer.from([0x67, 1]), Buffer.from([0x68, 2])],
  width: 320,
  height: 180,
  codecString: '',
  description: Buffer.alloc(0),
};

/** Frames that no decoder could read, such as `0K 4 2 1`: in the order of decoding, each by the time at which it is shown; K is a key frame. */
export function madeFrames(times: string, format = FORMAT): VideoFrame[] {
  return times.split(' ').map((text) => {
    const time = Number.parseFloat(text);
    return { kind: 'video', format, key: text.endsWith('K'), nals: [Buffer.from([1, time])], time };
  });
}
