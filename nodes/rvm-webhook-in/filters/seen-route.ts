import type { NodeAPI } from 'node-red';
import { seenIds, withNamed } from '../../../lib/inbox/reading/seen-ids';
import { allInboxes } from '../../rvm-inbox/inboxes';
import { readRoute } from '../../support/admin-routes';
import { listOf, textOf } from '../../support/settings';
import { findWebhook } from '../webhook-node';

/**
 * What the dialog of a node asks: by what the newest events of some Central Stations, named by their keys, could be filtered; and
 * what the node itself has seen since it was deployed.
 */
export function addSeenRoute(RED: NodeAPI): void {
  readRoute(RED, 'seen-ids', async (asked) => {
    const stations = new Set(listOf(asked, 'stations'));
    const seen = await seenIds(allInboxes(), stations);
    const webhook = findWebhook(RED, textOf(asked, 'node'));
    return webhook === undefined ? seen : withNamed(seen, webhook.namedAt(stations));
  });
}
