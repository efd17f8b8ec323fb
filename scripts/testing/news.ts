/** An order of the test command to a process that runs test files. */
export interface Order {
  /** Absolute path. */
  file: string;
  /** Only tests whose titles match this expression. */
  grep?: string;
}

/** Sent after the last file: the process has to end by itself. */
export interface LastOrder {
  /** Seconds. */
  endWithin: number;
}

export interface Failure {
  /** Title of the test or hook, below those of its groups. */
  title: string;
  error: string;
}

/** Reports of such a process while it runs a file; the last one is `ended`. */
export type News =
  | { kind: 'begins'; title: string }
  | { kind: 'passed' }
  | { kind: 'skipped'; title: string }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'ended' };
