/** Since when ids may be lost, by the clock of the file, in milliseconds. */
export const IDS_LOST = 'ids-lost';
/** The last sequence of what may have been delivered without the file knowing it: events that were read from a damaged file, or an older copy. */
export const DOUBTFUL = 'doubtful-up-to';
