import type { Brought, LeasedMessage, NewMessage, Progress } from '../store/protocol';
import { factsWithWarnings, isOpenState } from '../store/stored-message';
import type { FramePlace, MessageFrame, SpilledFacts } from './frame';
import { isExhausted } from './progress';
import type { Segment } from './segment';

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

/** One name for an alarm. */
export function alarmOf(station: string, alarm: string): string {
  return `${station}\n${alarm}`;
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
export function broughtMessage(
  { deliveryId, columns, progress, mayRepeat, wasBrought }: SpilledMessage,
  bytes: Uint8Array,
): Brought {
  const facts = mayRepeat ? factsWithWarnings(columns.facts, ['may-repeat']) : columns.facts;
  const message = { ...columns, facts, bytes };
  return { deliveryId, progress, message, ...(wasBrought && { wasBrought }) };
}
