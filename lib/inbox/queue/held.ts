import type { Delivery } from '../inbox';

/** An event that is leased. */
export interface LeasedEvent {
  delivery: Delivery;
  readonly isHealth: boolean;
  /**
   * `next`: about to be handed to the flow. `waiting`: that is to be when no other of its alarm is at work. `at-flow`: the flow
   * has it. `paused`: its lease has ended, and it comes again after a pause. `asking`: the store is being told. `gone`:
   * settled, or given back; held no more.
   */
  phase: 'next' | 'waiting' | 'at-flow' | 'paused' | 'asking' | 'gone';
  /** True once it is over for the flow, and the store has only to be told. */
  isHandled?: boolean;
  /** True while the inbox cannot be told that its lease has ended: others need not wait for it. */
  isStuck?: boolean;
}

/** True of one that was not handed to the flow this time. */
export function isUnsent({ phase }: LeasedEvent): boolean {
  return phase === 'next' || phase === 'waiting';
}
