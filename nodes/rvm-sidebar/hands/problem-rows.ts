import type { NodeAPI } from 'node-red';
import { isRefusal } from '../../../lib/webhook/problem';
import { lastProblem, problemsOf, webhookIds } from '../../rvm-webhook-in/problem-registry';
import { findWebhook } from '../../rvm-webhook-in/webhook-node';
import { problemKey } from '../../support/status';
import type { Overview, ProblemRow, QuarantineRow } from '../overview';

type ProblemRows = Pick<Overview, 'refused' | 'problems' | 'lastProblem' | 'hasUnseen'>;

/** What went wrong at the *webhook in* nodes that are deployed. */
export function problemRows(RED: NodeAPI, quarantine: readonly QuarantineRow[]): ProblemRows {
  const ids = webhookIds().filter((id) => findWebhook(RED, id) !== undefined);
  const rows = ids.flatMap((id) => rowsOf(RED, id));
  const isKept = ({ webhook, reason }: ProblemRow): boolean =>
    quarantine.some(
      ({ endpointId, lastReason }) =>
        lastReason === reason && endpointId === findWebhook(RED, webhook)?.endpointId,
    );
  return {
    refused: rows.filter((row) => isRefusal(row.reason) && !isKept(row)),
    problems: rows.filter(({ reason }) => !isRefusal(reason)),
    lastProblem: lastProblem(),
    hasUnseen: ids.some((id) => problemsOf(id).hasUnseen),
  };
}

function rowsOf(RED: NodeAPI, webhook: string): ProblemRow[] {
  const title = findWebhook(RED, webhook)?.title ?? '';
  return problemsOf(webhook)
    .tallies()
    .map((tally) => ({ ...tally, title, text: problemKey(tally), webhook }));
}
