/** What a user can choose, shared with the dialogs: nothing here needs more than the language itself. */

export const PTZ_ACTIONS = ['goto-preset', 'goto-home', 'start-tour', 'stop-tour'] as const;
export const REQUEST_STARTS = ['system', 'device', 'data-sources', 'url'] as const;
export const REQUEST_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Seconds, a day: more is a slip of the pen. */
export const LONGEST_PRE_ROLL = 86_400;
/** Pixels. */
export const WIDEST_SNAPSHOT = 10_000;
/** Seconds that a message has in all, unless its node says otherwise; a PTZ command less. */
export const DEADLINE_S = 30;
export const PTZ_DEADLINE_S = 5;

/** What a user can choose of video, shared with the dialogs: nothing here needs more than the language itself. */

/** Pictures of one alarm at most. */
export const MOST_OFFSETS = 9;
/** Seconds before or after the start of an alarm: further away is another story. */
export const FARTHEST_OFFSET_S = 3600;
/** Pixels. */
export const NARROWEST_PICTURE = 16;
export const WIDEST_PICTURE = 4096;
/** Seconds of a clip after the start of its alarm, or after the end of that. */
export const LONGEST_CLIP_S = 300;
/** Seconds of a clip in all, where it goes on to the end of its alarm: an hour. */
export const LONGEST_WHOLE_CLIP_S = 3600;
/** Minutes that the address of a view is good for: a week. */
export const LONGEST_VIEW_MIN = 10_080;
/** Viewers of one view at a time. */
export const MOST_VIEWERS = 32;
/** Seconds that a view begins before its alarm, and that it shows from there on. */
export const VIEW_PRE_ROLL_S = 5;
export const VIEW_SECONDS = 20;
/** Seconds that a node waits for a recording: at most, and unless it says otherwise. */
export const LONGEST_VIDEO_WAIT_S = 600;
export const VIDEO_WAIT_S = 60;
/** Seconds that a message has until its video begins, unless its node says otherwise. */
export const VIDEO_DEADLINE_S = 90;
/** RTSP sessions of one cloud at a time: at most, and unless it says otherwise. */
export const MOST_VIDEO_SESSIONS = 100;
export const VIDEO_SESSIONS = 4;
