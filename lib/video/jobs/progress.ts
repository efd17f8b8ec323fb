/** What a job is at, for the status of its node. */
export type Progress =
  /** For a session of the cloud, and for the relay's first picture. */
  | { kind: 'opening' }
  /** There is no recording yet. */
  | { kind: 'waiting' }
  /** Seconds of video that are there, of those wanted; undefined while the end is not known. */
  | { kind: 'reading'; seconds: number; of: number | undefined };
