import type { Node, NodeAPI, NodeDef } from 'node-red';
import { serviceNode } from '../rvm-central-station/service-node';
import { registerNode } from '../support/register';
import type { Properties } from '../support/settings';
import { videoOf } from '../support/typed-input';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, options) => {
    const rtsp = await client.openRtsp(await videoOf(RED, node, properties, msg), options);
    msg.payload = rtsp.url;
    msg.rtsp = rtsp;
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-rtsp', (node, config: NodeDef) => build(RED, node, config));
};
