import type { Node } from 'node-red';
import type { InboxPlace } from './inboxes';

/** The config node, as webhook nodes see it. */
export interface InboxNode extends Node {
  /** None while a variable is not set, or a folder cannot be used. */
  usableSettings(): InboxPlace | undefined;
  /** The variable that it lacks. */
  unsetVariable: string | undefined;
  /** True where its settings do not count: another inbox node has the same folder, or they cannot be used. */
  isRefused(): boolean;
}
