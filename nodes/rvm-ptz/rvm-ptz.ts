import type { Node, NodeAPI } from 'node-red';
import type { PtzAction, PtzCommand } from '../../lib/cloud/calls';
import { PTZ_ACTIONS, PTZ_DEADLINE_S } from '../../lib/limits';
import { RvmError } from '../../lib/error';
import { serviceNode, type ServiceWork } from '../rvm-central-station/service-node';
import { cameraOf, sourceOf, typedText, typedValue } from '../support/typed-input';
import { type NodeConfig, registerNode } from '../support/register';

const ACTION = { name: 'action', byDefault: { value: 'goto-preset', type: 'str' } };
const TARGET = { name: 'target', byDefault: { value: '', type: 'str' } };

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  const work: ServiceWork = async (msg, client, options) => {
    const action = actionOf(await typedValue(RED, node, { properties: config, ...ACTION }, msg));
    const camera = await cameraOf(RED, node, config, msg);
    const input = { properties: config, ...TARGET };
    const target = action === 'goto-home' ? '' : await typedText(RED, node, input, msg);
    msg.ptz = await client.ptz(camera, commandOf(action, target, sourceOf(input)), options);
  };
  serviceNode(RED, node, config, work, { deadlineS: PTZ_DEADLINE_S });
}

/** @throws RvmError BAD_INPUT */
function actionOf(value: unknown): PtzAction {
  const action = PTZ_ACTIONS.find((candidate) => candidate === value);
  if (action !== undefined) return action;
  throw new RvmError(
    'BAD_INPUT',
    `The action must be one of ${PTZ_ACTIONS.join(', ')}: correct it in the node, or in the message.`,
  );
}

/** @throws RvmError BAD_INPUT where the action needs a target */
function commandOf(action: PtzAction, target: string, source: string): PtzCommand {
  if (action === 'goto-home') return { action };
  if (target !== '') return { action, target };
  if (action === 'stop-tour') return { action };
  const [kind, list] = action === 'goto-preset' ? ['preset', 'presets'] : ['tour', 'tours'];
  throw new RvmError(
    'BAD_INPUT',
    `There is no ${kind} in ${source}: give its id or name; get device lists the ${list} of a camera.`,
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-ptz', build);
