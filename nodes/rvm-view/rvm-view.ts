import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { serviceNode } from '../rvm-central-station/service-node';
import { registerNode } from '../support/register';
import type { Properties } from '../support/settings';
import { videoOf } from '../support/video-input';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg) => {
    const { mode } = await videoOf(RED, node, properties, msg);
    throw new RvmError('VIDEO_FAILED', `Video (${mode}) cannot be opened by this version: use get RTSP.`);
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-view', (node, config: NodeDef) => build(RED, node, config));
};
