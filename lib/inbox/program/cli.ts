import fs from 'node:fs';
import path from 'node:path';
import { RvmError, type RvmErrorCode } from '../../error';
import { plural } from '../../text';
import { moveInbox, type Moved } from '../carry/move';
import { connectionTitle, readConnection } from '../postgres/connection-settings';
import { schemaSql } from '../postgres/schema';
import {
  HELP,
  type MoveRequest,
  type ProgramRequest,
  readCommandLine,
  tellProgress,
  tlsOf,
} from './command-line';
import { runExport } from './export';

/** What is asked for goes to the output, what happens meanwhile beside it. */
const terminal = {
  print: (line: string): void => void process.stdout.write(`${line}\n`),
  tell: (line: string): void => void process.stderr.write(`${line}\n`),
};

/** After such a silence of the database it is told what that may be, in milliseconds. */
const LONG = 15_000;
const SILENT =
  'The database has not answered for 15 seconds. Where it waits for its standby, it goes on once that is back.';

/** @throws RvmError */
async function runMove({ from, to, schema, tls }: MoveRequest): Promise<void> {
  const settings = readConnection(to, { schema, tls: tlsOf(tls), instanceName: '' });
  const folder = path.resolve(from);
  const progress = tellProgress(terminal);
  const silence = setInterval(() => terminal.tell(SILENT), LONG).unref();
  const onProgress = (copied: number, of: number): void => {
    silence.refresh();
    progress(`copied ${copied} of ${plural(of, 'message')}`);
  };
  try {
    const moved = await moveInbox({ folder, settings, onProgress });
    const title = connectionTitle(settings);
    const lines =
      moved === 'already'
        ? [`The inbox in ${folder} was moved already: nothing is left to be done.`]
        : report(moved, folder, title);
    for (const line of [...lines, NEXT]) terminal.print(line);
  } finally {
    clearInterval(silence);
  }
}

function report(moved: Moved, folder: string, title: string): string[] {
  const { messages, waiting, dead, quarantined, slots, aside } = moved;
  const rest: [count: number, line: string][] = [
    [dead, `${plural(dead, 'dead letter')} can be delivered again from the sidebar.`],
    [quarantined, `${plural(quarantined, 'message')} in quarantine.`],
    [slots, `${plural(slots, 'value')} that flows keep, as the groups of alarm state.`],
  ];
  return [
    `Moved ${folder} to ${title}: ${plural(messages, 'message')}, counted on both sides; ${waiting} of them wait to be delivered.`,
    ...rest.filter(([count]) => count > 0).map(([, line]) => line),
    `The file is kept as ${aside}: delete it once you need it no more.`,
  ];
}

const NEXT =
  'Now start Node-RED with --safe, choose PostgreSQL in the dialog of the inbox, and deploy: until then no flow runs, and no alarm comes into a new file.';

/** What the user has given is at fault, and not what became of it. */
const OF_COMMAND_LINE: ReadonlySet<RvmErrorCode> = new Set(['BAD_INPUT', 'CONFIG_MISSING']);

async function run(request: ProgramRequest): Promise<void> {
  if (request.name === 'move') return runMove(request);
  if (request.name === 'export') return runExport(request, terminal, process.stdout);
  process.stdout.write(request.name === 'sql' ? schemaSql(request.schema, request.role) : HELP);
}

async function main(): Promise<void> {
  try {
    const readText = (file: string): string => fs.readFileSync(file, 'utf8');
    await run(readCommandLine(process.argv.slice(2), process.env, readText));
  } catch (error) {
    // Whoever read the output has seen enough, as `head` has.
    if (isBrokenPipe(error)) return;
    terminal.tell(`rvm-inbox: ${error instanceof Error ? error.message : 'unknown fault'}`);
    process.exitCode = error instanceof RvmError && OF_COMMAND_LINE.has(error.code) ? 2 : 1;
  }
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

void main();
