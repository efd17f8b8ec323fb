import fs from 'node:fs';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';
import {
  type ActOn,
  alarmOf,
  type Brought,
  type Finish,
  type Known,
  type LeasedMessage,
  type MessageKey,
  MOST_STEPS,
  type NewMessage,
  type NotedStep,
  type Progress,
  type StoreCalls,
} from '../store/port';
import { factsWithWarnings, isDeadState, isOpenState } from '../store/stored-message';
import {
  dropSegment,
  type Frame,
  type FramePlace,
  type MessageFrame,
  type Segment,
  type SpilledFacts,
  SpillFile,
  SpillProbe,
  type Written,
} from './spill-file';
import { type ReadSegment, SpillFolder, SpillRegister } from './spill-folder';

/** What the other events of its alarm mean for one that is spilled. */
export class AlarmOrder {
  constructor(private readonly messages: SpilledMessages) {}

  /**
   * Whether a message is the first of its alarm, and comes after its end. What is spilled came after what is in the inbox.
   * @param known what the inbox knows of the alarm; undefined where not all that came before is known
   */
  phaseOf(message: NewMessage, known: Known | undefined): Pick<SpilledFacts, 'first' | 'ended'> {
    if (known === undefined) return { first: null, ended: null };
    const before = this.messages.ofAlarm(message);
    return {
      first: known.first && before.length === 0,
      ended: known.ended || before.some(({ columns }) => columns.isEnd),
    };
  }

  /** Whether one of the alarm of a message, of its endpoint, is open. */
  hasOpen(message: NewMessage): boolean {
    return this.#openOf(message).length > 0;
  }

  /**
   * One event of an alarm after the other.
   * @param atWork the alarms, as `alarmOf` names them, of which the flow of its endpoint has an event at work
   */
  mustWait({ columns, order }: SpilledMessage, atWork: ReadonlySet<string>): boolean {
    const { station, alarm } = columns;
    if (alarm === undefined) return false;
    return atWork.has(alarmOf(station, alarm)) || this.#openOf(columns).some((other) => other.order < order);
  }

  #openOf(one: Pick<NewMessage, 'station' | 'alarm' | 'endpoint'>): SpilledMessage[] {
    return this.messages
      .ofAlarm(one)
      .filter((other) => isOpen(other) && other.columns.endpoint === one.endpoint);
  }
}

/** The flow has it, once more. As all that follow, it gives how far the event has come then, and changes nothing itself. */
export function handedOver(progress: Progress): Progress {
  const attempt = progress.attempt + 1;
  return now({ ...progress, state: 'leased', attempt, atFlow: true }, { step: 'delivered', attempt });
}

/** With a step more: the newest are kept. */
export function noted(progress: Progress, step: NotedStep): Progress {
  return { ...progress, steps: [...(progress.steps ?? []), step].slice(-MOST_STEPS) };
}

function now(progress: Progress, step: Omit<NotedStep, 'time'>): Progress {
  return noted(progress, { time: Date.now(), ...step });
}

/** As if never leased: the flow did not get it. Undefined where its lease had ended before: then the flow has had it. */
export function notSent(progress: Progress): Progress | undefined {
  if (!progress.atFlow) return undefined;
  const { steps = [], attempt } = progress;
  const left = steps.filter((step) => step.step !== 'delivered' || step.attempt !== attempt);
  return { ...progress, state: 'received', attempt: attempt - 1, atFlow: false, steps: left };
}

/** What the flow had may have been acted on: its next delivery is a further attempt, which does not count. */
export function cutOff(progress: Progress): Progress {
  if (progress.state !== 'leased') return progress;
  const back: Progress = { ...progress, state: 'received', atFlow: false };
  if (!progress.atFlow) return back;
  const again = { ...back, cutOff: progress.cutOff + 1, again: 'restart' } as const;
  return now(again, { step: 'cut-off', attempt: progress.attempt });
}

/**
 * Its lease has ended without settlement.
 * @returns counted: attempts so far, without those that were cut off
 */
export function lapsed(
  progress: Progress,
  { again, maxAttempts, ...by }: Omit<StoreCalls['lapse']['take'], 'deliveryId'>,
): { progress: Progress; dead: boolean; counted: number } {
  const counted = progress.attempt - progress.cutOff;
  const dead = counted >= maxAttempts;
  const end = dead ? ({ state: 'dead', again: 'attempts' } as const) : ({ state: 'leased', again } as const);
  const after = now(
    { ...progress, ...end, atFlow: false },
    { step: again === 'retry' ? 'retry' : 'lapsed', ...by },
  );
  return { progress: dead ? now(after, { step: 'dead', reason: 'attempts' }) : after, dead, counted };
}

/** That the flow has had it is enough. Undefined where it has come to an end before. */
export function delivered(progress: Progress): Progress | undefined {
  if (!isOpenState(progress.state)) return undefined;
  return now({ ...progress, state: 'delivered', atFlow: false }, { step: 'settled' });
}

/** The flow has settled it. Undefined where it has come to an end before, other than for want of attempts. */
export function finished(progress: Progress, state: Finish['state'], step: NotedStep): Progress | undefined {
  if (!isOpenState(progress.state) && !isExhausted(progress)) return undefined;
  return noted({ ...progress, state, atFlow: false, again: undefined }, step);
}

/** A dead letter for want of attempts waits again, with all its attempts. Undefined for any other. */
export function revived(progress: Progress, by: Pick<ActOn, 'by'>): Progress | undefined {
  if (!isExhausted(progress)) return undefined;
  const again = { ...progress, state: 'received', cutOff: progress.attempt, again: 'retry' } as const;
  return now(again, { step: 'delivered-again', ...by });
}

/** Nobody wants to see it among the dead ones any more. Undefined where it is none of them. */
export function dismissed(progress: Progress, by: Pick<ActOn, 'by'>): Progress | undefined {
  if (!isDeadState(progress.state)) return undefined;
  return now({ ...progress, again: 'dismissed' }, { step: 'discarded', ...by });
}

/** A dead letter that nobody settled: it can be had again. */
function isExhausted({ state, again }: Progress): boolean {
  return state === 'dead' && again === 'attempts';
}

/** A message that is spilled. */
export interface SpilledMessage extends SpilledFacts {
  readonly deliveryId: string;
  /** Grows from message to message. */
  readonly order: number;
  /** Its endpoint changes with that of its node. */
  columns: Omit<NewMessage, 'bytes'>;
  /** Absent once it is final: then it is read from the file where it is needed. */
  bytes: Uint8Array | undefined;
  progress: Progress;
  /** How often `progress` has changed, and which of that is on the disk. */
  change: number;
  keptChange: number;
  /** Where it stands; undefined until it is on the disk. */
  place: (FramePlace & { segment: Segment }) | undefined;
  /** The file that has its newest progress on the disk; undefined where that is still as in its own. */
  progressIn: Segment | undefined;
  /** Settles when it is on the disk, or is not. */
  kept: Promise<void>;
  /** The delivery id of its row, once it is known that the store took it after all, too late. */
  late: Promise<string | undefined> | undefined;
  /** The inbox was to take it when it was with the flow, or dead, and may do so late. */
  wasBrought: boolean;
  /** Until the queue that leases it holds it. */
  leasing: Promise<void> | undefined;
  /** Until it is in the inbox, or is not. */
  moving: Promise<void> | undefined;
  /** It was read from a file, and is not known yet not to be in the inbox. */
  isDoubtful: boolean;
  /** The inbox works, and will not have it. */
  isRefused: boolean;
}

/** One that is not on the disk yet. */
export function spilledMessage(
  own: SpilledFacts & Pick<SpilledMessage, 'deliveryId' | 'order' | 'columns' | 'bytes' | 'progress'>,
): SpilledMessage {
  return {
    ...own,
    change: 0,
    keptChange: 0,
    place: undefined,
    progressIn: undefined,
    kept: Promise.resolve(),
    late: undefined,
    wasBrought: false,
    leasing: undefined,
    moving: undefined,
    isDoubtful: false,
    isRefused: false,
  };
}

export function isOpen({ progress: { state } }: SpilledMessage): boolean {
  return isOpenState(state);
}

/** False while it may come to be in the inbox, or to be on no disk. */
export function mayGo({ place, moving, isDoubtful }: SpilledMessage): boolean {
  return place !== undefined && moving === undefined && !isDoubtful;
}

/** The bytes are kept in memory as long as it may go to the flow; else they are read from its file where they are needed. */
export function freeBytes(spilled: SpilledMessage): void {
  if (spilled.place !== undefined && !isOpen(spilled) && !isExhausted(spilled.progress))
    spilled.bytes = undefined;
}

export function leasedMessage(spilled: SpilledMessage): LeasedMessage {
  const { deliveryId, columns, bytes, progress, first, ended } = spilled;
  const { state, attempt, again } = progress;
  const { station, id, named, fingerprint, endpoint, rank, received, facts } = columns;
  return {
    sequence: null,
    deliveryId,
    station,
    id,
    named,
    fingerprint,
    endpoint,
    state,
    rank,
    attempt,
    again,
    first,
    ended,
    warnings: warningsOf(spilled),
    received,
    facts,
    ...(bytes !== undefined && { bytes }),
    ...(progress.steps && { steps: progress.steps }),
    ...verdictIn(progress),
  };
}

function verdictIn({ steps = [] }: Progress): Pick<LeasedMessage, 'verdict'> {
  const { verdict, time = 0 } = steps.findLast((step) => step.verdict !== undefined) ?? {};
  return verdict === undefined ? {} : { verdict: { verdict, time } };
}

/** What a flow is told of a message that is in no inbox. */
export function warningsOf({ mayRepeat }: SpilledFacts): ('not-in-inbox' | 'may-repeat')[] {
  return mayRepeat ? ['not-in-inbox', 'may-repeat'] : ['not-in-inbox'];
}

export function messageFrame(spilled: SpilledMessage, bytes: Uint8Array): MessageFrame {
  const { deliveryId, columns, progress, first, ended, mayRepeat, node } = spilled;
  const message = { ...columns, bytes };
  return { kind: 'message', deliveryId, message, progress, first, ended, mayRepeat, node };
}

/** As it enters the inbox, which knows no more of where it was: what may come twice says so there, too. */
export function importedRecord(
  { deliveryId, columns, progress, mayRepeat, wasBrought }: SpilledMessage,
  bytes: Uint8Array,
): Brought {
  const facts = mayRepeat ? factsWithWarnings(columns.facts, ['may-repeat']) : columns.facts;
  const message = { ...columns, facts, bytes };
  return { deliveryId, progress, message, ...(wasBrought && { wasBrought }) };
}

/** What is spilled, as it is looked for: by id, by alarm, and in the order in which it goes to the flow. No rules of its own. */
export class SpilledMessages {
  readonly #all = new Map<string, SpilledMessage>();
  /** By station and message id: each with other content. */
  readonly #copies = new Map<string, SpilledMessage[]>();
  /** By endpoint: those that wait, in their order. */
  readonly #waiting = new Map<string, SpilledMessage[]>();
  /** By alarm, in their order. */
  readonly #alarms = new Map<string, SpilledMessage[]>();

  get size(): number {
    return this.#all.size;
  }

  all(): SpilledMessage[] {
    return [...this.#all.values()];
  }

  some(is: (spilled: SpilledMessage) => boolean): boolean {
    for (const spilled of this.#all.values()) if (is(spilled)) return true;
    return false;
  }

  add(spilled: SpilledMessage): void {
    this.#all.set(spilled.deliveryId, spilled);
    insert(this.#copies, idOf(spilled.columns), spilled);
    const alarm = alarmKeyOf(spilled.columns);
    if (alarm !== undefined && spilled.columns.state === 'received') insert(this.#alarms, alarm, spilled);
    if (spilled.progress.state === 'received') insert(this.#waiting, spilled.columns.endpoint, spilled);
  }

  remove(spilled: SpilledMessage): void {
    this.#all.delete(spilled.deliveryId);
    take(this.#copies, idOf(spilled.columns), spilled);
    take(this.#waiting, spilled.columns.endpoint, spilled);
    const alarm = alarmKeyOf(spilled.columns);
    if (alarm !== undefined) take(this.#alarms, alarm, spilled);
  }

  find(deliveryId: string): SpilledMessage | undefined {
    return this.#all.get(deliveryId);
  }

  copiesOf(likeness: MessageKey): readonly SpilledMessage[] {
    return this.#copies.get(idOf(likeness)) ?? [];
  }

  ofAlarm(likeness: Pick<MessageKey, 'station' | 'alarm'>): readonly SpilledMessage[] {
    const alarm = alarmKeyOf(likeness);
    return alarm === undefined ? [] : (this.#alarms.get(alarm) ?? []);
  }

  /** In the order in which they go to the flow. */
  waiting(endpoint: string): readonly SpilledMessage[] {
    return this.#waiting.get(endpoint) ?? [];
  }

  /** By endpoint, of which any wait. */
  endpoints(): string[] {
    return [...this.#waiting.keys()];
  }

  /** What was of one endpoint is of another. */
  move(spilled: SpilledMessage, endpoint: string): void {
    const waits = spilled.progress.state === 'received';
    if (waits) take(this.#waiting, spilled.columns.endpoint, spilled);
    spilled.columns = { ...spilled.columns, endpoint };
    if (waits) insert(this.#waiting, endpoint, spilled);
  }

  change(spilled: SpilledMessage, progress: Progress): void {
    const was = spilled.progress.state;
    spilled.progress = progress;
    spilled.change += 1;
    const { state } = progress;
    const { endpoint } = spilled.columns;
    if (was === 'received' && state !== 'received') take(this.#waiting, endpoint, spilled);
    if (was !== 'received' && state === 'received') insert(this.#waiting, endpoint, spilled);
    freeBytes(spilled);
  }
}

function idOf({ station, id, named }: MessageKey): string {
  return `${station}\n${Number(named)}${id}`;
}

function alarmKeyOf({ station, alarm }: Pick<MessageKey, 'station' | 'alarm'>): string | undefined {
  return alarm === undefined ? undefined : alarmOf(station, alarm);
}

/** Security before health, each in its order; what comes back has its place. */
function insert(lists: Map<string, SpilledMessage[]>, key: string, spilled: SpilledMessage): void {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  let at = list.length;
  while (at > 0 && isBefore(spilled, list[at - 1])) at -= 1;
  list.splice(at, 0, spilled);
}

function isBefore(one: SpilledMessage, other: SpilledMessage | undefined): boolean {
  if (other === undefined) return false;
  const ranks = one.columns.rank - other.columns.rank;
  return ranks === 0 ? one.order < other.order : ranks < 0;
}

function take(lists: Map<string, SpilledMessage[]>, key: string, spilled: SpilledMessage): void {
  const list = lists.get(key);
  const at = list?.indexOf(spilled) ?? -1;
  if (list === undefined || at < 0) return;
  list.splice(at, 1);
  if (list.length === 0) lists.delete(key);
}

/** What is spilled at most, in bytes; beyond it the senders keep their messages. */
const MAX_BYTES = 256 * 1024 * 1024;
/** More than the largest message needs with all that is kept of it, in bytes. */
const LARGEST_FRAME = 4 * 1024 * 1024;

export interface SpillJournalOptions {
  folder: string;
  /** File that names the folders in which messages may wait. */
  register: string;
  /** Told of a file that holds what could not be read or stored, and stays. */
  onLeft: (file: string) => void;
}

/** All files of frames, in all spill folders that are or were set: written, read at a start, and removed once nobody needs them. */
export class SpillJournal {
  readonly #folders = new Map<string, SpillFolder>();
  readonly #register: SpillRegister;
  /** In the order of writing. */
  #segments: (Segment & { base: string })[] = [];
  /** Those that stay, and can be given no other name. */
  readonly #told = new WeakSet<Segment>();
  readonly #file: SpillFile;
  readonly #probe = new SpillProbe();
  #current: SpillFolder;
  #isClosed = false;

  constructor(private readonly options: SpillJournalOptions) {
    this.#register = new SpillRegister(options.register);
    for (const folder of this.#register.read()) this.#add(folder);
    this.#current = this.#add(options.folder);
    this.#file = new SpillFile({
      folder: () => this.#current.own(),
      capacity: () => this.#capacity,
      onSegment: (segment) => this.#begun(segment),
    });
  }

  get folder(): string {
    return this.#current.folder;
  }

  /** True where `take` may find more later. */
  get isShared(): boolean {
    return [...this.#folders.values()].some((folder) => folder.isShared);
  }

  /** From now on frames are written there. */
  async moveTo(folder: string): Promise<void> {
    this.#current = this.#add(folder);
    this.#register.write([...this.#folders.keys()]);
    await this.#file.leaveFile();
  }

  /** What is wrong with the folder, before it is needed: undefined where it can be written. */
  check(): string | undefined {
    const probe = path.join(this.folder, `probe-${process.pid}`);
    try {
      ensurePrivateFolder(this.folder);
      fs.writeFileSync(probe, '');
      fs.unlinkSync(probe);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown fault';
    }
  }

  /** Resolves with whether a frame could be written now: the folder is tried, at most once a second. */
  async wouldTake(): Promise<boolean> {
    return !this.#isClosed && this.#capacity > LARGEST_FRAME && this.#probe.passes(this.folder);
  }

  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written> {
    return this.#isClosed ? Promise.reject(new Error('it is closed')) : this.#file.append(frame);
  }

  /** What is there that no living process has, oldest first. */
  async take(): Promise<ReadSegment[]> {
    const found: (ReadSegment & { segment: Segment & { base: string } })[] = [];
    for (const [base, folder] of this.#folders) {
      for (const each of await folder.take())
        found.push({ ...each, segment: Object.assign(each.segment, { base }) });
    }
    found.sort((one, other) => one.number - other.number);
    this.#segments.unshift(...found.map(({ segment }) => segment));
    return found;
  }

  /**
   * Removes the files before the first that is needed, or is written meanwhile; all of them where none is. One that cannot be
   * removed keeps all behind it until the next time: they may say of its messages that they are in the inbox.
   * @param isNeeded asked at the last moment; undefined = it is not known
   */
  async drop(isNeeded: () => ReadonlySet<Segment> | undefined): Promise<void> {
    await this.#file.leaveFile();
    const needed = isNeeded();
    if (needed === undefined) return;
    const first = this.#segments.findIndex(
      (segment) => needed.has(segment) || segment === this.#file.segment,
    );
    for (const segment of this.#segments.slice(0, first < 0 ? this.#segments.length : first))
      if (!(await this.#drop(segment))) break;
    for (const folder of this.#folders.values()) await folder.tidy(() => this.#file.isInUse);
    if (this.#segments.length > 0) return;
    for (const folder of this.#folders.values())
      if (folder !== this.#current && !folder.isShared) this.#folders.delete(folder.folder);
    this.#register.write([...this.#folders.keys()]);
  }

  /** Ends writing; what is there stays. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file.leaveFile();
    for (const folder of this.#folders.values()) {
      await folder.tidy(() => this.#file.isInUse);
      folder.release();
    }
  }

  /** In bytes. */
  get #capacity(): number {
    return MAX_BYTES - this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #add(folder: string): SpillFolder {
    const known = this.#folders.get(folder) ?? new SpillFolder(folder);
    this.#folders.set(folder, known);
    return known;
  }

  #begun(segment: Segment): void {
    const base = this.folder;
    if (this.#segments.length === 0) this.#register.write([...this.#folders.keys()]);
    this.#segments.push(Object.assign(segment, { base }));
  }

  /** False where it is still there. */
  async #drop(segment: Segment & { base: string }): Promise<boolean> {
    try {
      const left = await dropSegment(segment, segment.base);
      if (left !== undefined) this.options.onLeft(left);
    } catch {
      if (fs.existsSync(segment.file)) return this.#stays(segment);
    }
    this.#segments = this.#segments.filter((other) => other !== segment);
    return true;
  }

  #stays(segment: Segment): false {
    if (segment.isDamaged && !this.#told.has(segment)) this.options.onLeft(segment.file);
    this.#told.add(segment);
    return false;
  }
}
