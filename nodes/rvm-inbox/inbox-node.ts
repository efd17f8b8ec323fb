import type { Node } from 'node-red';
import type { UnsetVariables } from '../support/settings';
import type { InboxPlace } from '../../lib/inbox/inboxes';
import type { SharedSettings } from './shared-settings';

/** The config node, as webhook nodes see it. */
export interface InboxNode extends Node {
  /** None while a variable is not set, or a folder cannot be used: the default one takes its place then. */
  place: InboxPlace | undefined;
  /** How its database is reached, where it is in one. Holds a password: not for logs. */
  shared: SharedSettings;
  /** The variables that it lacks. */
  unsetVariables: UnsetVariables | undefined;
  /** True where its settings do not count: another inbox node has the same store, or they cannot be used. */
  isRefused(): boolean;
}
