/**
 * `npm run soak`: sends a thousand events through a Node-RED that is killed twenty times, at random times and stages of
 * processing, for both values of `handledWhen`. `--stored 1000000` then stores that many events and checks that neither memory
 * nor latency grows. Takes minutes; the last line is the result.
 *
 * `--engine postgres`: instead runs several Node-RED on one PostgreSQL for an hour, with random faults; `--minutes 10` sets a
 * shorter time.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededChance } from '../test/support/inbox/broken-files';
import { POINT_NAMES, Victim } from '../test/support/inbox/victim';
import { buildIfStale } from './build';
import { soakCluster } from './soak-cluster';

type InboxModule = typeof import('../lib/inbox/durable-inbox');
type DurableInbox = InstanceType<InboxModule['DurableInbox']>;
type ProvenMessage = Parameters<DurableInbox['accept']>[0];

const OPTIONS = {
  engine: { type: 'string', default: 'sqlite' },
  minutes: { type: 'string', default: '60' },
  events: { type: 'string', default: '1000' },
  kills: { type: 'string', default: '20' },
  stored: { type: 'string', default: '0' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
} as const;

const DAY = 24 * 60 * 60 * 1000;
/** Concurrent accepts while the store is filled. */
const AT_A_TIME = 500;
const MOST_WAITING = 2000;
/** Events per latency measurement, and measurements: the best one counts, for the machine is shared. */
const MEASURED = 1000;
const ROUNDS = 3;
const MOST_GROWTH = 64 * 1024 * 1024;

async function killOften(
  handledWhen: 'sent' | 'settled',
  { events, kills }: { events: number; kills: number },
  chance: () => number,
): Promise<void> {
  const victim = new Victim(handledWhen);
  const eachTime = Math.ceil(events / kills);
  const killedAt: Record<string, number> = {};
  try {
    await victim.start();
    for (let kill = 0; kill < kills; kill += 1) {
      const point = POINT_NAMES[Math.floor(chance() * POINT_NAMES.length)] ?? 'committed';
      victim.arm(point, 1 + Math.floor(chance() * eachTime));
      // Also while Node-RED is down, as the service does.
      for (let count = 0; count < eachTime; count += 1) await victim.sandbox.raise();
      await delay(chance() * 100);
      await victim.nodeRed.stop('SIGKILL');
      const where = victim.isArmed ? 'anywhere' : point;
      killedAt[where] = (killedAt[where] ?? 0) + 1;
      victim.disarm();
      await victim.startAgain();
      if (chance() < 0.5) await victim.checkAll();
    }
    await victim.checkAll();
    await victim.checkStore();
    console.log(
      `${handledWhen}: ${victim.sandbox.raised.length} events, ${kills} kills, none missing, ${victim.repeats()} came twice`,
      killedAt,
    );
  } finally {
    await victim.end();
  }
}

/** Fills one inbox with events that are delivered at once, and measures at 10 %, 50 % and 100 %. */
async function storeMany(count: number): Promise<void> {
  const { DurableInbox } = require('../dist/lib/inbox/durable-inbox.js') as InboxModule;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-soak-'));
  const open = (): DurableInbox =>
    new DurableInbox({
      file: path.join(folder, 'inbox.sqlite'),
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      log: (news) => console.log(news),
    });
  let inbox = open();
  try {
    consumeAll(inbox);
    const marks: Mark[] = [];
    let stored = 0;
    for (const share of [0.1, 0.5, 1]) {
      const goal = Math.floor(count * share) - MEASURED * ROUNDS;
      while (stored < goal) {
        const batch = Math.min(AT_A_TIME, goal - stored);
        await Promise.all(Array.from({ length: batch }, (_, index) => accept(inbox, stored + index)));
        stored += batch;
        await drained(inbox, MOST_WAITING);
      }
      await drained(inbox, 0);
      const mark = await measure(inbox, stored);
      stored += MEASURED * ROUNDS;
      marks.push(mark);
      console.log(
        `${stored} stored: median ${mark.median.toFixed(2)} ms, p99 ${mark.p99.toFixed(2)} ms, RSS ${megabytes(mark.rss)} MB`,
      );
    }
    await inbox.close();
    const size = fs.statSync(path.join(folder, 'inbox.sqlite')).size;
    const from = performance.now();
    inbox = open();
    await inbox.list({ state: 'open', limit: 1 });
    console.log(
      `a start with ${stored} events (${megabytes(size)} MB) takes ${(performance.now() - from).toFixed(0)} ms`,
    );
    const [first, last] = [marks[0], marks.at(-1)];
    assert.ok(first !== undefined && last !== undefined);
    const slower = last.p99 / first.p99;
    console.log(
      `last to first: median x ${(last.median / first.median).toFixed(2)}, p99 x ${slower.toFixed(2)}, RSS x ${(last.rss / first.rss).toFixed(2)}`,
    );
    assert.ok(slower <= 2, 'latency grows');
    assert.ok(last.rss - first.rss <= MOST_GROWTH, 'memory grows');
  } finally {
    await inbox.close();
    fs.rmSync(folder, { recursive: true });
  }
}

/** Waits until at most `most` events are waiting: their delivery must not affect the measurement. */
async function drained(inbox: DurableInbox, most: number): Promise<void> {
  while (inbox.waiting('webhook') > most) await delay(1);
}

interface Mark {
  /** Milliseconds. */
  median: number;
  p99: number;
  /** Bytes. */
  rss: number;
}

async function measure(inbox: DurableInbox, from: number): Promise<Mark> {
  const rounds: Omit<Mark, 'rss'>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times: number[] = [];
    for (let index = 0; index < MEASURED; index += 1) {
      const at = performance.now();
      await accept(inbox, from + round * MEASURED + index);
      times.push(performance.now() - at);
    }
    times.sort((one, other) => one - other);
    rounds.push({ median: times[MEASURED / 2] ?? NaN, p99: times[Math.floor(MEASURED * 0.99)] ?? NaN });
  }
  const least = (name: 'median' | 'p99'): number => Math.min(...rounds.map((round) => round[name]));
  return { median: least('median'), p99: least('p99'), rss: process.memoryUsage.rss() };
}

function consumeAll(inbox: DurableInbox): void {
  inbox
    .consume({
      endpointId: 'webhook',
      nodeId: 'webhook',
      handledWhen: 'sent',
      redeliverAfter: 120_000,
      maxAttempts: 12,
      maxInFlight: 100,
      deliver: () => true,
      onDead: () => undefined,
      onBlocked: () => undefined,
      onSpilled: () => undefined,
      onIncident: () => undefined,
    })
    .resume();
}

async function accept(inbox: DurableInbox, number: number): Promise<void> {
  // Random like the ids of the service, because the order of ids affects the speed of the index.
  const messageId = crypto.randomUUID();
  const event = {
    alarmId: crypto.randomUUID(),
    eventClass: 'security',
    eventName: `Event ${number} `.padEnd(1200, 'x'),
  };
  const envelope = { payloadType: 'BlueEvent', version: '1.0.0', messageId, payload: event };
  const { outcome } = await inbox.accept({
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
    event,
    warnings: [],
  } as unknown as ProvenMessage);
  assert.equal(outcome, 'new');
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const [events, kills, stored] = [Number(values.events), Number(values.kills), Number(values.stored)];
  const [seed, minutes] = [Number(values.seed), Number(values.minutes)];
  console.log(`seed ${seed}`);
  buildIfStale();
  const chance = seededChance(seed);
  if (values.engine === 'postgres') {
    await soakCluster(minutes, chance);
    console.log(`Soak passed (seed ${seed}).`);
    return;
  }
  if (kills > 0)
    for (const mode of ['sent', 'settled'] as const) await killOften(mode, { events, kills }, chance);
  if (stored > 0) await storeMany(stored);
  console.log(`Soak passed (seed ${seed}).`);
}

// The worker thread of an inbox does not keep the process alive.
const alive = setInterval(() => undefined, 1000);
main()
  .catch((error: unknown) => {
    console.error(error);
    console.log('Soak failed.');
    process.exitCode = 1;
  })
  .finally(() => clearInterval(alive));
