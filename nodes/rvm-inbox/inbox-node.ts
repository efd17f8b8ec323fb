import type { Node } from 'node-red';
import type { InboxSettings } from './inboxes';

/** The config node, as webhook nodes see it. */
export interface InboxNode extends Node {
  /** None while a variable is not set. */
  usableSettings(): InboxSettings | undefined;
  /** The variable that it lacks. */
  unsetVariable: string | undefined;
  /** True where another inbox node of the same folder has other settings, which count. */
  isOverruled(): boolean;
}
