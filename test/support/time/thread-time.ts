import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which this thread has run, where that can be had, else the time of day: what other programs take from it is no
 * work of its own.
 */
export function threadTime(): number {
  if (!('threadCpuUsage' in process)) return ranUntilNow();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** For Node.js 22: what the system tells of the thread, where it does. */
function ranUntilNow(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}
