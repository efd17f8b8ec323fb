import { RvmError } from '../../error';

/** How long a relay may take, and how much it may send. What goes beyond ends the stream. */
export interface StreamLimits {
  /** Milliseconds until the connection stands, encrypted where it is to be. */
  connectMs: number;
  /** Milliseconds for each answer, all of it. */
  answerMs: number;
  /** As `answerMs`, where the sound is set up: pictures do not wait for it for long. */
  soundMs: number;
  /** Milliseconds without a packet of the video. */
  silenceMs: number;
  /** Milliseconds without a whole picture, whatever packets come. */
  pictureMs: number;
  /** Milliseconds that sound waits for the reports of the sender, which tell what picture it belongs to. */
  reportMs: number;
  /** Milliseconds that the answer to TEARDOWN is waited for. */
  farewellMs: number;
  /** Bytes of start line and headers. */
  headBytes: number;
  headLines: number;
  /** Bytes of a body: the session description is the longest. */
  bodyBytes: number;
  /** Media that a session description may name. */
  media: number;
  /** Redirects, one after the other. */
  redirects: number;
  /** Of frames, and bytes of them, that wait for the consumer: beyond either, nothing more is read from the connection. */
  queuedFrames: number;
  queuedBytes: number;
}

export const DEFAULT_LIMITS: Readonly<StreamLimits> = {
  connectMs: 10_000,
  answerMs: 10_000,
  soundMs: 3_000,
  silenceMs: 10_000,
  pictureMs: 60_000,
  reportMs: 300,
  farewellMs: 1_000,
  headBytes: 16 * 1024,
  headLines: 100,
  bodyBytes: 64 * 1024,
  media: 16,
  redirects: 3,
  queuedFrames: 256,
  queuedBytes: 4 * 1024 * 1024,
};

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
