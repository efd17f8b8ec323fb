import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Device } from '../../lib/device';
import { serviceNode } from '../rvm-central-station/service-node';
import { registerNode } from '../support/register';
import { choiceOf, flagOf, type Properties } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, signal) => {
    const show = choiceOf(properties, 'show', ['all', 'online', 'not-online']);
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
