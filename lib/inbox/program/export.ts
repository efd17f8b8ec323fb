import fs from 'node:fs';
import path from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RvmError } from '../../error';
import { plural } from '../../text';
import { INBOX_FILE } from '../model';
import { BatchRunner } from '../postgres/batches';
import { connect } from '../postgres/connect';
import { type ConnectionSettings, readConnection } from '../postgres/connection-settings';
import { plannerOf } from '../postgres/inbox-plans';
import { inspect, SCHEMA_VERSION } from '../postgres/schema';
import { faultText, type Session } from '../postgres/session';
import { hasSpilledMessages } from '../spare/spare-folder';
import { openDatabase } from '../sqlite/database';
import { Bodies, MessageLists } from '../sqlite/lists';
import { offlineFault, openOffline } from '../sqlite/salvage';
import { prepareStatements } from '../sqlite/statements';
import { HistoryTable } from '../sqlite/tables';
import { type PageQuery, reasonOf, type StoredMessage } from '../store/port';
import { eventRow, listed, pagesOf } from '../store/stored-message';
import { type ExportRequest, tellProgress, type Terminal, tlsOf, unusable } from './command-line';

/** A cell of a table; null and undefined are empty. */
type Cell = string | number | null | undefined;

/** A cell that begins so is a formula to a spreadsheet, which may send what stands beside it anywhere. */
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;
/** Means something to a terminal, or is left out before a formula is looked for. */
const CONTROL = /[^\P{Cc}\t\r\n]/gu;
const SPECIAL = /[",\r\n]/;

/** A line of RFC 4180 with its end. Text that a spreadsheet would take for a formula has an apostrophe in front; a control character is U+FFFD. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  const clean = String(cell).replace(CONTROL, '\uFFFD');
  const text = typeof cell === 'string' && FORMULA.test(clean) ? `'${clean}` : clean;
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** An inbox whose events are read, and nothing else. */
interface ExportSource {
  /** @throws RvmError STORE_FAILED */
  page(query: PageQuery): Promise<StoredMessage[]>;
  close(): Promise<void>;
}

/** @param reason the end of a sentence: what is in the way, and what to do */
function notReadable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be read: ${reason}.`);
}

const COLUMNS = [
  'time',
  'station',
  'site',
  'camera',
  'rule',
  'class',
  'alarmId',
  'messageId',
  'deliveryId',
  'state',
  'step',
  'by',
  'from',
  'proof',
  'attempt',
  'reason',
  'note',
  'verdict',
] as const;

/**
 * The events of a period as CSV, oldest first: one line for each entry of the history of each event, so much at a time.
 * @param told how many events it has come to
 * @throws RvmError STORE_FAILED
 */
async function* exportLines(
  source: ExportSource,
  { since, until }: ExportRequest,
  told: (events: number) => void,
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  let count = 0;
  const query = { state: 'all', since, until, bodies: true, steps: true } as const;
  for await (const page of pagesOf((next) => source.page(next), query)) {
    for (const message of page) yield linesOf(message).join('');
    count += page.length;
    told(count);
  }
}

function linesOf(stored: StoredMessage): string[] {
  const message = listed(stored, true);
  const { time: _received, ...event } = eventRow(message);
  return (message.history ?? []).map((entry) => {
    const cells: Partial<Record<(typeof COLUMNS)[number], Cell>> = { ...event, ...entry };
    return csvLine(COLUMNS.map((column) => cells[column]));
  });
}

/**
 * Connects to the inbox of a database to be exported, which Node-RED may use meanwhile.
 * @throws RvmError STORE_FAILED that says why it cannot be read now, CONFIG_MISSING for settings of TLS that cannot be used
 */
async function openDatabaseSource(settings: ConnectionSettings): Promise<ExportSource> {
  const { session } = await connect(settings, 'export').catch(failed);
  try {
    await refuseOther(session, settings.schema);
  } catch (error) {
    await session.close();
    throw error;
  }
  const runner = new BatchRunner(
    plannerOf(settings.schema, () => performance.now()),
    () => '',
  );
  return {
    page: async (take) => {
      const [reply] = await runner.run(session, [{ id: 0, name: 'page', take }]).catch(failed);
      if (reply?.error !== undefined) failed(reply.error);
      return (reply?.give ?? []) as StoredMessage[];
    },
    close: () => session.close(),
  };
}

/** @throws RvmError STORE_FAILED where there is no inbox, or one of another version of the package */
async function refuseOther(session: Session, schema: string): Promise<void> {
  const version = await inspect(session, schema).catch(failed);
  if (version === undefined)
    throw notReadable(
      `there is none in the schema "${schema}" of this database: name its schema with --schema`,
    );
  if (version < SCHEMA_VERSION)
    throw notReadable(
      `the schema "${schema}" is of an earlier version of this package: start Node-RED with this version once, and run this again`,
    );
}

function failed(error: unknown): never {
  if (!(error instanceof RvmError)) throw notReadable(`the database has failed: ${faultText(error)}`);
  throw error.code === 'STORE_FAILED' ? notReadable(reasonOf(error)) : error;
}

/**
 * Opens the file of an inbox to be exported, for this process alone. Nothing in it is changed but that it gets the schema of
 * this package.
 * @throws RvmError STORE_FAILED that says why it cannot be read now
 */
function openFileSource(folder: string): ExportSource {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file))
    throw notReadable(
      `there is no ${INBOX_FILE} in ${folder}: name the folder of the inbox with --folder, or its database with --url`,
    );
  try {
    return openOffline(file, () => sourceOf(file, folder));
  } catch (error) {
    throw notReadable(offlineFault(error, folder));
  }
}

function sourceOf(file: string, folder: string): ExportSource {
  const database = openDatabase(file);
  try {
    const statements = prepareStatements(database);
    // A body that cannot be read leaves its cells empty.
    const bodies = new Bodies(statements, () => undefined);
    const lists = new MessageLists(statements, new HistoryTable(statements), bodies);
    return {
      page: async (query) => {
        try {
          const page = lists.page(query);
          bodies.read();
          return page;
        } catch (error) {
          throw notReadable(offlineFault(error, folder));
        }
      },
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** @param output takes what is not to be written into a file. @throws RvmError */
export async function runExport(request: ExportRequest, terminal: Terminal, output: Writable): Promise<void> {
  const source = await openSource(request, terminal);
  const progress = tellProgress(terminal);
  let events = 0;
  const lines = exportLines(source, request, (count) => {
    events = count;
    progress(`exported ${plural(count, 'event')}`);
  });
  try {
    const target = request.out === undefined ? output : openFile(request.out);
    // Whoever reads it decides how quickly: what is not taken yet is not read from the inbox.
    await pipeline(Readable.from(lines), target, { end: target !== output });
    terminal.tell(`Exported ${plural(events, 'event')}.`);
  } finally {
    await source.close();
  }
}

async function openSource({ source, schema, tls }: ExportRequest, terminal: Terminal): Promise<ExportSource> {
  if ('url' in source)
    return openDatabaseSource(readConnection(source.url, { schema, tls: tlsOf(tls), instanceName: '' }));
  const folder = path.resolve(source.folder);
  const opened = openFileSource(folder);
  const spilled = hasSpilledMessages(folder);
  if (spilled !== undefined)
    terminal.tell(
      `Messages wait in ${spilled} that are not in the file yet: they are missing in what follows.`,
    );
  return opened;
}

/** For its owner alone, as the inbox is: names of people and places are in it. */
function openFile(file: string): Writable {
  try {
    return fs.createWriteStream(file, { fd: fs.openSync(file, 'wx', 0o600) });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const reason = exists ? 'is there already: name another one' : 'cannot be written: see to its folder';
    throw unusable(`The file of --out ${reason}: ${file}`);
  }
}
