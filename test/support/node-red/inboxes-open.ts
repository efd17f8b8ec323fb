import type { Overview } from '../../../nodes/rvm-sidebar/overview';
import { look } from '../editor/editor-questions';
import { eventually } from '../time/patience';
import type { NodeRed } from './node-red';

/**
 * Waits until the inboxes of a Node-RED, without users and with its editor at the root, have opened their files. What comes
 * earlier is answered all the same, but may be spilled, and told of as such, where the machine is busy.
 */
export async function inboxesOpen(nodeRed: NodeRed): Promise<void> {
  // The list is in the files.
  await look(nodeRed, 'overview');
}

/**
 * Waits until the inboxes of such a Node-RED know of each event that it was sent or settled. The flow has it a moment earlier,
 * and a restart within that moment rightly delivers it again.
 */
export async function nothingOpen(nodeRed: NodeRed): Promise<void> {
  await eventually(async () => {
    const { events } = (await look(nodeRed, 'overview')).body as unknown as Overview;
    return !events.some(({ state }) => state === 'received' || state === 'leased');
  }, 'the end of what is open');
}
