import { storeFailed } from '../store/port';
import { literal, quoted, tablesOf } from './calls/tables';
import { migrations } from './migrations';
import { checkRights, mayMake, mayNotMake, mayNotUse } from './rights';
import { BEGIN, codeOf, type Row, type Session } from './session';

export { migrations } from './migrations';

/** Of this package. */
export const SCHEMA_VERSION = migrations('').length;
/** The oldest package that works on the schema as this one makes it, by its version of the schema. */
export const READABLE_FROM = 1;

/** Whoever migrates holds it, so that one does at a time. */
export const LOCK = 7301;
const NO_RIGHT = '42501';

/** How far the schema of a database has come. */
interface Versions {
  schema: number;
  readableFrom: number;
}

/**
 * Brings the schema of a database to that of this package, in one transaction; one that an administrator has made is taken as
 * it is, and so is one of a newer version of the package that this one can use.
 * @param steps those of this package; the version of a schema is how many of them it has taken
 * @throws RvmError STORE_FAILED where the schema is too new, or the role lacks a right; Error of `pg` otherwise
 */
export async function migrate(
  session: Session,
  schema: string,
  steps: readonly string[] = migrations(schema),
): Promise<void> {
  const found = await versionsOf(session, schema);
  if (found.schema < steps.length) await takeSteps(session, schema, steps);
  if (found.readableFrom > steps.length) throw tooNew(found, schema, steps.length);
  await checkRights(session, schema);
}

/**
 * The version of the schema of a database, as far as it can be told without changing anything; undefined where `migrate` makes
 * it.
 * @throws as `migrate`
 */
export async function inspect(session: Session, schema: string): Promise<number | undefined> {
  const found = await versionsOf(session, schema);
  if (found.schema === 0) {
    if (!(await mayMake(session, schema))) throw mayNotMake(schema);
    return undefined;
  }
  if (found.readableFrom > SCHEMA_VERSION) throw tooNew(found, schema, SCHEMA_VERSION);
  await checkRights(session, schema);
  return found.schema;
}

async function takeSteps(session: Session, schema: string, steps: readonly string[]): Promise<void> {
  const { client } = session;
  await client.query(BEGIN);
  try {
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK}, hashtext(${literal(schema)}))`);
    await makeSchema(session, schema);
    // Another may have taken them meanwhile.
    const { schema: done } = await versionsOf(session, schema);
    for (const step of steps.slice(done)) await client.query(step);
    await client.query(setVersions(schema, steps.length));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw codeOf(error) === NO_RIGHT ? mayNotMake(schema) : error;
  }
}

/** `IF NOT EXISTS` would ask for the right to make one, also where there is one. */
async function makeSchema({ client }: Session, schema: string): Promise<void> {
  const found = await client.query(`SELECT FROM pg_namespace WHERE nspname = ${literal(schema)}`);
  if (found.rowCount === 0) await client.query(`CREATE SCHEMA ${quoted(schema)}`);
}

/** 0 where there are no tables yet. It fails for none, for an error would end a transaction. */
async function versionsOf({ client }: Session, schema: string): Promise<Versions> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = ${literal(schema)} AND relname = 'meta'`,
  );
  if (rowCount === 0) return { schema: 0, readableFrom: 0 };
  return versionsIn(await metaOf({ client }, schema));
}

async function metaOf({ client }: Pick<Session, 'client'>, schema: string): Promise<Row[]> {
  try {
    const { rows } = await client.query<Row>(
      `SELECT name, value FROM ${tablesOf(schema).meta} WHERE name IN ('schema_version', 'readable_from')`,
    );
    return rows;
  } catch (error) {
    throw codeOf(error) === NO_RIGHT ? mayNotUse(schema) : error;
  }
}

function versionsIn(rows: readonly Row[]): Versions {
  const of = (name: string): number => Number(rows.find((row) => row['name'] === name)?.['value'] ?? 0);
  return { schema: of('schema_version'), readableFrom: of('readable_from') };
}

/** Notes how far the schema has come. Never back: an older package may have waited for a newer one. */
export function setVersions(schema: string, version = SCHEMA_VERSION): string {
  return `INSERT INTO ${tablesOf(schema).meta} AS own VALUES ('schema_version', '${version}'), ('readable_from', '${READABLE_FROM}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE own.value::integer < excluded.value::integer`;
}

function tooNew({ schema: version, readableFrom }: Versions, schema: string, own: number): Error {
  return storeFailed(
    `the schema "${schema}" is of a newer version of this package (schema ${version}, for versions that know ${readableFrom}; this one knows ${own}): install that version here, too`,
  );
}
