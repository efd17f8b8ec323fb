import assert from 'node:assert/strict';
import { cloud, station } from '../support/node-red/flows';
import { entrance, inject, NodeRed, probe, watched, type FlowNode } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';

/** Nodes that messages go into, and how each is set so that it reads them. */
const NODES: Record<string, Record<string, unknown>> = {
  'rvm-get-rtsp': {},
  'rvm-list-devices': { search: 'payload', searchType: 'msg' },
  'rvm-get-device': {},
  'rvm-ptz': {},
  'rvm-snapshot': {},
  'rvm-request': { start: 'device' },
  'rvm-settle': {},
  'rvm-list-events': { since: 'payload', sinceType: 'msg' },
  'rvm-verify': {},
};

/** What a function node may make of a message, and hand on. */
const ODD: Record<string, string> = {
  'a getter that throws':
    "for (const name of ['event', 'payload', 'webhook']) Object.defineProperty(msg, name, { enumerable: true, get() { throw new Error('no'); } }); return msg;",
  'a getter or Proxy within that throws': `
    const no = () => { throw new Error('no'); };
    const inner = { get cameraId() { return no(); }, get deliveryId() { return no(); } };
    const proxy = new Proxy({}, { ownKeys: no, get: no });
    return Object.assign(msg, { event: inner, webhook: inner, payload: proxy, headers: proxy });`,
};

for (const version of NODE_RED_VERSIONS) {
  describe(`a message that no node can work with, in Node-RED ${version}`, () => {
    let nodeRed: NodeRed;

    before(async () => {
      nodeRed = await NodeRed.start({ version });
      await nodeRed.deploy(flow());
    });
    after(() => nodeRed.stopAndRemove());

    for (const type of Object.keys(NODES))
      for (const [odd, what] of Object.keys(ODD).entries())
        it(`for it holds ${what}, is BAD_INPUT at ${type}, and Node-RED goes on`, async () => {
          const [before, logged] = [nodeRed.at('caught').length, nodeRed.log.length];
          await inject(nodeRed, `${type}-${odd}`, {});
          // Catch nodes cannot be given what throws whenever it is read; then the log tells.
          const codes = (): string[] => [
            ...nodeRed
              .at('caught')
              .slice(before)
              .map(({ error }) => String((error as { code?: string }).code)),
            ...(/(BAD_INPUT): a message cannot be used/.exec(nodeRed.log.slice(logged))?.slice(1) ?? []),
          ];
          await nodeRed.until(() => codes().length > 0, 'the error');
          assert.deepEqual(codes(), ['BAD_INPUT']);
          assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
        });
  });
}

function flow(): FlowNode[] {
  const place = { z: 'tab', x: 0, y: 0 };
  const nodes = Object.entries(NODES).flatMap(([type, properties]): FlowNode[] => [
    { id: type, type, station: 'station', name: '', ...place, ...properties, wires: [['result'], []] },
    ...Object.values(ODD).flatMap((func, odd): FlowNode[] => [
      ...entrance(`${type}-${odd}`, `${type}-odd-${odd}`),
      {
        id: `${type}-odd-${odd}`,
        type: 'function',
        name: '',
        func,
        outputs: 1,
        libs: [],
        ...place,
        wires: [[type]],
      },
    ]),
  ]);
  return watched(cloud(), station(), probe('result'), ...nodes);
}
