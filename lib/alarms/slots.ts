import type { Inbox } from '../inbox/inbox';

export type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';

/** What an alarm state needs of an inbox. */
export type Slots = Pick<Inbox, 'slots' | 'putSlots' | 'watchSlots'>;
