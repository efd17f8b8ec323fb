'use strict';
// Runs inside of Node-RED, on behalf of function nodes: how long each turn of the event loop takes.

/** Milliseconds of CPU that this thread has had; what other processes took from it is not in them. */
function cpuMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * A timer of a millisecond tells when the loop comes round. Between two of its calls no more than one turn begins, so that
 * nothing had to wait longer than that; what the loop waited for work, up to a millisecond, is in the figure.
 */
module.exports = () => {
  let taken = { wall: [], cpu: [] };
  let last = { wall: performance.now(), cpu: cpuMs() };
  setInterval(() => {
    const now = { wall: performance.now(), cpu: cpuMs() };
    taken.wall.push(now.wall - last.wall);
    taken.cpu.push(now.cpu - last.cpu);
    last = now;
  }, 1);
  return {
    /** Reports all turns since it was last asked for them. */
    report(count) {
      process.send({ probe: 'turns', msg: { count, ...taken } });
      taken = { wall: [], cpu: [] };
    },
  };
};
