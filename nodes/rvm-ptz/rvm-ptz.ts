import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { PtzAction, PtzCommand } from '../../lib/cloud/calls';
import { PTZ_ACTIONS, PTZ_DEADLINE_S } from '../../lib/limits';
import { RvmError } from '../../lib/error';
import { serviceNode, type ServiceWork } from '../rvm-central-station/service-node';
import { cameraOf, sourceOf, typedText, typedValue } from '../support/typed-input';
import { registerNode } from '../support/register';
import type { Properties } from '../support/settings';

const ACTION = { value: 'goto-preset', type: 'str' };
const TARGET = { value: '', type: 'str' };

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  const work: ServiceWork = async (msg, client, options) => {
    const action = await actionOf(RED, node, properties, msg);
    const camera = await cameraOf(RED, node, properties, msg);
    const command = await commandOf(RED, node, { properties, action }, msg);
    msg.ptz = await client.ptz(camera, command, options);
  };
  serviceNode(RED, node, config, work, { deadlineS: PTZ_DEADLINE_S });
}

/** @throws RvmError BAD_INPUT */
async function actionOf(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  msg: NodeMessage,
): Promise<PtzAction> {
  const value = await typedValue(RED, node, { properties, name: 'action', byDefault: ACTION }, msg);
  const action = PTZ_ACTIONS.find((candidate) => candidate === value);
  if (action !== undefined) return action;
  throw new RvmError(
    'BAD_INPUT',
    `The action must be one of ${PTZ_ACTIONS.join(', ')}: correct it in the node, or in the message.`,
  );
}

/**
 * Reads the target only for an action that has one.
 * @throws RvmError BAD_INPUT, CONFIG_MISSING
 */
async function commandOf(
  RED: NodeAPI,
  node: Node,
  { properties, action }: { properties: Properties; action: PtzAction },
  msg: NodeMessage,
): Promise<PtzCommand> {
  if (action === 'goto-home') return { action };
  const input = { properties, name: 'target', byDefault: TARGET };
  const target = await typedText(RED, node, input, msg);
  if (target !== '') return { action, target };
  if (action === 'stop-tour') return { action };
  const [kind, list] = action === 'goto-preset' ? ['preset', 'presets'] : ['tour', 'tours'];
  throw new RvmError(
    'BAD_INPUT',
    `There is no ${kind} in ${sourceOf(input)}: give its id or name; get device lists the ${list} of a camera.`,
  );
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-ptz', (node, config: NodeDef) => build(RED, node, config));
};
