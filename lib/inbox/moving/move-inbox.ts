import { RvmError } from '../../error';
import { connect, type Connected } from '../postgres/connection/connect';
import type { ConnectionSettings } from '../postgres/connection-settings';
import { faultText } from '../postgres/connection/fault';
import { migrate } from '../postgres/schema';
import { DamagedError } from '../sqlite/open';
import { reasonOf, storeFailed } from '../store/port';
import { compare, type Comparison } from './comparing';
import { Copying } from './copying';
import { switchOver, type SwitchOver } from './handing-over';
import type { MoveProgress } from './move-progress';
import { openSource, readingFailed, unmovable } from './open-source';
import type { SourceFile } from './source-file';
import { Target } from './target';

export interface MoveOptions {
  /** The folder of the inbox. */
  folder: string;
  settings: ConnectionSettings;
  /** Told what is being done, and with how many of the messages it is done. */
  onProgress?: (step: 'copied' | 'compared', count: number, of: number) => void;
}

/** What was moved. */
export interface Moved extends Comparison, SwitchOver {
  /** Under which name the file is kept. */
  aside: string;
}

/**
 * Moves the inbox of a file into PostgreSQL. Until all of it is there, and has been compared, the file counts, and nothing of
 * it is delivered from there. Where it is ended before its end, it goes on at the next call.
 * @returns `already` where it was moved before, and only the name of the file was missing
 * @throws RvmError STORE_FAILED
 */
export async function moveInbox(options: MoveOptions): Promise<Moved | 'already'> {
  const source = await openSource(options.folder);
  if (source === undefined) return 'already';
  try {
    return await moveTo(source, options);
  } finally {
    source.close();
  }
}

async function moveTo(source: SourceFile, options: MoveOptions): Promise<Moved | 'already'> {
  const { session } = await connected(options.settings);
  const target = new Target(session, options.settings.schema);
  try {
    await migrate(session, options.settings.schema);
    return await move(source, target, options);
  } catch (error) {
    throw isOfFile(error) ? readingFailed(error, options.folder) : writingFailed(error);
  } finally {
    await target.session.close();
  }
}

async function move(
  source: SourceFile,
  target: Target,
  { onProgress }: MoveOptions,
): Promise<Moved | 'already'> {
  const known = await target.progress(source.id);
  if (known?.isDone === true && known.openings === source.openings) return finish(source, target, known);
  const isUnchanged = known?.isDone === false && known.openings === source.openings;
  const begun = isUnchanged ? known : await begin(source, target, known);
  const told = (step: 'copied' | 'compared') => (count: number) => onProgress?.(step, count, source.count);
  const progress = await new Copying(source, target, begun, !isUnchanged, told('copied')).run();
  const comparison = await compare(source, target, progress, told('compared'));
  if (comparison.different > 0) throw await differ(source, target, progress, comparison.different);
  const handed = await switchOver(source, target, progress);
  return { ...comparison, ...handed, aside: putAside(source) };
}

/** From the first message on; what an earlier run has brought of a file that was changed since counts as brought by this one. */
async function begin(
  source: SourceFile,
  target: Target,
  known: MoveProgress | undefined,
): Promise<MoveProgress> {
  const { newest, clock } = await target.state();
  const before = known?.isDone === false ? known.before : newest;
  return { copied: 0, openings: source.openings, before, clock, isDone: false };
}

/** Written once more, so that it is as durable as the rest before the file goes. */
async function finish(source: SourceFile, target: Target, progress: MoveProgress): Promise<'already'> {
  await target.session.transaction(true, () => target.setProgress(source.id, progress));
  putAside(source);
  return 'already';
}

function putAside(source: SourceFile): string {
  try {
    return source.putAside(new Date());
  } catch (error) {
    throw storeFailed(
      `all of it is in the database, but ${source.file} cannot be given another name: see to the rights of its folder, and run this again before Node-RED starts, which would deliver from it once more (${codeIn(error)})`,
    );
  }
}

async function differ(
  source: SourceFile,
  target: Target,
  progress: MoveProgress,
  count: number,
): Promise<Error> {
  // As of another file: then all of it is brought once more.
  await target.session.transaction(true, () =>
    target.setProgress(source.id, { ...progress, copied: 0, openings: -1 }),
  );
  return storeFailed(
    `${count} of its messages are not in the database as they are in the file: run this again, which brings them once more`,
  );
}

async function connected(settings: ConnectionSettings): Promise<Connected> {
  try {
    return await connect(settings, 'move');
  } catch (error) {
    throw writingFailed(error);
  }
}

/** SQLite's own, or one of what it has read: also of a number beyond all. */
function isOfFile(error: unknown): boolean {
  if (error instanceof DamagedError || error instanceof RangeError) return true;
  return error instanceof Error && 'errcode' in error;
}

function codeIn(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  return 'code' in error ? String(error.code) : error.message;
}

function writingFailed(error: unknown): Error {
  if (error instanceof RvmError) return error.code === 'STORE_FAILED' ? unmovable(reasonOf(error)) : error;
  return unmovable(
    `the database has failed: ${faultText(error)}; run this again, and it goes on where it has ended`,
  );
}
