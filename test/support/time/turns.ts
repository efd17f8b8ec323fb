import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { threadTime } from './thread-time';

/** Milliseconds for which one turn of the event loop may hold up the others, on a machine that is not slow. */
const LONGEST_TURN = 20;
/** What `JSON.parse` reads in about that time. */
const READ_MEANWHILE = JSON.stringify(
  Array.from({ length: 32_000 }, (_, n) => ({
    id: `0e9f0c1a-0000-e911-${n}`,
    name: 'Camera',
    at: [n, 1080],
    on: true,
  })),
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
