/**
 * Deepest nesting of an answer that is read: far above any resource, far below what overflows the stack where
 * Node-RED copies messages.
 */
export const MAX_DEPTH = 64;
/** Bytes: 20,000 cameras on one page are less. */
export const MAX_JSON = 16 * 1024 * 1024;
/** Values of a long answer, those in lists included: in 16 MiB only lists of numbers, or of lists, can have more. */
export const MAX_VALUES = 1_500_000;
/** Names in one of its objects: five times as many as there are cameras, where each has a name of its own. */
export const MAX_NAMES = 100_000;
