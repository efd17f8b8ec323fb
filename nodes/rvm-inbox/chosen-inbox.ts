import type { Node, NodeAPI } from 'node-red';
import { textOf, type Properties } from '../support/settings';
import type { InboxNode } from './inbox-node';

/**
 * The inbox node that a node names; undefined where it names none. The default one takes the place of one that is gone, and the node
 * says so: better there than nowhere.
 * @param gone key of the text that says so
 */
export function chosenInbox(
  RED: NodeAPI,
  node: Node,
  properties: Properties,
  gone: string,
): InboxNode | undefined {
  const id = textOf(properties, 'inbox');
  if (id === '') return undefined;
  const inbox = RED.nodes.getNode(id) as InboxNode | null | undefined;
  if (!inbox) node.error(RED._(gone));
  return inbox ?? undefined;
}
