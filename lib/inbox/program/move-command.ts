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
    const moved = await moveInbox({ folder, settings, onProgress: (...come) => telling.come(...come) });
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

  come(step: 'copied' | 'compared', count: number, of: number): void {
    this.#silence.refresh();
    if (performance.now() < this.#toldAt + TELL_EVERY) return;
    this.#toldAt = performance.now();
    this.terminal.tell(`${step} ${count} of ${plural(of, 'message')}`);
  }

  end(): void {
    clearInterval(this.#silence);
  }
}

function alreadyMoved(folder: string): string[] {
  return [`The inbox in ${folder} was moved already: nothing is left to be done.`, NEXT];
}

function report(moved: Moved, folder: string, title: string): string[] {
  const { same, known, overtaken, waiting, dead, quarantined, slots, ownSlots, ownKeys, aside } = moved;
  const rest: [count: number, line: string][] = [
    [known, `${plural(known, 'message')} had been there before, and stay as they are there.`],
    [overtaken, `${plural(overtaken, 'message')} of the past were changed or removed there meanwhile.`],
    [dead, `${plural(dead, 'dead letter')} can be delivered again from the sidebar.`],
    [quarantined, `${plural(quarantined, 'message')} in quarantine.`],
    [slots, `${plural(slots, 'value')} that flows keep, as the groups of alarm state.`],
    [
      ownSlots,
      `${plural(ownSlots, 'value')} that flows keep had been there before, and stay as they are there.`,
    ],
  ];
  return [
    `Moved ${folder} to ${title}: ${plural(same, 'message')}, compared row by row; ${waiting} of them wait to be delivered.`,
    ...rest.filter(([count]) => count > 0).map(([, line]) => line),
    ...ownKeys.map((name) => KEY_LINES[name]),
    `The file is kept as ${aside}: delete it once you need it no more.`,
    NEXT,
  ];
}

const KEY_LINES = {
  'view-key':
    'The database had a key for view links already: links that were made with this file do not open any more.',
  'quarantine-key':
    'The database had a key for its quarantine already: what was quarantined in this file with a token cannot be proven any more.',
} as const;

const NEXT =
  'Now start Node-RED, choose PostgreSQL in the dialog of the inbox, and deploy. What comes to the file before that is moved by running this once more.';
