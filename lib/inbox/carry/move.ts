import fs from 'node:fs';
import path from 'node:path';
import { RvmError } from '../../error';
import { INBOX_FILE } from '../model';
import { connect, type Connected } from '../postgres/connect';
import type { ConnectionSettings } from '../postgres/connection-settings';
import { migrate } from '../postgres/schema';
import { faultText } from '../postgres/session';
import { hasSpilledMessages } from '../spare/spare-folder';
import { DamagedError, wasMoved } from '../sqlite/database';
import { KEYS, SourceFile } from '../sqlite/file-reader';
import { offlineFault, openOffline } from '../sqlite/salvage';
import type { CarriedCounts } from '../store/carried-record';
import { reasonOf, storeFailed } from '../store/port';
import { type MoveProgress, Target, type TargetState } from './into-postgres';

export interface MoveOptions {
  /** The folder of the inbox. */
  folder: string;
  settings: ConnectionSettings;
  /** Told how many of its messages are copied. */
  onProgress?: (copied: number, of: number) => void;
}

/** What was moved: as much is in the database as was in the file. */
export interface Moved extends CarriedCounts {
  /** Under which name the file is kept. */
  aside: string;
}

/**
 * Moves the inbox of a file into a schema of PostgreSQL that no instance uses yet. Until one transaction that brings what is
 * open the file counts, and nothing of it is delivered from there. Where it is ended before its end, it goes on at the next call.
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
    return await new Move(source, target, options).run();
  } catch (error) {
    throw isOfFile(error) ? readingFailed(error, options.folder) : writingFailed(error);
  } finally {
    await target.close();
  }
}

/** One file on its way. What is copied and how far that has come are one transaction: nothing of it is lost or done twice. */
class Move {
  constructor(
    private readonly source: SourceFile,
    private readonly target: Target,
    private readonly options: MoveOptions,
  ) {}

  /** @throws Error of `pg`, and of SQLite; RvmError STORE_FAILED */
  async run(): Promise<Moved | 'already'> {
    const { source, target } = this;
    const state = await target.state(source.id);
    const { progress } = state;
    const isUnchanged = progress?.openings === source.openings;
    if (progress?.isDone === true && isUnchanged) {
      // Written once more, so that it is as durable as the rest before the file goes.
      await target.transaction(true, () => target.setProgress(source.id, progress));
      this.#putAside();
      return 'already';
    }
    this.#refuseUsed(state, progress);
    const copied = await this.#copyFinished(isUnchanged ? progress : await this.#begin(progress));
    await this.#takeOver(copied);
    return { ...source.counts, aside: this.#putAside() };
  }

  /** There may be what this move has brought so far, and nothing else. */
  #refuseUsed({ isUsed, messages }: TargetState, brought: MoveProgress | undefined): void {
    if (!isUsed && brought?.isDone !== true && messages === (brought?.messages ?? 0)) return;
    throw storeFailed(
      `the schema "${this.options.settings.schema}" of the database is used by an inbox already: name another one with --schema, and enter that in the inbox`,
    );
  }

  /** From the first message on: what an earlier run has brought of a file that has changed since is brought once more. */
  #begin(brought: MoveProgress | undefined): Promise<MoveProgress> {
    const { source, target } = this;
    const progress = { copied: 0, messages: 0, openings: source.openings, isDone: false };
    return target.transaction(false, async () => {
      await target.lock();
      // Or what an instance has accepted meanwhile would be removed.
      this.#refuseUsed(await target.state(source.id), brought);
      await target.clear(source.newest);
      await target.setProgress(source.id, progress);
      return progress;
    });
  }

  /** Nothing becomes of these any more: an instance that should come too early delivers none of them. */
  async #copyFinished(begun: MoveProgress): Promise<MoveProgress> {
    const { source, target } = this;
    let progress = begun;
    for (const batch of source.finished(begun.copied)) {
      const copied = batch.at(-1)?.sequence ?? progress.copied;
      progress = { ...progress, copied, messages: progress.messages + batch.length };
      await target.transaction(false, async () => {
        await target.add(batch);
        await target.setProgress(source.id, progress);
      });
      this.#tell(progress.messages);
    }
    return progress;
  }

  /** Before this transaction the file counts, after it the database, which delivers from then on. */
  #takeOver(progress: MoveProgress): Promise<void> {
    const { source, target } = this;
    return target.transaction(true, async () => {
      await target.lock();
      this.#refuseUsed(await target.state(source.id), progress);
      let { messages } = progress;
      for (const batch of source.unfinished()) {
        await target.add(batch);
        messages += batch.length;
        this.#tell(messages);
      }
      await target.addRows('endpoint', source.endpoints());
      await target.addRows('quarantine', source.quarantine());
      await target.addRows('slotOwner', source.slotOwners());
      for (const batch of source.slots()) await target.addRows('slot', batch);
      const keys = KEYS.map((name) => ({ name, value: source.meta(name) })).filter(({ value }) => value);
      await target.addRows('meta', [...keys, { name: 'clock', value: `${source.clock}` }]);
      compare(source.counts, await target.counts());
      await target.setProgress(source.id, { ...progress, messages, isDone: true });
    });
  }

  #tell(copied: number): void {
    this.options.onProgress?.(copied, this.source.counts.messages);
  }

  #putAside(): string {
    try {
      return this.source.putAside(new Date());
    } catch (error) {
      throw storeFailed(
        `all of it is in the database, but ${this.source.file} cannot be given another name: see to the rights of its folder, and run this again before Node-RED starts, which would deliver from it once more (${codeIn(error)})`,
      );
    }
  }
}

/** @throws RvmError STORE_FAILED where not as much is there as in the file */
function compare(file: CarriedCounts, there: CarriedCounts): void {
  const names = Object.keys(file) as (keyof CarriedCounts)[];
  const different = names.filter((name) => file[name] !== there[name]);
  if (different.length === 0) return;
  const told = different.map((name) => `${there[name]} of ${file[name]} ${name}`).join(', ');
  throw storeFailed(
    `${told} have come into the database: see to what else changes its tables, and name another schema with --schema`,
  );
}

/**
 * Opens the file of an inbox to be moved, for this process alone.
 * @returns undefined where it was moved already
 * @throws RvmError STORE_FAILED that says why it cannot be moved now
 */
async function openSource(folder: string): Promise<SourceFile | undefined> {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file)) {
    if (wasMoved(file)) return undefined;
    throw unmovable(`there is no ${INBOX_FILE} in ${folder}: name the folder of the inbox with --from`);
  }
  const source = open(folder, file);
  try {
    await refuseSpilled(folder);
    return source;
  } catch (error) {
    source.close();
    throw error;
  }
}

/** What failed while the file was read, as a user should know it. */
function readingFailed(error: unknown, folder: string): RvmError {
  return unmovable(offlineFault(error, folder));
}

function open(folder: string, file: string): SourceFile {
  try {
    return openOffline(file, () => new SourceFile(file));
  } catch (error) {
    throw readingFailed(error, folder);
  }
}

/** What waits beside the file would be left behind. */
async function refuseSpilled(folder: string): Promise<void> {
  const spilled = hasSpilledMessages(folder);
  if (spilled === undefined) return;
  throw unmovable(
    `messages wait in ${spilled} that are not in the file yet: start Node-RED, wait until the inbox says that they are read back, stop it, and run this again`,
  );
}

/** @param reason the end of a sentence: what is in the way, and what to do */
function unmovable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be moved: ${reason}.`);
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
