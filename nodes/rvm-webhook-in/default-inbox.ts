import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/inbox';
import { MemoryInbox } from '../../lib/inbox/memory-inbox';

let inbox: Inbox | undefined;

/** Where the events of webhook nodes wait and their ids are remembered: one per process, whatever they arrived by. */
export function defaultInbox(RED: NodeAPI): Inbox {
  inbox ??= new MemoryInbox({ log: (line) => RED.log.error(line) });
  return inbox;
}
