import type { NodeAPI } from 'node-red';
import { reasonOf } from '../../../lib/inbox/store/port';
import { incidentText } from '../../rvm-inbox/inbox-log';
import { openInboxes, shownTitle } from '../../rvm-inbox/inboxes';
import type { Overview } from '../overview';

/** What befell the file of an inbox last. */
export function lastIncident(RED: NodeAPI): string | null {
  for (const open of openInboxes()) {
    const { incident } = open.inbox.state();
    if (incident !== undefined) return incidentText(RED, shownTitle(RED, open), incident.is);
  }
  return null;
}

/** Why an inbox cannot store, or be read. @param unread what was thrown where they were read */
export function inboxFaults(unread: readonly unknown[]): Pick<Overview, 'fault' | 'isCut' | 'isPartial'> {
  const failing = openInboxes().filter(({ inbox }) => inbox.state().durable === false);
  const faults = [
    ...failing.map(({ inbox }) => inbox.state().fault ?? ''),
    ...unread.map((error) => reasonOf(error)),
  ];
  return {
    fault: faults[0] ?? null,
    isCut: failing.some(({ place }) => place.folder === undefined),
    isPartial: unread.length > 0,
  };
}
