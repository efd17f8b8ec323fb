import type { NodeAPI } from 'node-red';
import { reasonOf } from '../../../lib/inbox/store/port';
import { incidentText } from '../../rvm-inbox/inbox-log';
import { openInboxes, shownTitle } from '../../rvm-inbox/inboxes';
import type { Overview } from '../overview';

/** What befell the file of an inbox last. */
export function lastIncident(RED: NodeAPI): string | null {
  const [last] = openInboxes()
    .flatMap((open) => {
      const { incident } = open.inbox.state();
      return incident === undefined ? [] : [{ open, ...incident }];
    })
    .toSorted((one, other) => one.ago - other.ago);
  return last === undefined ? null : incidentText(RED, shownTitle(RED, last.open), last.is);
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
