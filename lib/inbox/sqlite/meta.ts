/** Since when ids may be lost, by the clock of the file, in milliseconds. */
export const IDS_LOST = 'ids-lost';
