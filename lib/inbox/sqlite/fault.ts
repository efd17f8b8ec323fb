import { DISK_FULL } from '../store/port';
import { DamagedError } from './open';

/** Primary result codes of SQLite: https://sqlite.org/rescode.html */
const ERROR = 1;
const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOTADB = 26;
/** Extended: the file ends within a page that it should have. A disk that fails says otherwise. */
const SHORT_READ = 522;
/** A table or a column is missing, or holds what none has written. */
const MISREAD: ReadonlySet<number> = new Set([ERROR, CONSTRAINT, MISMATCH]);
const BROKEN: ReadonlySet<number> = new Set([READONLY, IOERR, CORRUPT, CANTOPEN, NOTADB]);

const MOVE_AWAY =
  'stop Node-RED, move inbox.sqlite and inbox.sqlite-wal out of the folder and keep them, and start it again';
/** What is wrong, and what to do. */
const CURES: Readonly<Record<number, string>> = {
  [BUSY]: 'another Node-RED has its file: give each a folder of its own',
  [READONLY]: 'its file cannot be written: give Node-RED the right to write it',
  [IOERR]: 'the disk reports errors: see to the disk',
  [CORRUPT]: `its file is damaged: ${MOVE_AWAY}`,
  [FULL]: DISK_FULL,
  [CANTOPEN]:
    'its file cannot be opened or made: see that inbox.sqlite is a file and no folder, and that Node-RED may write there',
  [NOTADB]: `inbox.sqlite is not a database: ${MOVE_AWAY}`,
};

function extendedCodeOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
}

/** Extended codes carry the primary one in their lowest byte. */
function codeOf(error: unknown): number {
  const code = extendedCodeOf(error);
  return code === SHORT_READ ? CORRUPT : code & 0xff;
}

/** True after a fault of disk or file: nobody knows what of it can be relied on before it is opened and checked again. */
export function isBroken(error: unknown): boolean {
  return BROKEN.has(codeOf(error));
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === FULL;
}

/** True where the file is no longer what was written; never after a fault of the disk, which may be able to read it the next time. */
export function isDamaged(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof DamagedError || code === CORRUPT || code === NOTADB;
}

/**
 * True also where SQLite finds no damage, but something else than the package has written: a table of another name, a number
 * beyond all. Of what is read at an opening or a salvage; at other times it may be the fault of what is asked.
 */
export function isMisread(error: unknown): boolean {
  return isDamaged(error) || MISREAD.has(codeOf(error)) || error instanceof RangeError;
}

/** What failed and what to do, as the end of a sentence. Texts of SQLite and of the system hold nothing of a message. */
export function faultText(error: unknown): string {
  if (error instanceof DamagedError) return `${CURES[CORRUPT]} (${error.message})`;
  if (!(error instanceof Error)) return 'unknown fault';
  if (!('errcode' in error)) return error.message;
  return `${CURES[codeOf(error)] ?? error.message} (SQLite ${String(error.errcode)})`;
}
