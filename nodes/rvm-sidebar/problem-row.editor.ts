import type { UnknownPath } from '../../lib/webhook/receive/unknown-paths';
import type { ProblemRow, QuarantineRow } from './overview';
import { own, present, rowOf, said } from './row.editor';

/** What nothing proved at a *webhook in*. */
export function quarantineRow(row: QuarantineRow): JQuery {
  const { count, lastTime, lastReason, title, path, inboxTitle } = row;
  const cure = lastReason === undefined ? null : said(`shared.problem.${lastReason}`);
  const inbox = inboxTitle === null ? null : own('inbox', { folder: inboxTitle });
  const told = present([own('unproven', { count }), cure], '. ');
  return rowOf(title ?? own('notDeployed', { path }), told, lastOf(row, inbox)).attr('title', lastTime);
}

/** What went wrong at a *webhook in*. */
export function problemRow(row: ProblemRow): JQuery {
  const { title, text, count, lastTime } = row;
  const told = said(text, { count, stations: '' });
  return rowOf(title, told, lastOf(row, own('times', { count }))).attr('title', lastTime);
}

/** What was posted to a path that no *webhook in* has. */
export function unknownPathRow(row: UnknownPath): JQuery {
  const { path, port, count, lastTime } = row;
  const times = own('times', { count });
  const quiet = lastOf(row, port === null ? times : present([own('port', { port }), times], ' · '));
  return rowOf(path, own('unknownPath'), quiet).attr('title', lastTime);
}

/** When the last one came, of whom, and what else there is to say. */
function lastOf(row: { lastTime: string; lastAddress?: string }, further: string | null): string {
  const time = new Date(row.lastTime).toLocaleTimeString();
  return present([said('status.lastAlarm', { time }), row.lastAddress ?? null, further], ' · ');
}
