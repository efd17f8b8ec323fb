import fs from 'node:fs';
import { RvmError, type RvmErrorCode } from '../../error';
import { schemaSql } from '../postgres/schema';
import { HELP, type ProgramRequest, readCommandLine, type SqlRequest } from './command-line';
import { runExport } from './export';
import { runMove } from './move-command';

/** What `rvm-inbox sql` prints. */
function printableSchema({ schema, role }: SqlRequest): string {
  return schemaSql(schema, role);
}

/** What the user has given, and not what became of it. */
const OF_COMMAND_LINE: ReadonlySet<RvmErrorCode> = new Set(['BAD_INPUT', 'CONFIG_MISSING']);

/** Exit codes: 2 = the command line cannot be used, 1 = what was asked for has failed. */
function exitCodeOf(error: unknown): number {
  return error instanceof RvmError && OF_COMMAND_LINE.has(error.code) ? 2 : 1;
}

/** What is asked for goes to the output, what happens meanwhile beside it. */
const terminal = {
  print: (line: string): void => void process.stdout.write(`${line}\n`),
  tell: (line: string): void => void process.stderr.write(`${line}\n`),
};

async function run(request: ProgramRequest): Promise<void> {
  if (request.name === 'move') return runMove(request, terminal);
  if (request.name === 'export') return runExport(request, terminal, process.stdout);
  process.stdout.write(request.name === 'sql' ? printableSchema(request) : HELP);
}

async function main(): Promise<void> {
  try {
    const readText = (file: string): string => fs.readFileSync(file, 'utf8');
    await run(readCommandLine(process.argv.slice(2), process.env, readText));
  } catch (error) {
    // Whoever read the output has seen enough, as `head` has.
    if (isBrokenPipe(error)) return;
    terminal.tell(`rvm-inbox: ${error instanceof Error ? error.message : 'unknown fault'}`);
    process.exitCode = exitCodeOf(error);
  }
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

void main();
