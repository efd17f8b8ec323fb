/**
 * A timer whose time is up only when what has come by then was looked at: in a turn of the event loop timers come before
 * sockets, so to a process that was busy, what is waited for may be there already.
 * @param ms milliseconds
 */
export function lateTimeout(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), ms);
}
