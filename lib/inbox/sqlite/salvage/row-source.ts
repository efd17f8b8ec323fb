import type { Row } from '../statements';

/** The tables whose rows are salvaged, with the columns that all versions of the schema have, in their order; the first is the primary key. */
export const COLUMNS = {
  message: [
    'sequence',
    'delivery_id',
    'station',
    'id',
    'named',
    'copy',
    'fingerprint',
    'endpoint',
    'state',
    'rank',
    'attempt',
    'cut_off',
    'at_flow',
    'again',
    'first',
    'ended',
    'alarm',
    'is_end',
    'received',
    'stored',
  ],
  body: ['sequence', 'facts', 'bytes'],
  quarantine: ['id', 'endpoint', 'address', 'facts', 'bytes', 'stored'],
} as const;

export type SalvagedTable = keyof typeof COLUMNS;

/** What can be read of a damaged file in one way. */
export interface RowSource {
  rows: (table: SalvagedTable) => Iterable<Row>;
  /** A value of the table of this name; undefined where there is none, or it cannot be read. */
  meta: (name: string) => unknown;
}
