import type { NodeAPI } from 'node-red';
import { eventRow } from '../../../lib/inbox/event-row';
import type { DeadReason, ListedMessage } from '../../../lib/inbox/inbox';
import { pictureKindOf } from '../../support/last-pictures';
import { problemKey } from '../../support/problem-text';
import type { SidebarRow } from '../overview';
import { hasVideo } from '../video/asked-video';

/** An event of an inbox, with what the sidebar can do with it. */
export function sidebarRow(RED: NodeAPI, message: ListedMessage): SidebarRow {
  const { proof, canRetry, reason, deliveryId, verdict } = message;
  const picture = pictureKindOf(deliveryId) ?? null;
  const why = reason && { why: whyKey(reason) };
  const row = { ...eventRow(message), canRetry, picture, hasVideo: hasVideo(RED, message) };
  return { ...row, ...(proof && { proof }), ...(verdict && { verdict }), ...why };
}

/** What a disk has damaged was no problem while it came in. */
function whyKey(reason: DeadReason): string {
  return reason === 'unreadable' ? 'rvm-sidebar.unreadable' : problemKey({ kind: 'dead-letter', reason });
}
