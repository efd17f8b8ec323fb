'use strict';
// Loaded before Node-RED (NODE_OPTIONS=--require), also by its threads: kills the process, as kill -9 does, at the n-th
// passing of a point on the way of an alarm. Which one stands in the file named by KILL_FILE, as `point n`; it may be
// written at any time, and is gone after the kill. Patches the built modules.
const fs = require('node:fs');
const http = require('node:http');
const { patch, patchModules } = require('./patched-modules');

const FILE = process.env.KILL_FILE;
const passings = new Map();

function pass(point) {
  let armed;
  try {
    armed = fs.readFileSync(FILE, 'utf8');
  } catch {
    return;
  }
  const [wanted, nth] = armed.split(' ');
  if (point !== wanted) return;
  const count = (passings.get(armed) ?? 0) + 1;
  passings.set(armed, count);
  if (count < Number(nth)) return;
  fs.unlinkSync(FILE);
  process.kill(process.pid, 'SIGKILL');
}

/** What each transaction of the store did, as far as it matters here. */
let done = new Set();

patch(
  http.ServerResponse.prototype,
  'end',
  (former) =>
    function (...args) {
      const response = former.apply(this, args);
      if (this.req.method === 'POST' && this.statusCode === 200) pass('answered');
      return response;
    },
);

patchModules({
  'webhook/request.js': (exports) =>
    patch(exports, 'readRawBody', (former) => async (...args) => {
      const reading = await former(...args);
      if (reading.kind === 'complete') pass('body-read');
      return reading;
    }),
  'webhook/judge.js': (exports) =>
    patch(exports, 'judge', (former) => (...args) => {
      const judgement = former(...args);
      if (judgement.kind === 'usable') pass('verified');
      return judgement;
    }),
  'inbox/sqlite/messages.js': ({ Messages: { prototype } }) => {
    patch(prototype, 'accept', (former) => {
      return function (...args) {
        const accepted = former.apply(this, args);
        if (accepted.outcome === 'new') {
          pass('inserted');
          done.add('committed');
        }
        return accepted;
      };
    });
    for (const name of ['markDelivered', 'finish'])
      patch(prototype, name, (former) => {
        return function (...args) {
          if (name === 'markDelivered') pass('settled');
          done.add('marked');
          return former.apply(this, args);
        };
      });
  },
  'inbox/sqlite/store.js': ({ Store: { prototype } }) =>
    patch(prototype, 'transaction', (former) => {
      return function (work) {
        done = new Set();
        const result = former.call(this, work);
        for (const point of done) pass(point);
        return result;
      };
    }),
  'inbox/durable-inbox.js': ({ DurableInbox: { prototype } }) => {
    patch(prototype, 'consume', (former) => {
      return function (consumer) {
        patch(consumer, 'deliver', (deliver) => (delivery) => {
          const isWired = deliver.call(consumer, delivery);
          pass('dispatched');
          return isWired;
        });
        return former.call(this, consumer);
      };
    });
    patch(prototype, 'settle', (former) => {
      return function (...args) {
        pass('settled');
        return former.apply(this, args);
      };
    });
  },
});
