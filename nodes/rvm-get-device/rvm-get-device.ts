import type { Node, NodeAPI, NodeDef } from 'node-red';
import { serviceNode, deviceCopy } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/typed-input';
import { registerNode } from '../support/register';
import { choiceOf, type Properties } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, options) => {
    const what = choiceOf(properties, 'what', ['details', 'presets', 'tours']);
    const camera = await cameraOf(RED, node, properties, msg);
    msg.payload =
      what === 'details'
        ? deviceCopy(await client.getDevice(camera, options))
        : await client.ptzTargets(camera, what, options);
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-device', (node, config: NodeDef) => build(RED, node, config));
};
