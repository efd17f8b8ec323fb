import type { VideoFormat, VideoFrame } from '../media';

const START_CODE = Buffer.from([0, 0, 0, 1]);

/**
 * Frames as a decoder reads them without a container: NAL units behind start codes, the parameter sets in front and wherever
 * they change (ITU-T H.264 and H.265, annex B).
 */
export function* byteStream(frames: readonly VideoFrame[]): Generator<Buffer> {
  let format: VideoFormat | undefined;
  for (const frame of frames) {
    const sets = frame.format === format ? [] : frame.format.parameterSets;
    format = frame.format;
    yield Buffer.concat([...sets, ...frame.nals].flatMap((nal) => [START_CODE, nal]));
  }
}
