import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import { threadTime, longestTurn, longestTurnAllowed } from '../time/event-loop';

/** What a process of its own is to find out about a client and its directory. */
interface Probing {
  settings: StationClientOptions;
  measure: 'gaps' | 'memory';
  /** How often the directory is loaded again. */
  refreshes: number;
  /** Milliseconds for which the event loop is blocked once on purpose, in the middle of the first load. */
  block?: number;
}

/** The longest turn of the event loop, in milliseconds of its thread. */
export interface Gaps {
  load: number;
  /** Of the refresh with the shortest one. */
  refresh: number;
  /** How long one may be on this machine, just now. */
  allowed: number;
}

/** Bytes in use, inside the heap and outside it, once all that can be freed has been. */
interface Memory {
  /** Logged in, but nothing loaded. */
  empty: number;
  /** After the first load. */
  loaded: number;
  /** After the last refresh. */
  refreshed: number;
  /** The most that was in use during a refresh. */
  peak: number;
}

/** Runs it in a process of its own, so that no other work of this one is in the measurement. */
export async function probe(probing: Probing & { measure: 'gaps' }): Promise<Gaps>;
export async function probe(probing: Probing & { measure: 'memory' }): Promise<Memory>;
export async function probe(probing: Probing): Promise<Gaps | Memory> {
  const child = fork(__filename, [JSON.stringify(probing)], {
    execArgv: ['--expose-gc', '--import=tsx'],
    // What takes note of the lines that have run makes them slower.
    env: { ...process.env, NODE_V8_COVERAGE: '' },
  });
  const ended = once(child, 'exit');
  const answered = new Promise<Gaps | Memory>((resolve) => {
    child.once('message', (message) => resolve(message as Gaps | Memory));
  });
  const failed = ended.then(([code]: unknown[]) =>
    Promise.reject(new Error(`the probe ended with ${String(code)}`)),
  );
  const result = await Promise.race([answered, failed]);
  await ended;
  return result;
}

async function gaps(client: StationClient, { refreshes, block }: Probing): Promise<Gaps> {
  await logIn(client);
  const load = await longestTurn(() => {
    if (block !== undefined) setTimeout(() => busy(block), 100);
    return client.listDevices();
  });
  let refresh = Infinity;
  for (let turn = 0; turn < refreshes; turn += 1) {
    refresh = Math.min(refresh, await longestTurn(() => client.listDevices({ fresh: true })));
  }
  return { load, refresh, allowed: longestTurnAllowed() };
}

/** What comes with the first request of a process, such as code that is compiled, has nothing to do with the directory. */
async function logIn(client: StationClient): Promise<void> {
  await client.request({ start: 'system', rels: [], method: 'GET' });
}

function busy(milliseconds: number): void {
  const end = threadTime() + milliseconds;
  while (threadTime() < end);
}

async function memory(client: StationClient, { refreshes }: Probing): Promise<Memory> {
  await logIn(client);
  const empty = await settled();
  await client.listDevices();
  const loaded = await settled();
  for (let turn = 1; turn < refreshes; turn += 1) await client.listDevices({ fresh: true });
  // To free all takes long, so it is done during the last one only.
  const peak = await peakOf(client.listDevices({ fresh: true }));
  return { empty, loaded, refreshed: await settled(), peak };
}

/** The most that is in use while work goes on. Looking takes as much time as is left for the work. */
async function peakOf(work: Promise<unknown>): Promise<number> {
  let peak = 0;
  const done = work.then(() => true);
  for (let isDone = false; !isDone;) {
    const before = performance.now();
    peak = Math.max(peak, inUse());
    isDone = await Promise.race([done, sleep(performance.now() - before).then(() => false)]);
  }
  return peak;
}

/** What is in use once all has been freed that takes its time: buffers of sockets, and what is freed with them. */
async function settled(): Promise<number> {
  let least = Infinity;
  for (let turn = 0; turn < 5; turn += 1) {
    await sleep(50);
    least = Math.min(least, inUse());
  }
  return least;
}

function inUse(): number {
  // What garbage in the heap held outside it goes with the second collection only.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function main(probing: Probing): Promise<void> {
  const client = new StationClient(probing.settings);
  const result = probing.measure === 'gaps' ? await gaps(client, probing) : await memory(client, probing);
  await client.close();
  process.send?.(result);
  process.disconnect();
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '') as Probing);
