// The dialog shares this file: it needs nothing of the server.
import type { UnsafeSetting } from '../store/protocol';

/** What is odd about a server that can be used. */
export type ConnectionWarning =
  | UnsafeSetting
  /** A standby is to be waited for, and none is there: nothing can be stored. */
  | 'standby-away'
  /** NOTIFY does not come through, as behind a pooler: news takes a second. */
  | 'no-listen';

/** What a test has found out about a connection; of a failure, all that came before it. */
export interface ConnectionReport {
  /** Why the inbox cannot use it and what to do, in one sentence that holds no password; absent where it can. */
  fault?: string;
  /** The host that was taken, with its port. */
  host?: string;
  /** Such as `15.18`. */
  version?: string;
  isWritable?: boolean;
  /** True where the role may do all that the inbox does. */
  hasRights?: boolean;
  /** Of the schema there; `absent` where it will be made. */
  schemaVersion?: number | 'absent';
  /** Milliseconds of one question and its answer: the median of a few. */
  roundTrip?: number;
  /** Such as `TLSv1.3`; absent without TLS. */
  tls?: string;
  /** Names of the standbys that a commit waits for; none where one machine alone has what is acknowledged. */
  standbys?: string[];
  /** `synchronous_commit` as it counts for the inbox. */
  synchronousCommit?: string;
  /** True where NOTIFY comes through. */
  listens?: boolean;
  warnings: ConnectionWarning[];
}
