import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import { serviceNode } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/camera-input';
import { registerNode } from '../support/register';
import { textOf, type Properties } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, signal) => {
    const wanted = widthOf(properties);
    const camera = await cameraOf(RED, node, properties, msg);
    const { jpeg, filename, cameraId, time } = await client.snapshot(camera, wanted, { signal });
    msg.payload = jpeg;
    msg.filename = filename;
    // All of them: behind http in they were those of a request, and http response would send them.
    msg.headers = { 'content-type': 'image/jpeg' };
    msg.snapshot = { cameraId, time, live: true };
  });
}

/** Empty = as the service likes. @throws RvmError BAD_INPUT */
function widthOf(properties: Properties): { width?: number } {
  const text = textOf(properties, 'width').trim();
  if (text === '') return {};
  const width = Number(text);
  if (Number.isSafeInteger(width) && width >= 1) return { width };
  throw new RvmError(
    'BAD_INPUT',
    'The width of this node must be a whole number of pixels, or empty for the size of the service.',
  );
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-snapshot', (node, config: NodeDef) => build(RED, node, config));
};
