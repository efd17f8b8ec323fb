import type { Node, NodeAPI } from 'node-red';
import { serviceNode } from '../rvm-central-station/service-node';
import { type NodeConfig, registerNode } from '../support/register';
import { videoOf } from '../support/typed-input';

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  serviceNode(RED, node, config, async (msg, client, options) => {
    const rtsp = await client.openRtsp(await videoOf(RED, node, config, msg), options);
    msg.payload = rtsp.url;
    msg.rtsp = rtsp;
  });
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-get-rtsp', build);
