import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Device } from '../../lib/device';
import { stationById, stationOfMessage } from '../rvm-central-station/find-station';
import { onInput } from '../support/input';
import { registerNode } from '../support/register';
import {
  choiceOf,
  firstUnsetVariable,
  flagOf,
  textOf,
  unsetVariableError,
  type Properties,
} from '../support/settings';
import { status } from '../support/status';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const unset = firstUnsetVariable(config);
  if (unset !== undefined) node.status(status(RED, 'variableNotSet', { variable: unset }));
  else stationById(RED, stationId)?.show(node);

  onInput(node, async (msg, signal) => {
    if (unset !== undefined) throw unsetVariableError(unset);
    const show = choiceOf(properties, 'show', ['all', 'online', 'not-online']);
    const client = await stationOfMessage(RED, stationId, msg).client();
    const devices = await client.listDevices({ signal });
    const shown = devices.filter((device) => show === 'all' || device.online === (show === 'online'));
    const links = flagOf(properties, 'links');
    // A copy: the records are those of the directory, and a flow may change what it gets.
    msg.payload = shown.map((device) => structuredClone(links ? device : withoutLinks(device)));
  });
}

function withoutLinks(device: Device): Omit<Device, '_links'> {
  const { _links, ...rest } = device;
  return rest;
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-list-devices', (node, config: NodeDef) => build(RED, node, config));
};
