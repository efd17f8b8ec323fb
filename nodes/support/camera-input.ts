import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { RvmError } from '../../lib/error';
import type { Properties } from './settings';
import { placeOf, typedText } from './typed-input';

const EVENT_CAMERA = { value: 'event.cameraId', type: 'msg' };

/**
 * The camera that a node is asked for, as a text: the properties `camera` and `cameraType`, by default that of the event.
 * @returns id, remote id or name; which of them the client finds out
 * @throws RvmError BAD_INPUT where there is none, CONFIG_MISSING for an environment variable that is not set
 */
export async function cameraOf(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  msg: NodeMessage,
): Promise<string> {
  const input = { properties, name: 'camera', byDefault: EVENT_CAMERA };
  const camera = await typedText(RED, node, input, msg);
  if (camera !== '') return camera;
  throw new RvmError(
    'BAD_INPUT',
    `There is no camera in ${placeOf(input)}: give its id, remote id or name there, or choose another place in this node.`,
  );
}
