import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable, type Writable } from 'node:stream';
import { RvmError } from '../../error';
import { plural } from '../../text';
import { openDatabaseSource } from '../exporting/database-source';
import { exportLines } from '../exporting/export-lines';
import type { ExportSource } from '../exporting/export-source';
import { openFileSource } from '../exporting/file-source';
import { readConnection } from '../postgres/connection-settings';
import { spilledBeside } from '../spill/spilled-beside';
import type { ExportRequest } from './command-line';
import type { Terminal } from './move-command';
import { tlsOf } from './tls-option';

/** Between two lines about how far it has come, in milliseconds. */
const TELL_EVERY = 2000;

/** @param output takes what is not to be written into a file. @throws RvmError */
export async function runExport(request: ExportRequest, terminal: Terminal, output: Writable): Promise<void> {
  const source = await openSource(request, terminal);
  try {
    await write(source, request, terminal, output);
  } finally {
    await source.close();
  }
}

async function openSource({ source, schema, tls }: ExportRequest, terminal: Terminal): Promise<ExportSource> {
  if ('url' in source)
    return openDatabaseSource(readConnection(source.url, { schema, tls: tlsOf(tls), instanceName: '' }));
  const folder = path.resolve(source.folder);
  const opened = openFileSource(folder);
  const spilled = await spilledBeside(folder);
  if (spilled !== undefined)
    terminal.tell(
      `Messages wait in ${spilled} that are not in the file yet: they are missing in what follows.`,
    );
  return opened;
}

async function write(
  source: ExportSource,
  { since, until, out }: ExportRequest,
  terminal: Terminal,
  output: Writable,
): Promise<void> {
  let events = 0;
  let toldAt = performance.now();
  const lines = exportLines(source, { since, until }, (count) => {
    events = count;
    if (performance.now() < toldAt + TELL_EVERY) return;
    toldAt = performance.now();
    terminal.tell(`exported ${plural(count, 'event')}`);
  });
  const target = out === undefined ? output : openFile(out);
  // Whoever reads it decides how quickly: what is not taken yet is not read from the inbox.
  await pipeline(Readable.from(lines), target, { end: target !== output });
  terminal.tell(`Exported ${plural(events, 'event')}.`);
}

/** For its owner alone, as the inbox is: names of people and places are in it. */
function openFile(file: string): Writable {
  try {
    return fs.createWriteStream(file, { fd: fs.openSync(file, 'wx', 0o600) });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const reason = exists ? 'is there already: name another one' : 'cannot be written: see to its folder';
    throw new RvmError('BAD_INPUT', `The file of --out ${reason}: ${file}. See rvm-inbox --help.`);
  }
}
