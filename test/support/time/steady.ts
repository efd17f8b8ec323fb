/** Milliseconds by the clock of the machine that never jumps: the same in all of its processes. */
export function steadyNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
