/** What a user can choose, shared with the dialogs: nothing here needs more than the language itself. */

export const PTZ_ACTIONS = ['goto-preset', 'goto-home', 'start-tour', 'stop-tour'] as const;
export const REQUEST_STARTS = ['system', 'device', 'data-sources', 'url'] as const;
export const REQUEST_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Seconds that a message may take where its node does not say. */
export const DEADLINE = 30;
/** The same of a PTZ command: who moves a camera looks at it, and one that comes late moves it under the eyes of another. */
export const PTZ_DEADLINE = 5;

/** Seconds, a day: more is a slip of the pen. */
export const LONGEST_PRE_ROLL = 86_400;
/** Pixels. */
export const WIDEST_SNAPSHOT = 10_000;
