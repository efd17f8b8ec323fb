import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import type { Fragments } from '../../../lib/video/view/video-answers';
import { pictureAt } from './made-stream';

/** Sends of frames what their units are, so that a test sees in an answer what was sent. */
export class PassedFragments implements Fragments {
  readonly mimeType = 'video/mp4; codecs="avc1.42C015"';

  #count = 0;

  add(frame: MediaFrame): Buffer[] {
    this.#count += 1;
    return frame.kind === 'video' ? [...frame.nals] : [frame.data];
  }

  end(): Buffer[] {
    return this.#count === 0 ? [] : [Buffer.from(' end')];
  }
}

export function passedFrame(data: Buffer, key: boolean): VideoFrame {
  return pictureAt(0, { key, nals: [data] });
}
