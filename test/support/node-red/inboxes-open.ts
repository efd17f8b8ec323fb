import { look } from '../editor/editor-questions';
import type { NodeRed } from './node-red';

/**
 * Waits until the inboxes of a Node-RED, without users and with its editor at the root, have opened their files. What comes
 * earlier is answered all the same, but may be spilled, and told of as such, where the machine is busy.
 */
export async function inboxesOpen(nodeRed: NodeRed): Promise<void> {
  // The list is in the files.
  await look(nodeRed, 'overview');
}
