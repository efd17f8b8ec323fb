import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { ListenerNode } from '../../rvm-listener/listener-node';
import { textOf, unsetVariables } from '../../support/settings';
import { showFromStart, status, unsetStatus } from '../../support/status';
import type { WebhookServer } from '../../support/webhook-server';
import { nodeRedServer } from './node-red-server';

/**
 * The server that a webhook node listens on: that of its listener node, or Node-RED's own where it names none. Undefined,
 * and said on the node, where the listener is gone: its alarms must not turn up on another server than was chosen.
 */
export function chosenServer(RED: NodeAPI, node: Node, config: NodeDef): WebhookServer | undefined {
  const id = textOf({ ...config }, 'listener');
  if (id === '') return nodeRedServer(RED);
  const listener = RED.nodes.getNode(id) as ListenerNode | null | undefined;
  if (listener?.server !== undefined) return listener.server;
  const unset = unsetVariables({ id });
  node.error(RED._('shared.errors.listenerMissing'));
  showFromStart(RED, node, () =>
    unset === undefined ? status(RED, 'notConfigured') : unsetStatus(RED, unset),
  );
  return undefined;
}
