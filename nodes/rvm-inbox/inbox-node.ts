import type { Node } from 'node-red';
import type { UnsetVariables } from '../support/settings';
import type { InboxPlace } from './inboxes';

/** The config node, as webhook nodes see it. */
export interface InboxNode extends Node {
  /** None while a variable is not set, or a folder cannot be used. */
  usableSettings(): InboxPlace | undefined;
  /** The variables that it lacks. */
  unsetVariables: UnsetVariables | undefined;
  /** True where its settings do not count: another inbox node has the same folder, or they cannot be used. */
  isRefused(): boolean;
}
