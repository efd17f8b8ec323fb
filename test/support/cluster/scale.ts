/**
 * Set to `full` by hand, for the numbers of the proof: thirty kills, a minute without any instance. By default there are as
 * many as show the same within a few minutes.
 */
const SCALE_VARIABLE = 'RVM_CLUSTER';

/** @returns the second where all is to be run */
export function scaled(usual: number, full: number): number {
  return process.env[SCALE_VARIABLE] === 'full' ? full : usual;
}
