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
