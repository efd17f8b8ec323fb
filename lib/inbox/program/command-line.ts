import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { RvmError } from '../../error';
import { readTime } from '../../time';
import type { ConnectionChoices } from '../postgres/connection-settings';

/** What `--tls` says. @throws RvmError BAD_INPUT */
export function tlsOf(choice: string): ConnectionChoices['tls'] {
  if (choice === 'verify' || choice === 'off') return choice;
  try {
    return { ca: fs.readFileSync(choice) };
  } catch {
    throw unusable(`The file of --tls cannot be read: ${choice}`);
  }
}

/** The connection that an option names, or its file. @param instead what else may be given */
type Connection = (option: 'to' | 'url', instead: string) => string;

/** Where a program tells what happens, beside what it was asked for. Lines without their ends. */
export interface Terminal {
  tell(line: string): void;
}

/** Between two lines about how far it has come, in milliseconds. */
const TELL_EVERY = 2000;

/** Tells now and then how far it has come. */
export function tellProgress(terminal: Terminal): (line: string) => void {
  let toldAt = performance.now();
  return (line) => {
    if (performance.now() < toldAt + TELL_EVERY) return;
    toldAt = performance.now();
    terminal.tell(line);
  };
}

/** What the command line asks for. */
export type ProgramRequest = { name: 'help' } | SqlRequest | MoveRequest | ExportRequest;

export interface SqlRequest {
  name: 'sql';
  schema: string;
  /** The role that Node-RED logs in with; without one no rights are granted. */
  role?: string;
}

export interface MoveRequest {
  name: 'move';
  /** Folder of the inbox whose file is moved. */
  from: string;
  /** The connection: a URL. */
  to: string;
  schema: string;
  /** `verify`, `off`, or the path of a file with the certificate authorities to trust. */
  tls: string;
}

export interface ExportRequest {
  name: 'export';
  /** The folder of an inbox that is a file, or the connection of one in PostgreSQL. */
  source: { folder: string } | { url: string };
  schema: string;
  /** As of a `MoveRequest`. */
  tls: string;
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since: number;
  until: number;
  /** Absent for the output of the program. */
  out?: string;
}

/** Where a connection stands that nobody should see on a command line. */
const VARIABLE = 'RVM_INBOX_URL';

const TEXT = { type: 'string' } as const;
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  schema: TEXT,
  role: TEXT,
  from: TEXT,
  to: TEXT,
  'to-file': TEXT,
  tls: TEXT,
  folder: TEXT,
  url: TEXT,
  'url-file': TEXT,
  out: TEXT,
} as const;
type Values = ReturnType<typeof parse>['values'];

/** The options of each command. */
const COMMANDS: Readonly<Record<string, readonly (keyof Values)[]>> = {
  sql: ['schema', 'role'],
  move: ['from', 'to', 'to-file', 'schema', 'tls'],
  export: ['folder', 'url', 'url-file', 'schema', 'tls', 'from', 'to', 'out'],
};

export const HELP = `rvm-inbox: what an inbox needs beside Node-RED.

rvm-inbox sql [options]     prints the tables of an inbox in PostgreSQL, for psql; harmless where they are there
  --schema rvm              where they are made
  --role NAME               the role that Node-RED logs in with: gets the rights it needs, and no others

rvm-inbox move [options]    moves the inbox of a file into PostgreSQL, while no Node-RED uses that file; where it is
                            ended before its end it goes on when it is run again
  --from FOLDER             the folder of the inbox: remote-monitoring in the user directory unless the inbox node
                            names another
  --to URL                  postgres://user:password@host:5432/database; several hosts: host1:5432,host2:5432
  --to-file FILE            a file that holds nothing but this URL
                            with neither of them, the environment variable ${VARIABLE} holds it
  --schema rvm              where the tables are; they are made where they are not there and the role may; no inbox
                            must have used them yet
  --tls verify              verify = with the certificate authorities of the machine, off = without TLS,
                            else a file in PEM form with the certificate authorities to trust

rvm-inbox export [options]  writes the events of a period with all that became of each, as CSV: one line for each step
  --folder FOLDER           the folder of an inbox that is a file; no Node-RED must use it meanwhile
  --url URL                 or an inbox in PostgreSQL, which Node-RED may use meanwhile: as --to of move
  --url-file FILE           a file that holds nothing but this URL
                            with none of the three, the environment variable ${VARIABLE} holds it
  --schema rvm, --tls verify  as of move
  --from TIME               received at or after this time, ISO 8601, without a zone UTC; without it from the beginning
  --to TIME                 and before this one; without it to the end
  --out FILE                a new file, which its owner alone may read; without it the CSV is printed

rvm-inbox --help            this text

Exit code: 0 = done, 1 = it failed, 2 = the command line cannot be used.
`;

/**
 * @param readText reads a file
 * @throws RvmError BAD_INPUT with one clear line
 */
export function readCommandLine(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  readText: (file: string) => string,
): ProgramRequest {
  const { values, positionals } = parse(argv);
  const [command, ...rest] = positionals;
  if (values.help === true || (command === undefined && argv.length === 0)) return { name: 'help' };
  if (command === undefined) throw unusable('What is to be done is missing: sql, move or export');
  // What was given is not shown: it may be a connection in the wrong place.
  const known = COMMANDS[command];
  if (known === undefined) throw unusable('There is no such command, only sql, move and export');
  if (rest.length > 0) throw unusable(`${command} takes options alone`);
  const [foreign] = Object.keys(values).filter((name) => !known.some((option) => option === name));
  if (foreign !== undefined) throw unusable(`${command} has no option --${foreign}`);

  const connection: Connection = (option, instead) => {
    const ofFile = `${option}-file` as const;
    const { [option]: given, [ofFile]: file } = values;
    if (given !== undefined && file !== undefined)
      throw unusable(`--${option} and --${ofFile} exclude each other`);
    const found = file === undefined ? (given ?? env[VARIABLE]) : textIn(`--${ofFile}`, file, readText);
    const text = found?.trim() ?? '';
    if (text === '')
      throw unusable(`The connection is missing: ${instead}, --${ofFile} or the variable ${VARIABLE}`);
    return text;
  };
  if (command === 'sql') return sqlRequest(values);
  return command === 'move' ? moveRequest(values, connection) : exportRequest(values, connection);
}

function sqlRequest({ schema, role }: Values): SqlRequest {
  return {
    name: 'sql',
    schema: nameOf('--schema', schema ?? 'rvm'),
    ...(role !== undefined && { role: nameOf('--role', role) }),
  };
}

function moveRequest({ from, schema, tls }: Values, connection: Connection): MoveRequest {
  if (from === undefined || from === '') throw unusable('--from is missing: the folder of the inbox');
  return {
    name: 'move',
    from,
    to: connection('to', '--to'),
    schema: nameOf('--schema', schema ?? 'rvm'),
    tls: tls ?? 'verify',
  };
}

function exportRequest(values: Values, connection: Connection): ExportRequest {
  const { folder, url, 'url-file': file, schema, tls, out } = values;
  if (folder !== undefined && (url !== undefined || file !== undefined))
    throw unusable('--folder excludes --url and --url-file');
  return {
    name: 'export',
    source:
      folder === undefined
        ? { url: connection('url', '--folder, --url') }
        : { folder: nameOf('--folder', folder) },
    schema: nameOf('--schema', schema ?? 'rvm'),
    tls: tls ?? 'verify',
    since: timeOf('--from', values.from) ?? 0,
    until: timeOf('--to', values.to) ?? Number.MAX_SAFE_INTEGER,
    ...(out !== undefined && { out: nameOf('--out', out) }),
  };
}

function timeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text);
  if (time === undefined) throw unusable(`${option} is no time such as 2026-03-04 or 2026-03-04T05:06:07Z`);
  return time.getTime();
}

function textIn(option: string, file: string, readText: (file: string) => string): string {
  try {
    return readText(file);
  } catch {
    throw unusable(`The file of ${option} cannot be read: ${file}`);
  }
}

function nameOf(option: string, text: string): string {
  if (text === '') throw unusable(`${option} must not be empty`);
  return text;
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (error) {
    throw unusable(error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? '') : '');
  }
}

export function unusable(reason: string): RvmError {
  return new RvmError('BAD_INPUT', `${reason}. See rvm-inbox --help.`);
}
