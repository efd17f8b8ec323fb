import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/inbox';
import { SILENCE_OWNER } from '../../lib/webhook/endpoint-health';

const PREFIX = 'watch:';

/** Under which name a *watch* keeps what it has found. */
export function ownerOf(nodeId: string): string {
  return PREFIX + nodeId;
}

/**
 * Removes what is left of *watch* nodes that were deleted while Node-RED did not run. Of an inbox that is shared, those that another
 * instance has stay: it says so.
 * @throws RvmError STORE_FAILED
 */
export async function forgetDeleted(RED: NodeAPI, inbox: Inbox): Promise<void> {
  for (const owner of await inbox.slotOwners(PREFIX)) {
    if (owner === SILENCE_OWNER || RED.nodes.getNode(owner.slice(PREFIX.length))) continue;
    const { slots } = await inbox.slots(owner);
    const lives = slots.some(({ left }) => left !== undefined && left > 0);
    if (!lives) await inbox.dropSlots(owner);
  }
}
