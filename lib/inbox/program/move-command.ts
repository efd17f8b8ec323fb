import path from 'node:path';
import { plural } from '../../text';
import { moveInbox, type Moved } from '../carry/move';
import { connectionTitle, readConnection } from '../postgres/connection-settings';
import { type MoveRequest, tlsOf } from './command-line';

/** Where a program writes: what it was asked for, and what happens meanwhile. Lines without their ends. */
export interface Terminal {
  print(line: string): void;
  tell(line: string): void;
}

/** Between two lines about how far it has come, in milliseconds. */
const TELL_EVERY = 2000;
/** After such a silence of the database it is told what that may be, in milliseconds. */
const LONG = 15_000;
const SILENT =
  'The database has not answered for 15 seconds. Where it waits for its standby, it goes on once that is back.';

/** @throws RvmError */
export async function runMove({ from, to, schema, tls }: MoveRequest, terminal: Terminal): Promise<void> {
  const settings = readConnection(to, { schema, tls: tlsOf(tls), instanceName: '' });
  const folder = path.resolve(from);
  const telling = new Telling(terminal);
  try {
    const moved = await moveInbox({ folder, settings, onProgress: (copied, of) => telling.come(copied, of) });
    const lines =
      moved === 'already' ? alreadyMoved(folder) : report(moved, folder, connectionTitle(settings));
    for (const line of lines) terminal.print(line);
  } finally {
    telling.end();
  }
}

/** Tells how far a move has come. */
class Telling {
  #toldAt = performance.now();
  readonly #silence: NodeJS.Timeout;

  constructor(private readonly terminal: Terminal) {
    this.#silence = setInterval(() => terminal.tell(SILENT), LONG).unref();
  }

  come(copied: number, of: number): void {
    this.#silence.refresh();
    if (performance.now() < this.#toldAt + TELL_EVERY) return;
    this.#toldAt = performance.now();
    this.terminal.tell(`copied ${copied} of ${plural(of, 'message')}`);
  }

  end(): void {
    clearInterval(this.#silence);
  }
}

function alreadyMoved(folder: string): string[] {
  return [`The inbox in ${folder} was moved already: nothing is left to be done.`, NEXT];
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
    NEXT,
  ];
}

const NEXT =
  'Now start Node-RED with --safe, choose PostgreSQL in the dialog of the inbox, and deploy: until then no flow runs, and no alarm comes into a new file.';
