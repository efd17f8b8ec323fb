/** Choices and limits of properties, shared with the dialogs: this file imports nothing. */

export const PTZ_ACTIONS = ['goto-preset', 'goto-home', 'start-tour', 'stop-tour'] as const;
export const REQUEST_STARTS = ['system', 'device', 'data-sources', 'url'] as const;
export const REQUEST_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Seconds: one day. A larger value is a typing error. */
export const LONGEST_PRE_ROLL = 86_400;
/** Pixels. */
export const WIDEST_SNAPSHOT = 10_000;
/** Default deadline of a message, in seconds; that of a PTZ command is shorter. */
export const DEADLINE_S = 30;
export const PTZ_DEADLINE_S = 5;

/** Choices and limits of video. */

/** Most pictures of one alarm. */
export const MOST_OFFSETS = 9;
/** Seconds before or after the start of an alarm: a picture from farther away no longer shows the alarm. */
export const FARTHEST_OFFSET_S = 3600;
/** Pixels. */
export const NARROWEST_PICTURE = 16;
export const WIDEST_PICTURE = 4096;
/** Most seconds of a clip after the start of its alarm, or after its end. */
export const LONGEST_CLIP_S = 300;
/** Most seconds of a whole clip that lasts until the end of its alarm: an hour. */
export const LONGEST_WHOLE_CLIP_S = 3600;
/** Minutes that the address of a view is valid: a week. */
export const LONGEST_VIEW_MIN = 10_080;
/** Viewers of one view at a time. */
export const MOST_VIEWERS = 32;
/** Seconds that a view shows before the alarm, and seconds that it shows in all from there. */
export const VIEW_PRE_ROLL_S = 5;
export const VIEW_SECONDS = 20;
/** Seconds that a node waits for a recording: at most, and by default. */
export const LONGEST_VIDEO_WAIT_S = 600;
export const VIDEO_WAIT_S = 60;
/** Default deadline for the begin of the video, in seconds. */
export const VIDEO_DEADLINE_S = 90;
/** RTSP sessions of one cloud at a time: at most, and by default. */
export const MOST_VIDEO_SESSIONS = 100;
export const VIDEO_SESSIONS = 4;
