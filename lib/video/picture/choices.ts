/** What a user can choose of a picture, shared with the dialogs: nothing here needs more than the language itself. */

/** Seconds before or after the start of an alarm: more is a slip of the pen. */
export const FARTHEST_OFFSET = 3600;
/** As many as a sheet has room for. */
export const MOST_OFFSETS = 9;
/** Pixels. */
export const NARROWEST_PICTURE = 16;
/** Pixels. */
export const WIDEST_PICTURE = 4096;
