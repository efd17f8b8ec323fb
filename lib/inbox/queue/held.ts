import type { Delivery } from '../inbox';

/** An event that is leased. */
export interface Held {
  delivery: Delivery;
  readonly isHealth: boolean;
  /**
   * `next`: about to be handed to the flow. `at-flow`: the flow has it. `paused`: its lease has ended, and it comes again
   * after a pause. `asking`: the store is being told. `gone`: settled, or given back; held no more.
   */
  phase: 'next' | 'at-flow' | 'paused' | 'asking' | 'gone';
  /** True once it is over for the flow, and the store has only to be told. */
  isHandled?: boolean;
  /** True while the inbox cannot be told that its lease has ended: others need not wait for it. */
  isStuck?: boolean;
}
