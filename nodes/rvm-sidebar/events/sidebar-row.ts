import type { NodeAPI } from 'node-red';
import { eventRow, type EventRow } from '../../../lib/inbox/event-row';
import { cutText } from '../../../lib/inbox/history';
import type { DeadReason, ListedMessage } from '../../../lib/inbox/inbox';
import { pictureKindOf } from '../../support/recent-video';
import { problemKey } from '../../support/status';
import type { SidebarRow } from '../overview';
import { hasVideo } from '../video/asked-video';

/** Characters. */
const MOST_OF_NAME = 200;
const MOST_OF_ID = 512;

/** An event of an inbox, with what the sidebar can do with it. */
export function sidebarRow(RED: NodeAPI, message: ListedMessage): SidebarRow {
  const { proof, canRetry, reason, deliveryId, verdict } = message;
  const picture = pictureKindOf(deliveryId) ?? null;
  const why = reason && { why: whyKey(reason) };
  const row = { ...shortened(eventRow(message)), canRetry, picture, hasVideo: hasVideo(RED, message) };
  return { ...row, ...(proof && { proof }), ...(verdict && { verdict }), ...why };
}

/** What is sent to a browser each second. A name or an id of an event can be as long as its body. */
function shortened(row: EventRow): EventRow {
  const cut = (text: string | null): string | null => text && cutText(text, MOST_OF_NAME);
  return {
    ...row,
    site: cut(row.site),
    camera: cut(row.camera),
    rule: cut(row.rule),
    class: cut(row.class),
    alarmId: row.alarmId && cutText(row.alarmId, MOST_OF_ID),
  };
}

/** What a disk has damaged was no problem while it came in. */
function whyKey(reason: DeadReason): string {
  return reason === 'unreadable' ? 'rvm-sidebar.unreadable' : problemKey({ kind: 'dead-letter', reason });
}
