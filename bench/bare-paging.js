'use strict';
// Fetches a list page by page as plainly as can be, keeps it, and tells its parent what that has cost:
// `node bare-paging.js <url> load|bytes`.
const { setTimeout: sleep } = require('node:timers/promises');
const { bytesInUse } = require('./bytes-in-use.js');

const [url, measured] = process.argv.slice(2);

async function loaded() {
  const devices = [];
  for (let next = '/devices'; next !== undefined;) {
    const answer = await fetch(new URL(next, url));
    const page = JSON.parse(await answer.text());
    devices.push(...page.devices);
    next = page._links.next;
  }
  return devices;
}

async function main() {
  // The other side has made its first requests as well, to log in, and rests after its start.
  for (let turn = 0; turn < 3; turn += 1) await (await fetch(new URL('/system', url))).text();
  const before = measured === 'bytes' ? await bytesInUse() : await sleep(500, 0);
  const from = performance.now();
  const devices = await loaded();
  const ms = performance.now() - from;
  const figure = measured === 'bytes' ? (await bytesInUse()) - before : ms;
  process.send({ figure, count: devices.length }, () => process.exit());
}

void main();
