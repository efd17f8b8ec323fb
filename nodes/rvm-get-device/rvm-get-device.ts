import type { Node, NodeAPI } from 'node-red';
import { serviceNode, deviceCopy } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/typed-input';
import { type NodeConfig, registerNode } from '../support/register';
import { choiceOf } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  serviceNode(RED, node, config, async (msg, client, options) => {
    const what = choiceOf(config, 'what', ['details', 'presets', 'tours']);
    const camera = await cameraOf(RED, node, config, msg);
    msg.payload =
      what === 'details'
        ? deviceCopy(await client.getDevice(camera, options))
        : await client.ptzTargets(camera, what, options);
  });
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-get-device', build);
