import type { SQLOutputValue } from 'node:sqlite';
import { VERDICTS } from '../history';
import type { MovedMessage } from './moved-message';

type Row = Record<string, SQLOutputValue>;
type MovedCourse = Pick<MovedMessage, 'delivered' | 'settled' | 'settledBy' | 'judged' | 'verdict'>;

/** What has become of a message, as its row in the file has it; its steps are in another table. */
export function courseIn({ delivered, settled, settled_by: settledBy, judged, verdict }: Row): MovedCourse {
  return {
    delivered: numberOrNull(delivered),
    settled: numberOrNull(settled),
    settledBy: settledBy === null ? null : String(settledBy),
    judged: numberOrNull(judged),
    verdict: VERDICTS.find((known) => known === verdict) ?? null,
  };
}

function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
