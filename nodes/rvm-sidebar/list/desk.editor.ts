import type { Holding } from './row-list.editor';
import type { Discards } from './discards.editor';

/** What the lists of the sidebar have in common. */
export interface Desk {
  /** Whether the user may change something. */
  mayAct: boolean;
  discards: Discards;
  /** Asks the runtime, and looks what has become of it. Undefined where it failed, which the user is told. */
  act<Answer>(path: string, body: object): Promise<Answer | undefined>;
  /** What the lists have had is not so any more. */
  stale(): void;
  /** What of the rows of a section must not change now. */
  holdOf(section: JQuery): Holding;
  /** Draws all anew, whatever holds the rows: the user has asked for it. */
  redraw(): void;
}
