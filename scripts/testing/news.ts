/** What the command asks of a process that runs test files. */
export interface Order {
  /** Absolute. */
  file: string;
  /** Only tests whose titles match this expression. */
  grep?: string;
}

/** Asked after the last file: the process is to end by itself. */
export interface LastOrder {
  /** Seconds. */
  endWithin: number;
}

export interface Failure {
  /** Title of the test or hook, below those of its groups. */
  title: string;
  error: string;
}

/** What such a process tells while it runs a file, up to `ended`. */
export type News =
  | { kind: 'begins'; title: string }
  | { kind: 'passed' }
  | { kind: 'skipped'; title: string }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'ended' };
