import assert from 'node:assert/strict';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATH, PHRASE, webhookIn } from '../test/support/node-red/flows';
import { entrance, inject, NodeRed } from '../test/support/node-red/node-red';
import { caller } from '../test/support/node-red/station-flow';
import { functionNode } from './counting-node-red';
import { deviceFlow } from './device-flow';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { PagedService } from './paged-service';
import { percentile } from './side-by-side';

interface Size {
  devices: number;
  rounds: number;
  /** Of each round. */
  seconds: Record<Kind, number>;
}
const SIZES: Record<Scale, Size> = {
  full: { devices: 20_000, rounds: 8, seconds: { refresh: 6, idle: 2, message: 2 } },
  quick: { devices: 1_000, rounds: 1, seconds: { refresh: 1, idle: 1, message: 1 } },
};
const PAGE_SIZE = 100;
const EVENTS_PER_SECOND = 200;
/** In a hundred; each goes back to what it was at the next refresh. */
const CHANGING = 0.5;

/** A refresh, as long without one, or a refresh with a message that gets a copy of all devices. */
type Kind = 'refresh' | 'idle' | 'message';

/** All turns of the event loop in one of those; in milliseconds. */
interface Turns {
  wall: number[];
  /** What the thread has worked in them. */
  cpu: number[];
}

interface Seen {
  turns: Turns[];
  /** Milliseconds from the last byte of an event to its answer. */
  answers: number[];
}

/**
 * B8: how long the event loop stands still while all devices are asked for again, one refresh after the other, and events
 * arrive. One device in a hundred is told in another state than the time before. A second Node-RED, with the same flow and
 * the same events but no refresh, shows what is the machine's; all are measured in turn. Beside it stands what it is where
 * each refresh ends with a message that gets a copy of all devices, which is up to a flow.
 */
export async function refreshBlocks(scale: Scale): Promise<Row[]> {
  const { devices, rounds, seconds } = SIZES[scale];
  const changing = (devices * CHANGING) / 100;
  const service = await PagedService.start({ devices, pageSize: PAGE_SIZE, changing });
  const load = new Load();
  const [busy, idle] = [await started(service), await started(service)];
  const refresh = async (entry: 'refresh' | 'message', count: number): Promise<Turns> => {
    const { count: told, ...turns } = await reported(busy, entry);
    assert.equal(told, count);
    return turns;
  };
  try {
    await refresh('message', devices);
    const seen: Record<Kind, Seen> = { refresh: nothing(), idle: nothing(), message: nothing() };
    for (let round = 0; round <= rounds; round += 1) {
      // In the first one code is compiled.
      const into = (kind: Kind): Seen => (round === 0 ? nothing() : seen[kind]);
      const windows = await underLoad(load, busy, seconds.refresh, () => refresh('refresh', changing));
      add(into('refresh'), windows);
      const pause = (1000 * seconds.refresh) / windows.turns.length;
      const quiet = (): Promise<Turns> => sleep(pause).then(() => reported(idle, 'tell'));
      add(into('idle'), await underLoad(load, idle, seconds.idle, quiet));
      add(into('message'), await underLoad(load, busy, seconds.message, () => refresh('message', devices)));
    }
    return [row(devices, seen)];
  } finally {
    await load.stop();
    await busy.stopAndRemove();
    await idle.stopAndRemove();
    await service.stop();
  }
}

async function started(service: PagedService): Promise<NodeRed> {
  const driver = JSON.stringify(path.join(__dirname, 'turn-driver.js'));
  const nodeRed = await NodeRed.start({
    settings: `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: { driver: require(${driver})() },`,
  });
  await nodeRed.deploy(
    deviceFlow(
      service,
      webhookIn({ wires: [[], [], []] }),
      ...entrance('refresh', 'list'),
      caller('rvm-list-devices', { id: 'list', fresh: true, show: 'not-online', wires: [['report'], []] }),
      ...entrance('message', 'list-all'),
      caller('rvm-list-devices', { id: 'list-all', fresh: true, wires: [['report'], []] }),
      ...entrance('tell', 'report'),
      functionNode('report', `global.get('driver').report(msg.payload?.length);`),
    ),
  );
  return nodeRed;
}

/** What the driver tells when a message has gone through: all turns since the last time. */
async function reported(nodeRed: NodeRed, entry: string): Promise<Turns & { count?: number }> {
  const before = nodeRed.at('turns').length;
  await inject(nodeRed, entry, {});
  await nodeRed.until(() => nodeRed.at('turns').length > before, 'the turns', 60);
  return nodeRed.at('turns')[before] as unknown as Turns & { count?: number };
}

/** Does the work again and again while events arrive. */
async function underLoad(
  load: Load,
  nodeRed: NodeRed,
  seconds: number,
  work: () => Promise<Turns>,
): Promise<Seen> {
  await load.prepare({ count: EVENTS_PER_SECOND * seconds, path: PATH, phrase: PHRASE });
  // What came before is not measured.
  await reported(nodeRed, 'tell');
  const turns: Turns[] = [];
  const paced = { isOver: false };
  const report = load.pace({ port: nodeRed.port, rate: EVENTS_PER_SECOND });
  // A failure is told below, once the work under way has ended.
  report.catch(() => undefined).finally(() => (paced.isOver = true));
  while (!paced.isOver) turns.push(await work());
  return { turns, answers: (await report).times };
}

function nothing(): Seen {
  return { turns: [], answers: [] };
}

function add(sum: Seen, { turns, answers }: Seen): void {
  sum.turns.push(...turns);
  sum.answers.push(...answers);
}

function row(devices: number, seen: Record<Kind, Seen>): Row {
  const longest = longestOf(seen.refresh, 'wall');
  return {
    id: 'B8',
    measured: `longest block while ${devices} devices refresh and ${EVENTS_PER_SECOND} events/s arrive: p99`,
    against: '-',
    figure: { median: percentile(longest, 0.99), low: Math.min(...longest), high: Math.max(...longest) },
    unit: 'ms',
    target: { atMost: 20 },
    seen: {
      ...prefixed('refresh', figuresOf(seen.refresh)),
      ...prefixed('idle', figuresOf(seen.idle)),
      ...prefixed('withMessageOfAll', figuresOf(seen.message)),
    },
  };
}

/** The longest turn of each window. */
function longestOf({ turns }: Seen, kind: keyof Turns): number[] {
  return turns.map((window) => Math.max(...window[kind]));
}

function figuresOf(seen: Seen): Record<string, number> {
  const longest = longestOf(seen, 'wall');
  const all = seen.turns.flatMap(({ wall }) => wall);
  return {
    times: longest.length,
    longestMedianMs: percentile(longest, 0.5),
    longestP99Ms: percentile(longest, 0.99),
    longestCpuP99Ms: percentile(longestOf(seen, 'cpu'), 0.99),
    turnP999Ms: percentile(all, 0.999),
    answerP99Ms: percentile(seen.answers, 0.99),
  };
}

function prefixed(prefix: string, figures: Record<string, number>): Record<string, number> {
  const named = ([name, figure]: [string, number]): [string, number] => [
    `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    figure,
  ];
  return Object.fromEntries(Object.entries(figures).map(named));
}
