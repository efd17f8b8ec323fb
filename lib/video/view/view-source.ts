import type { MediaStream } from '../media';
import type { ViewRight } from './right';

/** Which of the two videos that a right may open. */
export type ViewPart = 'recorded' | 'live';

/** Where the video of one right comes from. */
export interface ViewSource {
  /** @throws RvmError such as VIDEO_NOT_YET, VIDEO_BUSY; CANCELLED at the abort */
  open(part: { kind: ViewPart }, signal: AbortSignal): Promise<MediaStream>;
  /** A JPEG: of the alarm, or of now where only that may be seen. @throws RvmError such as DECODER_MISSING */
  picture(signal: AbortSignal): Promise<Buffer>;
  /** The part of the recording as an MP4 with fast start. @throws RvmError */
  clip(signal: AbortSignal): Promise<Buffer>;
}

/** Where people watch. */
export interface ViewHost {
  /** How many may watch at a time. */
  viewers: number;
  /** Told why a viewer got nothing, or no more. Viewers are told the code alone. */
  failed?(error: Error): void;
}

/** A node that gives rights, as long as it is deployed. */
export interface ViewNode extends ViewHost {
  /** Opens nothing yet. */
  source(right: ViewRight): ViewSource;
}
