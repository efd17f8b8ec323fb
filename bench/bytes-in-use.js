'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc');

/** Between one collection and the next no more than this has been freed: that was all. */
const STEADY_BYTES = 50_000;

/**
 * Bytes in use by this process, inside the heap and outside of it, once all has been freed that can be: much of it takes
 * several collections, such as code that runs no more, or some time, such as buffers of sockets.
 */
async function bytesInUse() {
  const figures = [];
  while (figures.length < 60) {
    await sleep(50);
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    const last = [heapUsed + external, ...figures.slice(0, 2)];
    if (figures.length > 4 && Math.max(...last) - Math.min(...last) < STEADY_BYTES) return last[0];
    figures.unshift(last[0]);
  }
  return figures[0];
}

module.exports = { bytesInUse };
