import { storeFailed } from '../store/port';
import { literal, TABLE_NAMES } from './calls/tables';
import type { Row, Session } from './session';

/** @throws RvmError STORE_FAILED where the role of a connection lacks a right on the tables of an inbox */
export async function checkRights({ client }: Session, schema: string): Promise<void> {
  const { rows } = await client.query<Row>(
    `SELECT bool_and(has_schema_privilege(nspname, 'USAGE') AND CASE relkind
        WHEN 'S' THEN has_sequence_privilege(pg_class.oid, 'USAGE')
        ELSE has_table_privilege(pg_class.oid, 'SELECT') AND has_table_privilege(pg_class.oid, 'INSERT')
          AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE') END) AS has_all
      FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = ${literal(schema)} AND (relname IN (${TABLE_NAMES.map(literal).join(', ')}) OR relname = 'message_sequence_seq')`,
  );
  if (rows[0]?.['has_all'] !== true) throw mayNotUse(schema);
}

/** Whether the role may make the schema, or tables in it. */
export async function mayMake({ client }: Session, schema: string): Promise<boolean> {
  const { rows } = await client.query<Row>(
    `SELECT coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = ${literal(schema)}),
      has_database_privilege(current_database(), 'CREATE')) AS may_make`,
  );
  return rows[0]?.['may_make'] === true;
}

export function mayNotMake(schema: string): Error {
  return storeFailed(
    `its role may not make or change the tables of schema "${schema}": have an administrator run what "rvm-inbox sql" prints, or grant the role CREATE on the database`,
  );
}

export function mayNotUse(schema: string): Error {
  return storeFailed(
    `its role lacks rights on schema "${schema}": grant it USAGE on the schema and its sequences, and SELECT, INSERT, UPDATE and DELETE on its tables, as "rvm-inbox sql" prints`,
  );
}
