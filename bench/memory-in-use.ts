import assert from 'node:assert/strict';
import { Sandbox } from '../sandbox';
import { cloud, PHRASE, station } from '../test/support/node-red/flows';
import { entrance, inject, type FlowNode, type NodeRed } from '../test/support/node-red/node-red';
import { CountingNodeRed, functionNode, webhookInFlow } from './counting-node-red';
import { Load } from './load/load';
import { megabytesOf, MEMORY } from './memory';
import { deliveredPerSecond } from './webhook-rate';

/** A Node-RED to which events come. */
export interface Use {
  flow: readonly FlowNode[];
  withoutPackage?: boolean;
  /** What it does before. */
  first?: (nodeRed: NodeRed) => Promise<void>;
}

/** Resident memory when so many events have just come as fast as it could take them, in megabytes. */
export async function megabytesAfterEvents(
  events: number,
  { flow, first, ...options }: Use,
): Promise<number> {
  const user = await CountingNodeRed.start(events, [...flow, ...MEMORY], options);
  const load = new Load();
  try {
    await first?.(user.nodeRed);
    await deliveredPerSecond(load, user, user.nodeRed.port);
    return await megabytesOf(user.nodeRed);
  } finally {
    await load.stop();
    await user.nodeRed.stopAndRemove();
  }
}

/** The same of *webhook in* and a station that is logged in at a service on this machine, and has listed its cameras. */
export async function megabytesOfStation(events: number): Promise<number> {
  const sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
  const { username, password } = sandbox.setStation('north', { scheme: 'http' });
  const configured = [
    cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials: { username, password, secret: PHRASE } }),
  ];
  const flow = webhookInFlow().map((node) => configured.find(({ id }) => id === node.id) ?? node);
  try {
    return await megabytesAfterEvents(events, { flow: [...flow, ...LIST_DEVICES], first: listDevices });
  } finally {
    await sandbox.close();
  }
}

const LIST_DEVICES: readonly FlowNode[] = [
  ...entrance('list', 'devices').map((node) => ({ ...node, z: 'tab' })),
  {
    id: 'devices',
    type: 'rvm-list-devices',
    z: 'tab',
    station: 'station',
    x: 0,
    y: 0,
    wires: [['listed'], ['listed']],
  },
  functionNode('listed', `process.send({ probe: 'listed', msg: { devices: msg.payload.length } });`, {
    libs: [{ var: 'process', module: 'process' }],
  }),
];

async function listDevices(nodeRed: NodeRed): Promise<void> {
  await inject(nodeRed, 'list', {});
  const { devices } = await nodeRed.message('listed');
  assert.ok(Number(devices) > 0, 'no camera was listed');
}
