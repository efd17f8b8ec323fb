import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { serviceNode } from '../rvm-central-station/service-node';
import { registerNode } from '../support/register';
import type { Properties } from '../support/settings';
import { videoOf } from '../support/video-input';

/** Seconds that a clip begins before its alarm where the node does not say. */
const PRE_ROLL_S = 5;

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg) => {
    const { mode } = await videoOf(RED, node, properties, msg, PRE_ROLL_S);
    throw new RvmError('VIDEO_FAILED', `Video (${mode}) cannot be opened by this version: use get RTSP.`);
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-get-clip', (node, config: NodeDef) => build(RED, node, config));
};
