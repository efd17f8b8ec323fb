/** A statement, planned once for each connection. */
export interface Plan {
  /** Unique among all; names its plan on the connection. */
  readonly name: string;
  readonly text: string;
}

export type Row = Record<string, unknown>;
