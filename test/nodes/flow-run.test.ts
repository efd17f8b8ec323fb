import assert from 'node:assert/strict';
import path from 'node:path';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { flowNode, NodeRed, ROOT } from '../support/node-red/node-red';
import { SLOW_VERSIONS } from '../support/suite/lanes';

/**
 * Two types of nodes that listen as those of the package do: of the first each callback fails, the second tells the log that it
 * was called.
 */
const NODES = `
const { onFlowsState } = require(${JSON.stringify(path.join(ROOT, 'dist/nodes/support/flows.js'))});
const CALLBACKS = {
  failing: () => { throw new Error('a text with a secret in it'); },
  telling: (event) => console.log('told of ' + event),
};
module.exports = (RED) => {
  for (const [type, callback] of Object.entries(CALLBACKS)) {
    RED.nodes.registerType(type, function (config) {
      RED.nodes.createNode(this, config);
      for (const event of ['started', 'stopping']) this.on('close', onFlowsState(RED, event, () => callback(event)));
    });
  }
};`;

for (const version of SLOW_VERSIONS)
  describe(`a node that fails when the flows start and stop, on Node-RED ${version}`, () => {
    // Configuration nodes, which have no place in the editor, are built first, and so are called first.
    const failing = { id: 'one-that-fails', type: 'failing' };
    const nodeRed = NodeRed.ofGroup({ version, nodes: NODES }, () =>
      webhookFlow({}, failing, flowNode('one-that-tells', 'telling', [])),
    );

    it('keeps no webhook in from its start: alarms come in', async () =>
      assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE), 200));

    it('keeps no other node from being told of a start, and of a stop', async () => {
      await nodeRed.logged(/told of started/);
      await nodeRed.deploy(webhookFlow());
      await nodeRed.logged(/told of stopping/);
    });

    it('stands in the log with kind and place of the fault, without its text', async () => {
      await nodeRed.logged(/\[error\] What a node does when the flows start or stop failed: Error/);
      assert.match(nodeRed.log, /at .*of-test\.js/);
      assert.doesNotMatch(nodeRed.log, /a text with a secret/);
    });
  });
