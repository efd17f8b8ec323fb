import { PATH, PHRASE } from '../test/support/node-red/flows';
import { freePort } from '../test/support/node-red/node-red';
import { BareServer } from './bare-server';
import { CountingNodeRed, webhookInFlow } from './counting-node-red';
import { handWiredFlow, KEEPING, keepingFlow } from './hand-wired-flow';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { sideBySide, type Comparison } from './side-by-side';

const CONNECTIONS = 32;

interface Size {
  /** Events of a round. */
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 10_000, rounds: 7 },
  quick: { events: 500, rounds: 1 },
};

/** B1: *webhook in* on the server of Node-RED, against a flow that is wired by hand. */
export async function rateOnNodeRed(scale: Scale): Promise<Row[]> {
  const comparison = await ratesOf(scale, {
    ours: (events) => CountingNodeRed.start(events, webhookInFlow()),
    other: (events) => CountingNodeRed.start(events, handWiredFlow(), { withoutPackage: true }),
  });
  const against = 'http in, function with HMAC, http response; nothing stored';
  return [rateRow('B1', "webhook in on Node-RED's server: events per second", against, comparison, 0.8)];
}

/** Where a built checkout of the package stands that keeps no history of events yet. */
const FORMER = 'RVM_BENCH_FORMER';

/** B14: B1 with metrics served and the history of each event kept, against a package that does neither. */
export async function rateWithHistory(scale: Scale): Promise<Row[]> {
  const former = process.env[FORMER];
  const metrics = `rvmMetrics: { port: ${await freePort()}, host: '127.0.0.1' },`;
  const comparison = await ratesOf(scale, {
    ours: (events) => CountingNodeRed.start(events, webhookInFlow(), { rootSettings: metrics }),
    other: (events) =>
      CountingNodeRed.start(events, webhookInFlow(), former === undefined ? {} : { packageRoot: former }),
  });
  const against = former === undefined ? 'without metrics' : 'a version with neither';
  return [rateRow('B14', 'B1 with metrics served and histories kept', against, comparison, 0.95)];
}

/** B1b: the same against a flow that is wired by hand, and keeps each event before it is answered. */
export async function rateOfKeeping(scale: Scale): Promise<Row[]> {
  const comparison = await ratesOf(scale, {
    ours: (events) => CountingNodeRed.start(events, webhookInFlow()),
    other: (events) =>
      CountingNodeRed.start(events, keepingFlow(), { withoutPackage: true, settings: KEEPING }),
  });
  const against = 'http in, function with HMAC and an insert into SQLite, http response';
  return [rateRow('B1b', "webhook in on Node-RED's server: events per second", against, comparison, 3)];
}

/** Starts one that counts so many events. */
type Start = (events: number) => Promise<CountingNodeRed>;

/** Events that two Node-RED, each on its own server, take a second. */
export async function ratesOf(scale: Scale, start: { ours: Start; other: Start }): Promise<Comparison> {
  const { events, rounds } = SIZES[scale];
  const ours = await start.ours(events);
  const other = await start.other(events);
  const load = new Load();
  try {
    return await sideBySide(rounds, {
      ours: () => deliveredPerSecond(load, ours, ours.nodeRed.port),
      other: () => deliveredPerSecond(load, other, other.nodeRed.port),
    });
  } finally {
    await load.stop();
    await ours.nodeRed.stopAndRemove();
    await other.nodeRed.stopAndRemove();
  }
}

/** B2: *webhook in* on a listener of its own, against a bare server. */
export async function rateOnListener(scale: Scale): Promise<Row[]> {
  const { events, rounds } = SIZES[scale];
  const port = await freePort();
  const listener = { id: 'listener', type: 'rvm-listener', port: String(port), host: '127.0.0.1' };
  const ours = await CountingNodeRed.start(events, webhookInFlow({ listener: listener.id }, listener));
  const bare = await BareServer.start(PHRASE);
  const load = new Load();
  try {
    const comparison = await sideBySide(rounds, {
      ours: () => deliveredPerSecond(load, ours, port),
      other: async () => perSecond(events, await flooded(load, events, bare.port)),
    });
    const against = 'node:http that verifies, parses and answers; nothing stored';
    return [rateRow('B2', 'webhook in on its own listener: events per second', against, comparison, 0.6)];
  } finally {
    await load.stop();
    await ours.nodeRed.stopAndRemove();
    await bare.stop();
  }
}

/** From the first byte that is sent until the last event is with the flow. */
export async function deliveredPerSecond(load: Load, server: CountingNodeRed, port: number): Promise<number> {
  const { from, until } = await flooded(load, server.count, port);
  const delivered = await server.lastDelivered();
  return perSecond(server.count, { from, until: delivered > until ? delivered : until });
}

async function flooded(load: Load, count: number, port: number): Promise<{ from: bigint; until: bigint }> {
  await load.prepare({ count, path: PATH, phrase: PHRASE });
  return load.flood({ port, connections: CONNECTIONS });
}

function perSecond(events: number, { from, until }: { from: bigint; until: bigint }): number {
  return (events * 1e9) / Number(until - from);
}

/** A row that compares rates. */
export function rateRow(
  id: string,
  measured: string,
  against: string,
  comparison: Comparison,
  atLeast: number,
): Row {
  const { ratio, ours, other } = comparison;
  const seen = { oursPerSecond: ours.median, otherPerSecond: other.median };
  return { id, measured, against, figure: ratio, unit: 'x', target: { atLeast }, seen };
}
