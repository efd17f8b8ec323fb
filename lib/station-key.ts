// The dialog shares this file: it needs nothing of the server.

/** What the key of a Central Station may look like; that of an alarm state, too. */
export const KEY = /^[a-z0-9-]{1,32}$/;
