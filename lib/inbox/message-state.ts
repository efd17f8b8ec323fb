/**
 * State of a message in the inbox. `leased`: with the flow, or waiting to go there again. `filtered`: its webhook node does not
 * take such events.
 */
export type MessageState =
  | 'received'
  | 'leased'
  | 'delivered'
  | 'dead'
  | 'conflict'
  | 'stale'
  | 'filtered'
  | 'other';
