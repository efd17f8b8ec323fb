import fs from 'node:fs';
import path from 'node:path';
import { RvmError } from '../../error';
import { INBOX_FILE } from '../model';
import { connect, type Connected } from '../postgres/connect';
import type { ConnectionSettings } from '../postgres/connection-settings';
import { migrate } from '../postgres/schema';
import { faultText } from '../postgres/session';
import { MOVING } from '../postgres/tables';
import { hasSpilledMessages } from '../spill/spilling';
import { DamagedError, wasMoved } from '../sqlite/database';
import { type KeyName, KEYS, SourceFile } from '../sqlite/file-reader';
import { offlineFault, openOffline } from '../sqlite/salvage';
import { reasonOf, storeFailed } from '../store/port';
import { isUnfinished, type MovedMessage } from '../store/record';
import { type FoundMessage, type MovedSlotCounts, type MoveProgress, Target } from './into-postgres';
import { comparedMessage, type ComparedMessage, digestOfMessage, newThere } from './target-statements';

/** Brings all messages of a file that are not there yet; no inbox delivers them for it. Where it was ended before its end, it goes on. */
class Copying {
  #progress: MoveProgress;

  /**
   * @param progress how far it has come
   * @param isAnew the file may have changed since: what an earlier run has brought is brought once more
   * @param told how many messages of the file have been seen to
   */
  constructor(
    private readonly source: SourceFile,
    private readonly target: Target,
    progress: MoveProgress,
    private readonly isAnew: boolean,
    private readonly told: (count: number) => void,
  ) {
    this.#progress = progress;
  }

  /** @throws Error of `pg`, and of SQLite */
  async run(): Promise<MoveProgress> {
    if (this.isAnew) await this.#dropUnfinished();
    let count = this.source.countUpTo(this.#progress.copied);
    for (const batch of this.source.messages(this.#progress.copied)) {
      await this.#copy(batch);
      count += batch.length;
      this.told(count);
    }
    return this.#progress;
  }

  #dropUnfinished(): Promise<void> {
    const { session } = this.target;
    return session.transaction(false, () => this.target.dropUnfinished(this.source.id));
  }

  /** What was copied and that it was are one transaction: nothing of it is lost or done twice. */
  async #copy(batch: readonly MovedMessage[]): Promise<void> {
    const { target, source } = this;
    const { before, clock, copied } = this.#progress;
    const progress = { ...this.#progress, copied: batch.at(-1)?.sequence ?? copied };
    await target.session.transaction(false, async () => {
      await target.lock(batch);
      await target.drop(batch, before);
      const there = await target.there(batch);
      await target.add(
        source.id,
        newThere(batch, there, (deliveryId) => source.has(deliveryId)),
        clock,
      );
      await target.setProgress(source.id, progress);
    });
    this.#progress = progress;
  }
}

/** What became of the messages of a file, each in one of these. */
interface Comparison {
  /** There, row by row as in the file. */
  same: number;
  /** There already, for it was sent to that inbox, too, or moved before: it stays as it is there. */
  known: number;
  /** Final, and changed or removed since it came there, by an inbox that is in use. */
  overtaken: number;
  /** Neither: something went wrong. */
  different: number;
}

/** Compares each message of a file with what is there: digests of all that was copied, bodies by digests that the database makes. */
async function compare(
  source: SourceFile,
  target: Target,
  { before, clock }: MoveProgress,
  told: (count: number) => void,
): Promise<Comparison> {
  const result: Comparison = { same: 0, known: 0, overtaken: 0, different: 0 };
  const { isInUse, clock: now } = await target.state();
  const mayBeOvertaken = isInUse || now > clock;
  let count = 0;
  for (const batch of source.messages()) {
    const found = await target.found(batch);
    const missing = batch.filter(({ deliveryId }) => !found.has(deliveryId));
    const sentAgain = new Set(missing.length === 0 ? [] : await target.sentAgain(missing));
    for (const message of batch) {
      const other = found.get(message.deliveryId);
      const known = other === undefined ? sentAgain.has(message) : !isBrought(other, before);
      result[known ? 'known' : fateOf(message, other, mayBeOvertaken)] += 1;
    }
    count += batch.length;
    told(count);
  }
  return result;
}

function fateOf(
  message: MovedMessage,
  other: ComparedMessage | undefined,
  mayBeOvertaken: boolean,
): 'same' | 'overtaken' | 'different' {
  if (other !== undefined && digestOfMessage(expected(message)) === digestOfMessage(other)) return 'same';
  return mayBeOvertaken && !isUnfinished(message) ? 'overtaken' : 'different';
}

/** By this move, and not by an earlier one. */
function isBrought({ sequence, state }: FoundMessage, before: number): boolean {
  return state === MOVING || sequence > before;
}

/** What counts of the past is how often it was delivered. */
function expected(message: MovedMessage): ComparedMessage {
  const compared = comparedMessage(message);
  return isUnfinished(message) ? { ...compared, state: MOVING } : { ...compared, cutOff: 0 };
}

/** What the database has taken over besides the messages that are final. */
interface SwitchOver extends MovedSlotCounts {
  /** Events that wait there now. */
  waiting: number;
  /** Dead letters that can be had again. */
  dead: number;
  quarantined: number;
  /** What the keys that it had already are for: of the file, they are of no use there. */
  ownKeys: KeyName[];
}

/**
 * The database takes over, in one transaction: before it the file counts, after it the database.
 * @throws Error of `pg`, and of SQLite; RvmError STORE_FAILED where what flows keep is not there as it is in the file
 */
function switchOver(source: SourceFile, target: Target, progress: MoveProgress): Promise<SwitchOver> {
  return target.session.transaction(true, async () => {
    const unfinished = await target.handOver(source.id);
    await target.addEndpoints(source.endpoints());
    const quarantine = source.quarantine();
    await target.addQuarantine(quarantine, progress.clock);
    const ownKeys: KeyName[] = [];
    for (const name of KEYS) {
      const key = source.meta(name);
      if (key !== undefined && !(await target.addKey(name, key))) ownKeys.push(name);
    }
    const slots = await moveSlots(source, target);
    await target.setProgress(source.id, { ...progress, isDone: true });
    return { ...unfinished, ...slots, quarantined: quarantine.length, ownKeys };
  });
}

async function moveSlots(source: SourceFile, target: Target): Promise<MovedSlotCounts> {
  const sum = { slots: 0, ownSlots: 0 };
  for (const batch of source.slots()) {
    const moved = await target.slots.add(source.id, batch);
    if (moved === undefined)
      throw storeFailed(
        'a value that flows keep is not in the database as it is in the file: run this again',
      );
    sum.slots += moved.slots;
    sum.ownSlots += moved.ownSlots;
  }
  return sum;
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
  const spilled = await hasSpilledMessages(folder);
  if (spilled === undefined) return;
  throw unmovable(
    `messages wait in ${spilled} that are not in the file yet: start Node-RED, wait until the inbox says that they are read back, stop it, and run this again`,
  );
}

/** @param reason the end of a sentence: what is in the way, and what to do */
function unmovable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be moved: ${reason}.`);
}

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
