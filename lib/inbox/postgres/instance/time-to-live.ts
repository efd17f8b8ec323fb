// The sidebar shares this file: it needs nothing of the server.

/** Without a beat after which others may take an instance for dead, in milliseconds. */
export const PEER_TIMEOUT = 10_000;
