/** Primary result codes of SQLite: https://sqlite.org/rescode.html */
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;
const BROKEN: ReadonlySet<number> = new Set([
  SQLITE_READONLY,
  SQLITE_IOERR,
  SQLITE_CORRUPT,
  SQLITE_CANTOPEN,
  SQLITE_NOTADB,
]);

function codeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  // Extended codes carry the primary one in their lowest byte.
  return code & 0xff;
}

/** True after a fault of disk or file: nobody knows what of it can be relied on before it is opened and checked again. */
export function isBroken(error: unknown): boolean {
  return BROKEN.has(codeOf(error));
}

/** True where a page cannot be read; the others can. */
export function isDamaged(error: unknown): boolean {
  return codeOf(error) === SQLITE_CORRUPT;
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === SQLITE_FULL;
}

/** What failed, with the code of SQLite where there is one. Texts of SQLite hold nothing of a message. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'errcode' in error ? `${error.message} (SQLite ${String(error.errcode)})` : error.message;
}
