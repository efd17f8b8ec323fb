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
