/**
 * Deepest nesting of an answer that is read: far above any resource, far below what overflows the stack where
 * Node-RED copies messages.
 */
export const MAX_DEPTH = 64;
/** Bytes: 20,000 cameras on one page are less. */
export const MAX_JSON = 16 * 1024 * 1024;
