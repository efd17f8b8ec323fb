'use strict';
// Puts events into an inbox of the built package, one after the other, and writes the id of each once it is accepted:
// `node accept-one-by-one.js <folder> <count>`. Each is delivered and marked, too.
const fs = require('node:fs');
const path = require('node:path');
const { DurableInbox } = require('../../../dist/lib/inbox/durable-inbox.js');

const [folder, count] = process.argv.slice(2);
const inbox = new DurableInbox({
  file: path.join(folder, 'inbox.sqlite'),
  spillFolder: path.join(folder, 'spill'),
  keep: { keys: 7 * 86_400_000, bodies: 30 * 86_400_000 },
});
const terms = { handledWhen: 'sent', redeliverAfter: 120_000, maxAttempts: 12, maxInFlight: 100 };
const consumer = {
  endpointId: 'webhook',
  ...terms,
  deliver: () => true,
  onDead() {},
  onBlocked() {},
  onSpilled() {},
  onIncident() {},
};

function event(messageId) {
  const payload = { alarmId: messageId, eventClass: 'security', eventName: 'x'.repeat(1400) };
  const envelope = { payloadType: 'BlueEvent', version: '1.0.0', messageId, payload };
  return {
    kind: 'event',
    endpointId: 'webhook',
    stationKey: 'north',
    stationName: 'North',
    sandbox: false,
    receivedTime: new Date().toISOString(),
    fingerprint: messageId,
    body: Buffer.from(JSON.stringify(envelope)),
    proof: 'hmac',
    secret: 'current',
    envelope,
    event: payload,
    warnings: [],
  };
}

async function main() {
  inbox.consume(consumer).resume();
  for (let number = 0; number < Number(count); number += 1) {
    const { outcome } = await inbox.accept(event(`event-${number}`));
    if (outcome === 'new') fs.writeSync(1, `event-${number}\n`);
  }
  // Without closing the file, as a loss of power would.
  process.kill(process.pid, 'SIGKILL');
}

void main();
