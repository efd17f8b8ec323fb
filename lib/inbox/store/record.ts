import type { SQLOutputValue } from 'node:sqlite';
import { type MessageState, type Verdict, VERDICTS } from '../model';
import type { LeasedMessage, NewMessage, StepRow } from './port';

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

/** A message of a file on its way into PostgreSQL. */
export interface MovedMessage {
  /** In the file: the order in which they came. */
  sequence: number;
  deliveryId: string;
  station: string;
  id: string;
  named: boolean;
  copy: number;
  fingerprint: string;
  endpoint: string;
  /** Never `leased`: a flow that had it has ended with its process. */
  state: Exclude<MessageState, 'leased'>;
  rank: NewMessage['rank'];
  attempt: number;
  cutOff: number;
  again: LeasedMessage['again'] | null;
  first: boolean;
  ended: boolean;
  alarm: string | null;
  isEnd: boolean;
  /** Milliseconds since 1970. */
  received: number;
  /** How long it is kept already, in milliseconds. */
  age: number;
  /** Null where they are kept no more. */
  facts: string | null;
  bytes: Uint8Array | null;
  /** What has become of it: wall clock in milliseconds, and who has settled it. */
  delivered: number | null;
  settled: number | null;
  settledBy: string | null;
  judged: number | null;
  verdict: Verdict | null;
  steps: StepRow[];
}

/** True while something can become of it: it waits, or is a dead letter that can be had again. */
export function isUnfinished({ state, again }: Pick<MovedMessage, 'state' | 'again'>): boolean {
  return state === 'received' || (state === 'dead' && again === 'attempts');
}
