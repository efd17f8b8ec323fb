import { setTimeout as delay } from 'node:timers/promises';
import type { FlowNode } from '../test/support/node-red/node-red';
import { TAB } from './counting-node-red';
import { handWiredFlow } from './hand-wired-flow';
import { installedSize, MOST_ON_DISK } from './installed-size';
import type { Row, Scale } from './measurement';
import { megabytesOf, MEMORY } from './memory';
import { megabytesAfterEvents, megabytesOfStation } from './memory-in-use';
import { Restarts } from './restarts';
import { sideBySide, type Comparison } from './side-by-side';

interface Size {
  starts: number;
  /** Processes whose memory is looked at. */
  processes: number;
  /** Events that have come to one in use. */
  events: number;
}
const SIZES: Record<Scale, Size> = {
  full: { starts: 12, processes: 5, events: 5000 },
  quick: { starts: 1, processes: 1, events: 200 },
};

/** After the start, until the memory is looked at, in milliseconds. */
const SETTLED = 1000;
/** Nothing but what tells the memory. */
const IDLE: readonly FlowNode[] = [TAB, ...MEMORY];

/** B11: what the package costs a Node-RED that has it and does not use it, and one that does. */
export async function footprint(scale: Scale): Promise<Row[]> {
  const { starts, processes, events } = SIZES[scale];
  return [...(await unused(starts, processes)), installed(), await used(processes, events)];
}

async function unused(starts: number, processes: number): Promise<Row[]> {
  const ours = await Restarts.prepare(IDLE);
  const plain = await Restarts.prepare(IDLE, { withoutPackage: true });
  try {
    const start = await sideBySide(starts, {
      ours: () => ours.secondsUntil('started'),
      other: () => plain.secondsUntil('started'),
    });
    const memory = await sideBySide(processes, {
      ours: () => megabytesAfterStart(ours),
      other: () => megabytesAfterStart(plain),
    });
    const against = 'the same without the package';
    return [
      row('a start with all nodes loaded, none used: more time', against, start, 's', 0.25),
      row('all nodes loaded, none used: more memory (RSS)', against, memory, 'MB', 20),
    ];
  } finally {
    ours.remove();
    plain.remove();
  }
}

async function megabytesAfterStart(restarts: Restarts): Promise<number> {
  const nodeRed = await restarts.start();
  try {
    await delay(SETTLED);
    return await megabytesOf(nodeRed);
  } finally {
    await nodeRed.stop();
  }
}

/** Against the same events: they alone cost Node-RED more than the package does. */
async function used(processes: number, events: number): Promise<Row> {
  const comparison = await sideBySide(processes, {
    ours: () => megabytesOfStation(events),
    other: () => megabytesAfterEvents(events, { flow: handWiredFlow(), withoutPackage: true }),
  });
  const measured = `a station logged in, its cameras listed, and ${events} events through the inbox: more memory (RSS)`;
  const against = 'the same events without the package, by a flow that keeps nothing';
  return row(measured, against, comparison, 'MB', 80);
}

function installed(): Row {
  const { onDisk, files } = installedSize();
  return {
    id: 'B11',
    measured: 'installed with all that it needs: size on the disk (`du -sm`)',
    against: '-',
    figure: { median: onDisk, low: onDisk, high: onDisk },
    unit: 'MiB',
    target: { atMost: MOST_ON_DISK },
    seen: { filesMB: files },
  };
}

function row(
  measured: string,
  against: string,
  { difference, ours, other }: Comparison,
  unit: 's' | 'MB',
  atMost: number,
): Row {
  const name = unit === 's' ? 'Seconds' : 'MB';
  const seen = { [`ours${name}`]: ours.median, [`other${name}`]: other.median };
  return { id: 'B11', measured, against, figure: difference, unit, target: { atMost }, seen };
}
