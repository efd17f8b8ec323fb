import assert from 'node:assert/strict';
import path from 'node:path';
import { cloud, station } from '../test/support/node-red/flows';
import { NodeRed, type FlowNode } from '../test/support/node-red/node-red';
import type { Row, Scale } from './measurement';
import { sideBySide, type Comparison } from './side-by-side';
import { VideoService } from './video-service';

const CAMERAS = 200;
const PALETTE = path.join(__dirname, 'palette');
const AGAINST = 'bare undici POST through a cookie agent';

interface Size {
  /** Messages of a round, one at a time and many at a time. */
  single: number;
  many: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { single: 4000, many: 20_000, rounds: 9 },
  quick: { single: 200, many: 1000, rounds: 1 },
};

/** B4: *get RTSP* with warm caches, one message at a time. */
export async function timeOneAtATime(scale: Scale): Promise<Row[]> {
  const { single, rounds } = SIZES[scale];
  const { ratio, ours, other } = await compared(rounds, { count: single, width: 1 });
  return [
    {
      id: 'B4',
      measured: 'get RTSP, warm, one at a time: time of a message',
      against: AGAINST,
      figure: ratio,
      unit: 'x',
      target: { atMost: 1.2 },
      seen: { oursMicroseconds: ours.median, otherMicroseconds: other.median },
    },
  ];
}

/** B5: the same, 64 messages at a time. */
export async function rateManyAtATime(scale: Scale): Promise<Row[]> {
  const { many, rounds } = SIZES[scale];
  const { ratio, ours, other } = await compared(rounds, { count: many, width: 64 });
  return [
    {
      id: 'B5',
      measured: 'get RTSP, warm, 64 at a time: messages per second',
      against: AGAINST,
      figure: ratio,
      unit: 'x',
      target: { atLeast: 0.8 },
      seen: { oursPerSecond: ours.median, otherPerSecond: other.median },
    },
  ];
}

async function compared(rounds: number, load: { count: number; width: number }): Promise<Comparison> {
  const service = await VideoService.start({ cameras: CAMERAS });
  const nodeRed = await NodeRed.start({ settings: SETTINGS });
  try {
    await nodeRed.deploy(flow(service));
    return await sideBySide(rounds, {
      ours: () => round(nodeRed, 'node', load),
      other: () => round(nodeRed, 'bare', load),
    });
  } finally {
    await nodeRed.stopAndRemove();
    await service.stop();
  }
}

async function round(
  nodeRed: NodeRed,
  side: 'node' | 'bare',
  { count, width }: { count: number; width: number },
): Promise<number> {
  const response = await fetch(`${nodeRed.url}/round?side=${side}&count=${count}&width=${width}`);
  assert.equal(response.status, 200, nodeRed.log.slice(-3000));
  const { figure } = (await response.json()) as { figure: number };
  return figure;
}

/** The log of a production, and the node that measures. */
const SETTINGS = `logging: { console: { level: 'info', metrics: false, audit: false } },
  nodesDir: ${JSON.stringify(PALETTE)},`;

function flow({ url, cameras }: VideoService): FlowNode[] {
  return [
    { id: 'tab', type: 'tab', label: 'benchmark' },
    cloud({ url, deviceRefresh: 0 }),
    station(),
    { id: 'driver', type: 'rtsp-driver', z: 'tab', url, cameras, target: 'video', wires: [] },
    {
      id: 'video',
      type: 'rvm-get-rtsp',
      z: 'tab',
      station: 'station',
      mode: 'event',
      wires: [['driver'], ['driver']],
    },
  ];
}
