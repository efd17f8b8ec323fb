import type { SharedCall, StoreCalls } from '../../store/protocol';
import type { Row, Plan } from './statement';

/** One call of a batch. */
export interface Request<Name extends SharedCall = SharedCall> {
  readonly id: number;
  readonly name: Name;
  readonly take: StoreCalls[Name]['take'];
}

/** What became of it. */
export interface Reply {
  readonly id: number;
  readonly give?: unknown;
  readonly error?: unknown;
}

/** One statement of a batch, which may serve several calls. */
export interface Step {
  readonly statement: Plan;
  readonly values: readonly unknown[];
  /** Called once the transaction has been committed, in the order of the steps. Absent where the statement answers nothing. */
  read?(rows: readonly Row[]): Reply[];
}

/** The rows that belong to the calls of a statement: its column `n` says to which, counted from 1. */
export function byNumber(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [Number(row['n']), row]));
}
