import assert from 'node:assert/strict';
import { codeOf, functionNode, node } from '../support/node-red/alarms-through';
import { cloud, station } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, watched, type FlowNode } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';

/** Nodes that messages go into, by type, and how each is set so that it reads them. */
const NODES: Record<string, Record<string, unknown>> = {
  ...Object.fromEntries(
    ['get-picture', 'get-clip', 'view', 'get-rtsp', 'get-device', 'ptz', 'snapshot', 'settle', 'verify'].map(
      (name) => [`rvm-${name}`, {}],
    ),
  ),
  'rvm-list-devices': { search: 'payload', searchType: 'msg' },
  'rvm-request': { start: 'device' },
  'rvm-list-events': { since: 'payload', sinceType: 'msg' },
  // Node-RED evaluates an expression in a later turn, in which nobody catches.
  'rvm-list-events--jsonata': { since: 'payload.time', sinceType: 'jsonata' },
  'rvm-get-rtsp--jsonata': { camera: 'payload.camera', cameraType: 'jsonata', mode: 'live' },
};

const ODD: Record<string, string> = {
  'a getter that throws':
    "for (const name of ['event', 'payload', 'webhook']) Object.defineProperty(msg, name, { enumerable: true, get() { throw new Error('no'); } }); return msg;",
  'a getter or Proxy within that throws': `
    const no = () => { throw new Error('no'); };
    const inner = { get cameraId() { return no(); }, get deliveryId() { return no(); } };
    const proxy = new Proxy({}, { ownKeys: no, get: no });
    return Object.assign(msg, { event: inner, webhook: inner, payload: proxy, headers: proxy });`,
  'a getter whose error throws, too': `
    const error = Object.defineProperty(new Error(), 'message', { get() { throw new Error('no'); } });
    const no = { enumerable: true, get() { throw error; } };
    for (const name of ['event', 'payload', 'webhook']) Object.defineProperty(msg, name, no);
    return msg;`,
};

const TIMES: Record<string, string> = {
  'a Symbol': 'Symbol()',
  'an object without a prototype': 'Object.create(null)',
  'what never keeps its promise': '{ then() {} }',
};

for (const version of NODE_RED_VERSIONS)
  describe(`a message that no node can work with, in Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version }, flow);

    async function isBadInput(entry: string): Promise<void> {
      const [before, logged] = [nodeRed.at('caught').length, nodeRed.log.length];
      await inject(nodeRed, entry, {});
      // Catch nodes cannot be given what throws whenever it is read; then the log tells.
      const logOf = /(BAD_INPUT): a message cannot be used/;
      const codes = (): string[] => [
        ...nodeRed.at('caught').slice(before).map(codeOf),
        ...(logOf.exec(nodeRed.log.slice(logged))?.slice(1) ?? []),
      ];
      await nodeRed.until(() => codes().length > 0, 'the error');
      assert.deepEqual(codes(), ['BAD_INPUT']);
      assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
    }

    for (const type of Object.keys(NODES))
      for (const [odd, what] of Object.keys(ODD).entries())
        it(`for it holds ${what}, is BAD_INPUT at ${type}, and Node-RED goes on`, () =>
          isBadInput(`${type}-${odd}`));

    for (const [time, what] of Object.keys(TIMES).entries())
      it(`for it holds ${what} as a time, is BAD_INPUT at rvm-list-events`, () => isBadInput(`time-${time}`));
  });

function flow(): FlowNode[] {
  const nodes = Object.entries(NODES).flatMap(([id, properties]): FlowNode[] => [
    node(id.split('--')[0] ?? '', { id, station: 'station', ...properties, wires: [['result'], []] }),
    ...Object.values(ODD).flatMap((func, odd) => made(`${id}-${odd}`, func, id)),
  ]);
  const times = Object.values(TIMES).flatMap((time, index) =>
    made(`time-${index}`, `msg.payload = ${time}; return msg;`, 'rvm-list-events'),
  );
  return watched(cloud(), station(), probe('result'), ...nodes, ...times);
}

function made(id: string, func: string, target: string): FlowNode[] {
  return [...entrance(id, `${id}-made`), functionNode(`${id}-made`, func, target)];
}
