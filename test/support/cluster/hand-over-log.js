'use strict';
// Loaded before Node-RED (NODE_OPTIONS=--require): writes down each event in the moment in which the package hands it to the flow,
// as a line of the file named by HAND_OVERS. What a flow itself writes comes later: a process may stand still in between.
const fs = require('node:fs');
const { patch, patchModules } = require('../inbox/patched-modules');

const FILE = process.env.HAND_OVERS;
/** Where this file is there, the process stops itself at the n-th hand-over from then on, and n is what it says. */
const FREEZE_FILE = `${FILE}.freeze`;
let passed = 0;

function freezeIfArmed() {
  if (!fs.existsSync(FREEZE_FILE)) return;
  passed += 1;
  if (passed < Number(fs.readFileSync(FREEZE_FILE, 'utf8'))) return;
  passed = 0;
  fs.unlinkSync(FREEZE_FILE);
  process.kill(process.pid, 'SIGSTOP');
}

function write({ deliveryId, attempt, again, message }) {
  // The clock of the machine that never jumps, the same in all of its processes.
  const at = Number(process.hrtime.bigint() / 1000n) / 1000;
  const { messageId } = message.envelope;
  fs.appendFileSync(FILE, `${JSON.stringify({ messageId, deliveryId, attempt, again, at })}\n`);
}

const logged = (name) => (exports) =>
  patch(exports[name].prototype, 'consume', (former) => {
    return function (consumer) {
      patch(consumer, 'deliver', (deliver) => (delivery) => {
        write(delivery);
        freezeIfArmed();
        return deliver.call(consumer, delivery);
      });
      return former.call(this, consumer);
    };
  });

patchModules({
  'inbox/durable-inbox.js': logged('DurableInbox'),
});
