import type { Node, NodeAPI } from 'node-red';
import type { InboxNode } from '../rvm-inbox/inbox-node';
import { textOf, type Properties } from '../support/settings';

/**
 * The inbox node that a webhook node names; undefined where it names none. The default one takes the place of one that is gone, and the
 * node says so: better there than nowhere.
 */
export function chosenInbox(RED: NodeAPI, node: Node, properties: Properties): InboxNode | undefined {
  const id = textOf(properties, 'inbox');
  if (id === '') return undefined;
  const inbox = RED.nodes.getNode(id) as InboxNode | null | undefined;
  if (!inbox) node.error(RED._('rvm-webhook-in.errors.noInbox'));
  return inbox ?? undefined;
}
