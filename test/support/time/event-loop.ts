import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Holds up this thread, as a long computation does, and uses no processor for it. */
export function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/**
 * Seconds of computing that a piece of work costs this process: other programs make it take longer, but not cost more. For work
 * that would never end if it were done the wrong way; a bound of it needs room for a slow machine.
 */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The cheapest of some rounds is the one least disturbed; on a busy machine it takes more of them. */
const [FEWEST_ROUNDS, MOST_ROUNDS] = [3, 15];

/**
 * Fails where a piece of work costs more than so many times another one, both measured in turns. What others do on the same
 * processor makes a round dearer, of either: the cheapest of each are compared.
 * @param runs of each in a round, for one may be too short for the clock
 */
export async function assertCost(
  work: () => unknown,
  most: number,
  other: () => unknown,
  runs: number,
): Promise<void> {
  const cost = (each: () => unknown): Promise<number> =>
    cpuSeconds(() => {
      for (let run = 0; run < runs; run += 1) each();
    });
  let [ofWork, ofOther] = [Infinity, Infinity];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    ofWork = Math.min(ofWork, await cost(work));
    ofOther = Math.min(ofOther, await cost(other));
    if (round + 1 >= FEWEST_ROUNDS && ofWork < most * ofOther) return;
  }
  assert.fail(`${(ofWork / ofOther).toFixed(1)} times, not less than ${most}`);
}

/** Far more than any way from a change to its last effect has. */
const STEPS = 500;

/**
 * Waits until all is done that follows in the same turn of the event loop: no timer, and nothing that comes by a socket, has its
 * turn meanwhile.
 */
export async function endOfTurn(): Promise<void> {
  for (let step = 0; step < STEPS; step++) await Promise.resolve();
}

/** Milliseconds by the clock of the machine that never jumps: the same in all of its processes. */
export function steadyNow(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/**
 * Milliseconds for which this thread has run, where that can be had, else the time of day: what other programs take from it is no
 * work of its own.
 */
export function threadTime(): number {
  if (!('threadCpuUsage' in process)) return ranUntilNow();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** For Node.js 22: what the system tells of the thread, where it does. */
function ranUntilNow(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** Milliseconds for which one turn of the event loop may hold up the others, on a machine that is not slow. */
const LONGEST_TURN = 20;
/** What `JSON.parse` reads in about that time. */
const READ_MEANWHILE = JSON.stringify(
  Array.from({ length: 32_000 }, (_, n) => {
    return { id: `0e9f0c1a-0000-e911-${n}`, name: 'Camera', at: [n, 1080], on: true };
  }),
);
const READINGS = 9;

interface Turn {
  from: number;
  to: number;
  ran: number;
}

/**
 * The longest turn of the event loop while something is done, in milliseconds that its thread ran. Not counted is the collection of
 * garbage: how long that stops everything, nobody but V8 decides.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => void collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const turns = await turnsOf(work);
  await sleep(20);
  observer.disconnect();
  const collectedIn = ({ from, to }: Turn): number =>
    collections
      .filter(({ startTime }) => startTime >= from && startTime < to)
      .reduce((sum, { duration }) => sum + duration, 0);
  return Math.max(...turns.map((turn) => turn.ran - collectedIn(turn)));
}

/**
 * How long a turn may be just now, in milliseconds that its thread runs: 20, or what this machine needs at the moment for work
 * that takes so long on another. A hypervisor that gives a machine half of its time halves what each of its milliseconds does.
 */
export function longestTurnAllowed(): number {
  const readings = Array.from({ length: READINGS }, () => {
    const from = threadTime();
    JSON.parse(READ_MEANWHILE);
    return threadTime() - from;
  }).sort((one, other) => one - other);
  return Math.max(LONGEST_TURN, readings[Math.floor(READINGS / 2)] ?? 0);
}

async function turnsOf(work: () => Promise<unknown>): Promise<Turn[]> {
  const turns: Turn[] = [];
  let [from, ran] = [performance.now(), threadTime()];
  let going = true;
  const turn = (): void => {
    const [to, now] = [performance.now(), threadTime()];
    turns.push({ from, to, ran: now - ran });
    [from, ran] = [to, now];
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  // What the work has left for the next turns counts as well.
  await sleep(20);
  going = false;
  return turns;
}
