/** A message that nothing proved, kept for the day on which the phrase is corrected. Holds no token in clear. */
export interface QuarantinedMessage {
  endpointId: string;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  remoteAddress?: string;
  /** The values of all `Authorization` lines. */
  authorization: readonly string[];
  /** HMAC of the token under a key of this inbox; absent where there was none. */
  tokenDigest?: string;
  /** Why nothing proved it; absent where that was not kept. */
  reason?: string;
  /** The bytes as received, with any token blanked. */
  body: Uint8Array;
}

/** What is quarantined at an endpoint, and of whom the newest message came. */
export interface QuarantineSum {
  endpointId: string;
  count: number;
  lastId: number;
  /** ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
  lastReason?: string;
}
