// The dialog shares this file: it needs nothing of the server.

/** Longest name that PostgreSQL keeps whole, in bytes. */
export const LONGEST_NAME = 63;

const OF_SYSTEM = /^(pg_|information_schema$)/i;

/** True for what can be the name of a schema of our own. */
export function isSchemaName(name: string): boolean {
  const isName = name !== '' && !name.includes('\0') && new TextEncoder().encode(name).length <= LONGEST_NAME;
  return isName && !OF_SYSTEM.test(name);
}
