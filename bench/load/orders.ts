/** Makes so many messages, each with ids of its own, and keeps them. */
export interface Preparation {
  count: number;
  path: string;
  /** Signs them. */
  phrase: string;
}

/** Sends all that was prepared, the next one as soon as an answer is there. */
export interface Flood {
  port: number;
  connections: number;
}

export interface FloodReport {
  /** First byte sent and last answer received, in nanoseconds of the clock that all processes share. */
  from: bigint;
  until: bigint;
  /** Answers other than 200, by status. */
  refused: Record<string, number>;
}

/** Sends all that was prepared, so many a second. */
export interface Pace {
  port: number;
  rate: number;
}

export interface PaceReport {
  /** From the last byte sent to the answer, in milliseconds. */
  times: number[];
  refused: Record<string, number>;
}

export type Order = Preparation | Flood | Pace;
