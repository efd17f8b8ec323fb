import type { NodeAPI } from 'node-red';
import { seenIds } from '../../../lib/inbox/seen-ids';
import { allInboxes } from '../../rvm-inbox/inboxes';
import { readRoute } from '../../support/admin-route';
import { listOf } from '../../support/settings';

/** What the dialog asks: by what the newest events of some Central Stations, named by their keys, could be filtered. */
export function addSeenRoute(RED: NodeAPI): void {
  readRoute(RED, 'seen-ids', (asked) => seenIds(allInboxes(), new Set(listOf(asked, 'stations'))));
}
