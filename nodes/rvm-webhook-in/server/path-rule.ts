/**
 * The paths that a request can have: no white space, nothing that would have to be escaped, no query, and no segment
 * `.` or `..`, which senders resolve before they send. Matching is literal, so any other path could never be met.
 * Shared by the dialog and the server.
 */
export const POSSIBLE_PATH = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))\/?[A-Za-z0-9._~!$&'()*+,;=:@/-]+$/;
