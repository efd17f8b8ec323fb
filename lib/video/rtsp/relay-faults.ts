import { RvmError } from '../../error';

/** The errors of what a relay may do wrong: those of a stream are others than those of the station test. */
export interface RelayFaults {
  /** What it sends is no RTSP, or more of it than may be. */
  unreadable: () => RvmError;
  /** The connection ended before all was said. */
  brokenOff: () => RvmError;
  /** A request got no answer in time. */
  unanswered: () => RvmError;
  /** It answered with another status than 200. */
  refused: (status: number) => RvmError;
}

/** What a user can do about a status (RFC 2326, section 11). */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [401, 'its address holds no login that it takes; tell who runs the service'],
  [403, 'its address is no longer good; ask for the video again'],
  [404, 'it does not have this video, or its address is no longer good; ask for the video again'],
  [453, 'it has no bandwidth left; ask for fewer videos at a time'],
  [454, 'its session has ended; ask for the video again'],
  [457, 'there is no video of this time'],
  [461, 'it offers its video by UDP alone, which this package does not take; it has to offer RTSP over TCP'],
  [503, 'too many videos are played at a time; ask for fewer, or later'],
]);
const OTHER = 'try again, or look at the camera';

export const STREAM_FAULTS: RelayFaults = {
  unreadable: () =>
    new RvmError(
      'VIDEO_FAILED',
      'The video relay sends what is no RTSP; try again, or report it to the service.',
    ),
  brokenOff: () =>
    new RvmError(
      'VIDEO_FAILED',
      'The video relay broke off the connection; try again, or look at the camera.',
    ),
  unanswered: () =>
    new RvmError('TIMEOUT', 'The video relay did not answer in time; try again, or look at the camera.'),
  refused: (status) =>
    new RvmError(
      'VIDEO_FAILED',
      `The video relay refused the video (${status}): ${ADVICE.get(status) ?? OTHER}.`,
      { status },
    ),
};
