import type { FlowNode, NodeRed } from '../test/support/node-red/node-red';
import { functionNode } from './counting-node-red';

const COLLECT_AND_TELL = `v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');
collect();
collect();
msg.payload = { megabytes: process.memoryUsage().rss / 1e6 };
return msg;`;

/** The part of a flow that tells the memory of its process. */
export const MEMORY: readonly FlowNode[] = [
  { id: 'memory', type: 'http in', z: 'tab', url: '/memory', method: 'get', wires: [['measure']] },
  functionNode('measure', COLLECT_AND_TELL, {
    libs: ['v8', 'vm', 'process'].map((name) => ({ var: name, module: name })),
    wires: [['told']],
  }),
  { id: 'told', type: 'http response', z: 'tab', statusCode: '', headers: {}, wires: [] },
];

/** Resident memory of a Node-RED whose flow has `MEMORY`, after a collection of garbage, in megabytes. */
export async function megabytesOf(nodeRed: NodeRed): Promise<number> {
  const response = await fetch(`${nodeRed.url}/memory`);
  const { megabytes } = (await response.json()) as { megabytes: number };
  return megabytes;
}
