import { schemaSql } from '../postgres/schema-sql';
import type { SqlRequest } from './command-line';

/** What `rvm-inbox sql` prints. */
export function printableSchema({ schema, role }: SqlRequest): string {
  return schemaSql(schema, role);
}
