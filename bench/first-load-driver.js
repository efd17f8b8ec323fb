'use strict';
// Runs inside of Node-RED, on behalf of function nodes: how long the list of devices is under way, or how much memory it
// takes once it is there.
const { setTimeout: sleep } = require('node:timers/promises');
const { bytesInUse } = require('./bytes-in-use.js');

/** @param measured 'bytes', or else milliseconds */
module.exports = (measured) => {
  let before = 0;
  let from = 0;
  return {
    async begin(msg, send) {
      before = measured === 'bytes' ? await bytesInUse() : await sleep(500, 0);
      from = performance.now();
      send(msg);
    },

    async end(msg) {
      const ms = performance.now() - from;
      const { length } = msg.payload;
      const figure = measured === 'bytes' ? (await bytesInUse()) - before : ms;
      process.send({ probe: 'loaded', msg: { figure, count: length } });
    },
  };
};
