import type { UnknownPath } from '../../../lib/webhook/unknown-paths';
import type { RowAction } from '../list/row-actions.editor';
import { own, present, said } from '../list/row.editor';
import type { TextRow } from '../list/text-row.editor';
import { QUARANTINE_ACTIONS, type PendingRow, type ProblemRow, type QuarantineRow } from '../overview';
import { tell } from '../../support/editor/requests';

/** What nothing proved at a *webhook in*. */
export function quarantineRow(row: QuarantineRow): TextRow {
  const { count, lastTime, lastReason, title, path, inboxTitle, inbox: inboxId, endpointId } = row;
  const cure = lastReason === undefined ? null : said(`shared.problem.${lastReason}`);
  const inbox = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
  const told = present([own('unproven', { count }), cure], '. ');
  return {
    key: `quarantine ${inboxId} ${endpointId}`,
    lines: [title ?? own('notDeployed', { path }), told, lastOf(row, inbox)],
    title: lastTime,
    actions: quarantineActions(row),
  };
}

/** Checks all that a *webhook in* has, once more. */
export function verifyAsked({ inbox, endpointId, lastId }: QuarantineRow): object {
  return { inbox, endpointId, lastId, action: 'verify' };
}

function quarantineActions(row: QuarantineRow): RowAction[] {
  const { inbox, endpointId, lastId, canVerify } = row;
  const actions = QUARANTINE_ACTIONS.filter((action) => action !== 'verify' || canVerify);
  return actions.map((action) => ({
    action,
    asked: { path: 'quarantine', body: { inbox, endpointId, lastId, action } },
    canUndo: action === 'discard',
    done: (answer) => {
      if (action === 'verify') tellAccepted((answer as { accepted: number }).accepted);
    },
  }));
}

export function tellAccepted(count: number): void {
  tell(own('accepted', { count }), { timeout: 4000 });
}

/** What went wrong at a *webhook in*. */
export function problemRow(row: ProblemRow): TextRow {
  const { webhook, kind, reason, title, text, count, lastTime } = row;
  const told = said(text, { count, stations: '' });
  return {
    // As many as are counted: others may have its title, and its text.
    key: `problem ${webhook} ${kind} ${reason ?? ''}`,
    lines: [title, told, lastOf(row, own('times', { count }))],
    title: lastTime,
  };
}

/** What was posted to a path that no *webhook in* has. */
export function unknownPathRow(row: UnknownPath): TextRow {
  const { path, port, count, lastTime } = row;
  const times = own('times', { count });
  const quiet = lastOf(row, port === null ? times : present([own('port', { port }), times], ' · '));
  return { key: `path ${port ?? ''} ${path}`, lines: [path, own('unknownPath'), quiet], title: lastTime };
}

/** A site of the sandbox that waits to be accepted. @param accepted called once it is */
export function pendingRow({ cloud, customer, site, name }: PendingRow, accepted: () => void): TextRow {
  return {
    key: `pending ${cloud} ${customer}`,
    lines: [site, name, own('pendingHint')],
    actions: [
      {
        action: 'accept',
        asked: { path: 'sandbox-sites', body: { cloud, customer } },
        done: () => {
          tell(own('siteAccepted', { site }), { timeout: 4000 });
          accepted();
        },
      },
    ],
  };
}

/** When the last one came, of whom, and what else there is to say. */
function lastOf(row: { lastTime: string; lastAddress?: string }, further: string | null): string {
  const time = new Date(row.lastTime).toLocaleTimeString();
  return present([said('status.lastAlarm', { time }), row.lastAddress ?? null, further], ' · ');
}
