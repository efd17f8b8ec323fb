import { eventRow } from '../event-row';
import { pagesOf, type PagedMessage } from '../store/page';
import { listed } from '../store/stored-message';
import { csvLine, type Cell } from './csv';
import type { ExportSource } from './export-source';

/** What is exported: received at or after one time, and before the other, in milliseconds since 1970. */
export interface ExportPeriod {
  since: number;
  until: number;
}

const COLUMNS = [
  'time',
  'station',
  'site',
  'camera',
  'rule',
  'class',
  'alarmId',
  'messageId',
  'deliveryId',
  'state',
  'step',
  'by',
  'from',
  'proof',
  'attempt',
  'reason',
  'note',
  'verdict',
] as const;

/**
 * The events of a period as CSV, oldest first: one line for each entry of the history of each event, so much at a time.
 * @param told how many events it has come to
 * @throws RvmError STORE_FAILED
 */
export async function* exportLines(
  source: Pick<ExportSource, 'page'>,
  period: ExportPeriod,
  told: (events: number) => void,
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  let count = 0;
  const query = { state: 'all', ...period, bodies: true, steps: true } as const;
  for await (const page of pagesOf((next) => source.page(next), query)) {
    for (const message of page) yield linesOf(message).join('');
    count += page.length;
    told(count);
  }
}

function linesOf(stored: PagedMessage): string[] {
  const message = listed(stored, true);
  const { time: _received, ...event } = eventRow(message);
  return (message.history ?? []).map((entry) => {
    const cells: Record<(typeof COLUMNS)[number], Cell> = {
      ...event,
      ...entry,
      by: entry.by,
      from: entry.from,
      proof: entry.proof,
      attempt: entry.attempt,
      reason: entry.reason,
      note: entry.note,
      verdict: entry.verdict,
    };
    return csvLine(COLUMNS.map((column) => cells[column]));
  });
}
