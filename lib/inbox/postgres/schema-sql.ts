import { literal, quoted, tablesOf } from './calls/tables';
import { migrations } from './migrations';
import { LOCK, SCHEMA_VERSION, setVersions } from './schema';

/**
 * What a database administrator runs, with psql or any other client, where the role of Node-RED may not make tables. Where they
 * are there already it does what is left to do: nothing, or what a newer version of the package needs.
 * @param role gets the rights that an inbox needs, and no others; nobody gets any where none is named
 */
export function schemaSql(schema: string, role?: string): string {
  return [
    '-- The tables of an inbox of alarms. It is one transaction, and can be run again.',
    'BEGIN;',
    // In a block, so that psql prints no row of it.
    block(` BEGIN PERFORM pg_advisory_xact_lock(${LOCK}, hashtext(${literal(schema)})); END`),
    `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)};`,
    steps(schema),
    ...(role === undefined ? [] : grants(schema, quoted(role))),
    'COMMIT;',
    '',
  ].join('\n');
}

/** Those that the schema has not taken, as `migrate` takes them. */
function steps(schema: string): string {
  const { meta } = tablesOf(schema);
  const taken = migrations(schema).map(
    (step, index) => `  IF known_version <= ${index} THEN${step}  END IF;`,
  );
  return block(`
DECLARE
  known_version integer := 0;
BEGIN
  IF to_regclass(${literal(meta)}) IS NOT NULL THEN
    SELECT value::integer INTO known_version FROM ${meta} WHERE name = 'schema_version';
  END IF;
${taken.join('\n')}
  IF known_version < ${SCHEMA_VERSION} THEN
    ${setVersions(schema)};
  END IF;
END`);
}

/** A name in it may be any, that of the quotes of the block among them. */
function block(text: string): string {
  let quote = '$rvm_inbox$';
  while (text.includes(quote)) quote = quote.replace(/\$$/, '_$');
  return `DO ${quote}${text} ${quote};`;
}

/** To read and write rows, and to connect, which others may have been kept from. */
function grants(schema: string, role: string): string[] {
  const name = quoted(schema);
  return [
    block(
      ` BEGIN EXECUTE format('GRANT CONNECT ON DATABASE %I TO %s', current_database(), ${literal(role)}); END`,
    ),
    `GRANT USAGE ON SCHEMA ${name} TO ${role};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${role};`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${name} TO ${role};`,
  ];
}
