import { parseArgs } from 'node:util';
import { RvmError } from '../../error';

/** What the command line asks for. */
export type ProgramRequest = { name: 'help' } | SqlRequest | MoveRequest;

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
} as const;
type Values = ReturnType<typeof parseStrictly>['values'];

/** The options of each command. */
const COMMANDS: Readonly<Record<string, readonly (keyof Values)[]>> = {
  sql: ['schema', 'role'],
  move: ['from', 'to', 'to-file', 'schema', 'tls'],
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
  --schema rvm              where the tables are; they are made where they are not there and the role may
  --tls verify              verify = with the certificate authorities of the machine, off = without TLS,
                            else a file in PEM form with the certificate authorities to trust

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
  if (command === undefined) throw unusable('What is to be done is missing: sql or move');
  // What was given is not shown: it may be a connection in the wrong place.
  const known = COMMANDS[command];
  if (known === undefined) throw unusable('There is no such command, only sql and move');
  if (rest.length > 0) throw unusable(`${command} takes options alone`);
  const [foreign] = Object.keys(values).filter((name) => !known.some((option) => option === name));
  if (foreign !== undefined) throw unusable(`${command} has no option --${foreign}`);
  return command === 'sql' ? sqlRequest(values) : moveRequest(values, env, readText);
}

function sqlRequest({ schema, role }: Values): SqlRequest {
  return {
    name: 'sql',
    schema: nameOf('--schema', schema ?? 'rvm'),
    ...(role !== undefined && { role: nameOf('--role', role) }),
  };
}

function moveRequest(
  values: Values,
  env: Readonly<Record<string, string | undefined>>,
  readText: (file: string) => string,
): MoveRequest {
  const { from, schema, tls } = values;
  if (from === undefined || from === '') throw unusable('--from is missing: the folder of the inbox');
  return {
    name: 'move',
    from,
    to: connectionIn(values, env, readText),
    schema: nameOf('--schema', schema ?? 'rvm'),
    tls: tls ?? 'verify',
  };
}

function connectionIn(
  { to, 'to-file': file }: Values,
  env: Readonly<Record<string, string | undefined>>,
  readText: (file: string) => string,
): string {
  if (to !== undefined && file !== undefined) throw unusable('--to and --to-file exclude each other');
  const text = (file === undefined ? (to ?? env[VARIABLE]) : textIn(file, readText))?.trim() ?? '';
  if (text === '') throw unusable(`The connection is missing: --to, --to-file or the variable ${VARIABLE}`);
  return text;
}

function textIn(file: string, readText: (file: string) => string): string {
  try {
    return readText(file);
  } catch {
    throw unusable(`The file of --to-file cannot be read: ${file}`);
  }
}

function nameOf(option: string, text: string): string {
  if (text === '') throw unusable(`${option} must not be empty`);
  return text;
}

function parse(argv: readonly string[]): ReturnType<typeof parseStrictly> {
  try {
    return parseStrictly(argv);
  } catch (error) {
    throw unusable(error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? '') : '');
  }
}

function parseStrictly(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
}

function unusable(reason: string): RvmError {
  return new RvmError('BAD_INPUT', `${reason}. See rvm-inbox --help.`);
}
