import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { alarmMessage } from '../test/support/webhook/alarm-message';
import { cloud, PATH, PHRASE, station, webhookIn } from '../test/support/node-red/flows';
import { NodeRed, type FlowNode } from '../test/support/node-red/node-red';
import { COUNTER, CountingNodeRed, TAB } from './counting-node-red';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { cpuOfMainThread } from './process-figures';
import { sideBySide, type Comparison } from './side-by-side';
import { deliveredPerSecond } from './webhook-rate';

interface Size {
  /** Genuine events of a round. */
  events: number;
  /** Large forgeries of a round. */
  forgeries: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 5000, forgeries: 6, rounds: 7 },
  quick: { events: 200, forgeries: 2, rounds: 1 },
};
const STATIONS = 50;
const MIB = 1024 * 1024;
/** Between two forgeries, in milliseconds: of more than two in a second the third is cut unread. */
const PAUSE = 600;
/** As `alarmMessage` names it. */
const AGENT_USER = '0b9f1c52-6a53-4e0f-9b0a-1f6a0c7d1e11';

/**
 * B13: what it costs the main thread to prove a genuine event on a path that many Central Stations share, whether their Agent
 * Users are configured or not; and to refuse a large forgery, by its signature and by its token.
 */
export async function costOfProof(scale: Scale): Promise<Row[]> {
  const size = SIZES[scale];
  const load = new Load();
  try {
    return [
      shared('their Agent Users configured', await compare(load, size, manyStations(true))),
      shared('no Agent User configured', await compare(load, size, manyStations(false))),
      forged('its signature, 50 stations', await refusals(size, 'http')),
      forged('its token, 50 stations', await refusals(size, 'https')),
    ];
  } finally {
    await load.stop();
  }
}

/** The last of them has the phrase that proves the events. */
function manyStations(areConfigured: boolean, scheme = 'http'): FlowNode[] {
  return Array.from({ length: STATIONS }, (_, place) => {
    const isLast = place === STATIONS - 1;
    const other = `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`;
    return station({
      // Not its key, which Node-RED would take for a reference to itself.
      id: `central-station-${place}`,
      name: `Station ${place}`,
      key: `station-${place}`,
      scheme,
      agentUserId: areConfigured ? (isLast ? AGENT_USER : other) : '',
      credentials: { secret: isLast ? PHRASE : `phrase of station ${place}` },
    });
  });
}

/** One path of all these stations. */
function flow(stations: readonly FlowNode[]): FlowNode[] {
  const webhook = webhookIn({ station: '', cloud: 'cloud', wires: [['counter'], [], []] });
  return [TAB, cloud(), ...stations, webhook, COUNTER];
}

async function compare(load: Load, { events, rounds }: Size, stations: FlowNode[]): Promise<Comparison> {
  const many = await CountingNodeRed.start(events, flow(stations));
  const one = await CountingNodeRed.start(events, flow(stations.slice(-1)));
  const ofAnEvent = (server: CountingNodeRed): Promise<number> =>
    microseconds(server.nodeRed, events, () => deliveredPerSecond(load, server, server.nodeRed.port));
  try {
    return await sideBySide(rounds, { ours: () => ofAnEvent(many), other: () => ofAnEvent(one) });
  } finally {
    await many.nodeRed.stopAndRemove();
    await one.nodeRed.stopAndRemove();
  }
}

/** What the main thread works for each, beside what it works in as long a time without. */
async function refusals({ forgeries, rounds }: Size, scheme: 'http' | 'https'): Promise<Comparison> {
  const nodeRed = await NodeRed.start({ settings: '' });
  const body = forgery();
  const refuse = async (): Promise<void> => assert.equal(await posted(nodeRed.port, body), 401);
  const each = (act: () => Promise<void>): Promise<number> =>
    microseconds(nodeRed, forgeries, async () => {
      for (let count = 0; count < forgeries; count += 1) {
        await act();
        await sleep(PAUSE);
      }
    });
  try {
    await nodeRed.deploy(flow(manyStations(true, scheme)));
    return await sideBySide(rounds, { ours: () => each(refuse), other: () => each(async () => undefined) });
  } finally {
    await nodeRed.stopAndRemove();
  }
}

/** All that its JSON can ask for: containers and keys, up to the last byte that is taken. */
function forgery(): Buffer {
  const message = alarmMessage({}, { authenticationToken: 'no phrase of anybody' });
  const head = Buffer.from(`${JSON.stringify(message).slice(0, -1)},"filler":[`);
  const item = '{"a":[],"b":"c"},';
  const items = item.repeat(Math.floor((MIB - head.length - 3) / item.length));
  return Buffer.concat([head, Buffer.from(`${items}0]}`)]);
}

function posted(port: number, body: Buffer): Promise<number | undefined> {
  const headers = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=`, 'Content-Length': body.length };
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', path: PATH, method: 'POST', headers });
    request.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** What the main thread has worked for each of so many. */
async function microseconds(nodeRed: NodeRed, count: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuOfMainThread(nodeRed.pid);
  await work();
  return (cpuOfMainThread(nodeRed.pid) - before) / 1000 / count;
}

function shared(which: string, { ratio, ours, other }: Comparison): Row {
  return {
    id: 'B13',
    measured: `a genuine event on a path with ${STATIONS} stations, ${which}: CPU of the main thread`,
    against: 'with one station',
    figure: ratio,
    unit: 'x',
    target: { atMost: 1.3 },
    seen: { manyMicroseconds: ours.median, oneMicroseconds: other.median },
  };
}

function forged(by: string, { difference, other }: Comparison): Row {
  const { median, low, high } = difference;
  return {
    id: 'B13',
    measured: `a forged body of 1 MiB, refused by ${by}: CPU of the main thread`,
    against: 'as long a time without',
    figure: { median: median / 1000, low: low / 1000, high: high / 1000 },
    unit: 'ms',
    target: { atMost: 10 },
    seen: { withoutMicroseconds: other.median },
  };
}
