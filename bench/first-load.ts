import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { entrance, inject, NodeRed, probe } from '../test/support/node-red/node-red';
import { caller } from '../test/support/node-red/station-flow';
import { functionNode } from './counting-node-red';
import { deviceFlow } from './device-flow';
import type { Row, Scale } from './measurement';
import { PagedService } from './paged-service';
import { sideBySide, type Comparison } from './side-by-side';

interface Size {
  devices: number;
  rounds: Record<Measured, number>;
}
/** Memory differs little from round to round. */
const SIZES: Record<Scale, Size> = {
  full: { devices: 20_000, rounds: { load: 9, message: 5, bytes: 3 } },
  quick: { devices: 1_000, rounds: { load: 1, message: 1, bytes: 1 } },
};
const PAGE_SIZE = 100;
const MB = 1_000_000;
const AGAINST = 'bare fetch of the same pages and JSON.parse';

/** The time of the load, the time until a message has all devices, or the memory that the load has taken. */
type Measured = 'load' | 'message' | 'bytes';

/**
 * B7: the first load of the devices, and the memory that it takes. Each load is the first one of a process of its own, for
 * both sides, after the requests of a login: modules are loaded, but no code that reads pages has been compiled. Ours is
 * measured from a message into *list devices* to the one out of it, in Node-RED. That message asks for the cameras that are
 * not online, of which there are none: at its start, Node-RED loads the list without any message. How long it takes to
 * hand a copy of all devices to a flow, too, stands beside it.
 */
export async function firstLoad(scale: Scale): Promise<Row[]> {
  const { devices, rounds } = SIZES[scale];
  const service = await PagedService.start({ devices, pageSize: PAGE_SIZE });
  const compared = (measured: Measured): Promise<Comparison> =>
    sideBySide(rounds[measured], {
      ours: () => inNodeRed(service, measured, devices),
      other: () => bare(service, measured, devices),
    });
  try {
    const [load, message, bytes] = [
      await compared('load'),
      await compared('message'),
      await compared('bytes'),
    ];
    const measured = `first load of ${devices} devices, none handed to the flow`;
    return [
      {
        id: 'B7',
        measured: `${measured}: time`,
        against: AGAINST,
        figure: load.ratio,
        unit: 'x',
        target: { atMost: 1.3 },
        seen: {
          oursMs: load.ours.median,
          otherMs: load.other.median,
          withMessageOfAllMs: message.ours.median,
          withMessageOfAllRatio: message.ratio.median,
        },
      },
      {
        id: 'B7',
        measured: `${measured}: memory afterwards`,
        against: AGAINST,
        figure: bytes.ratio,
        unit: 'x',
        target: { atMost: 2 },
        seen: { oursMB: bytes.ours.median / MB, otherMB: bytes.other.median / MB },
      },
    ];
  } finally {
    await service.stop();
  }
}

async function inNodeRed(service: PagedService, measured: Measured, devices: number): Promise<number> {
  const driver = JSON.stringify(path.join(__dirname, 'first-load-driver.js'));
  const nodeRed = await NodeRed.start({
    settings: `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    driver: require(${driver})('${measured}'),
    probe: (probe) => process.send({ probe, msg: {} }),
  },`,
  });
  const wanted = measured === 'message' ? { show: 'all', count: devices } : { show: 'not-online', count: 0 };
  try {
    await nodeRed.deploy(
      deviceFlow(
        service,
        ...entrance('log-in', 'request'),
        // Nodes that a station is chosen in load the list at their start; these wait for a message that names one.
        caller('rvm-request', { id: 'request', station: '', wires: [['logged-in'], []] }),
        probe('logged-in'),
        ...entrance('load', 'begin'),
        functionNode('begin', `global.get('driver').begin(msg, node.send.bind(node));`, {
          wires: [['list']],
        }),
        caller('rvm-list-devices', { id: 'list', station: '', show: wanted.show, wires: [['end'], []] }),
        functionNode('end', `global.get('driver').end(msg);`),
      ),
    );
    await inject(nodeRed, 'log-in', { station: 'north' });
    await nodeRed.message('logged-in');
    await inject(nodeRed, 'load', { station: 'north' });
    const loaded = await nodeRed.message('loaded', () => true, 60);
    assert.equal(loaded['count'], wanted.count);
    return Number(loaded['figure']);
  } finally {
    await nodeRed.stopAndRemove();
  }
}

async function bare(service: PagedService, measured: Measured, devices: number): Promise<number> {
  const child = fork(path.join(__dirname, 'bare-paging.js'), [service.url, measured]);
  const [{ figure, count }] = (await once(child, 'message')) as [{ figure: number; count: number }];
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(count, devices);
  return figure;
}
