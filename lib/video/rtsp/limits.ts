import { RvmError } from '../../error';

/**
 * Limits of the time that a relay may take and of the data that it may send. Unless stated otherwise, exceeding one ends the
 * stream.
 */
export interface StreamLimits {
  /** Milliseconds until the connection is established, TLS included. */
  connectMs: number;
  /** Milliseconds until an answer is complete. */
  answerMs: number;
  /** As `answerMs`, for SETUP of the audio: after it the video begins without audio. */
  soundMs: number;
  /** Milliseconds without a packet of the video. */
  silenceMs: number;
  /** Milliseconds without a complete picture, even while packets arrive. */
  pictureMs: number;
  /** Milliseconds that audio waits for the sender reports, which relate it to the pictures. */
  reportMs: number;
  /** Milliseconds to wait for the answer to TEARDOWN. */
  farewellMs: number;
  /** Bytes of start line and headers. */
  headBytes: number;
  headLines: number;
  /** Bytes of a body: the session description is the longest. */
  bodyBytes: number;
  /** Media that a session description may name. */
  media: number;
  /** Consecutive redirects. */
  redirects: number;
  /** Frames, and their bytes, queued for the consumer: at either limit, reading from the connection pauses. */
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

/** Creates the errors for faults of a relay; a stream and the station test have different ones. */
export interface RelayFaults {
  /** The relay sends data that is not RTSP, or more than a limit allows. */
  unreadable: () => RvmError;
  /** The connection ended early. */
  brokenOff: () => RvmError;
  /** A request got no answer in time. */
  unanswered: () => RvmError;
  /** The relay answered with a status other than 200. */
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
