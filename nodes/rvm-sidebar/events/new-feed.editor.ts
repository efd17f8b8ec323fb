import { ask } from '../../support/editor/requests';
import { said, textOf } from '../list/row.editor';
import type { FoundEvents } from '../overview';
import { EventFeed, type FeedOptions } from './event-feed';

/** A list of events that is asked of the runtime. */
export function newFeed(state: FeedOptions['state'], changed: FeedOptions['changed']): EventFeed {
  return new EventFeed({
    state,
    changed,
    ask: (data) => ask<FoundEvents>(said, { url: 'rvm/events', data }),
    faultOf: textOf,
  });
}
