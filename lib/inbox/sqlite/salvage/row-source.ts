import type { Row } from '../tables/statements';

/** Beyond every primary key: a delivery id has 48 bits for it. */
export const END = 2 ** 48;

/** The tables whose rows are salvaged, with the columns of which their rows are made, in their order; the first is the primary key. */
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
    'id_key',
    'alarm_key',
    'delivered',
    'settled',
    'settled_by',
    'judged',
    'verdict',
  ],
  body: ['sequence', 'facts', 'bytes'],
  quarantine: ['id', 'endpoint', 'address', 'facts', 'bytes', 'stored'],
  slot: ['number', 'owner', 'name', 'version', 'value', 'ends', 'written'],
  history: ['number', 'sequence', 'place', 'time', 'step', 'attempt', 'actor', 'facts'],
} as const;

export type SalvagedTable = keyof typeof COLUMNS;

/** What can be read of a damaged file in one way. */
export interface RowSource {
  rows: (table: SalvagedTable) => Iterable<Row>;
  /** A value of the table of this name; undefined where there is none, or it cannot be read. */
  meta: (name: string) => unknown;
}
