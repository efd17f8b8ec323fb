import assert from 'node:assert/strict';
import { node, overviewOf } from '../support/node-red/alarms-through';
import { PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { freePort, NodeRed, type FlowNode } from '../support/node-red/node-red';
import { alarmMessage, post } from '../support/webhook/alarm-message';

describe('a post to a path that no webhook in has', () => {
  let nodeRed: NodeRed;
  let listenerPort: number;
  let flow: FlowNode[];
  before(async () => {
    nodeRed = await NodeRed.start({ settings: `httpNodeRoot: '/api',` });
    listenerPort = await freePort();
    flow = webhookFlow(
      {},
      { id: 'listener', type: 'rvm-listener', port: listenerPort, host: '127.0.0.1' },
      webhookIn({ id: 'behind', listener: 'listener', path: '/remote-monitoring/behind' }),
      node('http in', { url: '/remote-monitoring/own', method: 'post', wires: [['answer']] }),
      node('http response', { id: 'answer', statusCode: '204' }),
    );
    await nodeRed.deploy(flow);
    await nodeRed.logged(/Listening|listening/);
  });
  after(() => nodeRed.stopAndRemove());

  const unknown = async () => (await overviewOf(nodeRed)).unknownPaths;
  const lines = (path: string): number => nodeRed.log.split(`posts to ${path} on port`).length - 1;

  for (const [server, urlOf, path] of [
    ["Node-RED's server", () => nodeRed.url, '/api/remote-monitoring/typo'],
    ['a listener', () => `http://127.0.0.1:${listenerPort}`, '/remote-monitoring/typo'],
  ] as const) {
    it(`of ${server} is answered 404, told once in the log, and listed with count, port and sender`, async () => {
      for (let i = 0; i < 3; i += 1)
        assert.equal((await post(`${urlOf()}${path}?query=1`, alarmMessage(), PHRASE)).status, 404);
      const [found] = (await unknown()).filter((entry) => entry.path === path);
      const { lastTime, ...rest } = found ?? assert.fail();
      assert.ok(Date.parse(lastTime) > 0);
      const port = Number(new URL(urlOf()).port);
      assert.deepEqual(rest, { path, port, count: 3, lastAddress: '127.0.0.1' });
      await nodeRed.logged(new RegExp(`posts to ${path} on port ${port}`));
      assert.equal(lines(path), 1);
    });
  }

  it('is none where another node has the path, nor elsewhere', async () => {
    const before = await unknown();
    assert.equal((await post(`${nodeRed.url}/api/remote-monitoring/own`, alarmMessage())).status, 204);
    assert.equal((await post(`${nodeRed.url}/api/elsewhere`, alarmMessage())).status, 404);
    assert.equal((await post(`${nodeRed.url}/api${PATH}`, alarmMessage(), PHRASE)).status, 200);
    assert.deepEqual(await unknown(), before);
  });

  it('is no longer listed once a webhook in has the path', async () => {
    const typo = webhookIn({ id: 'typo', path: '/remote-monitoring/typo' });
    await nodeRed.deploy([...flow, typo]);
    assert.deepEqual(
      (await unknown()).map(({ path }) => path),
      ['/remote-monitoring/typo'],
    );
  });
});
