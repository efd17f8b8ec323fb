import {
  cutText,
  MOST_OF_NAME,
  MOST_OF_NOTE,
  type PersonVerdict,
  type HistoryStep,
  type Verdict,
} from '../history';

/** A step of an event beyond its usual course, as a store notes it. */
export interface NotedStep {
  /** Wall clock, in milliseconds since 1970. */
  time: number;
  step: HistoryStep;
  by?: string;
  instance?: string;
  attempt?: number;
  reason?: string;
  note?: string;
  verdict?: Verdict;
}

/** And as it gives it: `place` is counted from 1 in each event. */
export interface StepRow extends NotedStep {
  place: number;
}

/** Steps that are kept of an event beyond its usual course, the newest. */
export const MOST_STEPS = 100;

/** What a store has in columns of its own of the usual course of an event. Wall clock, in milliseconds since 1970. */
export interface Course {
  /** Its first delivery. */
  delivered?: number;
  /** Name of the instance that had it, of several. */
  instance?: string;
  settled?: number;
  settledBy?: string;
}

/** What of a step stands as JSON. */
type StepFacts = Pick<NotedStep, 'instance' | 'reason' | 'note' | 'verdict'>;

/** Null where there is nothing. */
export function stepFacts({ instance, reason, note, verdict }: NotedStep): string | null {
  const facts: StepFacts = {
    ...(instance !== undefined && { instance }),
    ...(reason !== undefined && reason !== '' && { reason: cutText(reason, MOST_OF_NOTE) }),
    ...(note !== undefined && { note: cutText(note, MOST_OF_NOTE) }),
    ...(verdict !== undefined && { verdict }),
  };
  return Object.keys(facts).length === 0 ? null : JSON.stringify(facts);
}

/** A step as a store has it in its columns. */
export interface StepColumns {
  place: unknown;
  time: unknown;
  step: unknown;
  attempt: unknown;
  actor: unknown;
  facts: unknown;
}

/** What a damaged disk has changed of it is left out. */
export function stepRow({ place, time, step, attempt, actor, facts }: StepColumns): StepRow {
  return {
    ...factsIn(facts),
    place: Number(place),
    time: Number(time),
    step: String(step) as HistoryStep,
    ...(attempt !== null && attempt !== undefined && { attempt: Number(attempt) }),
    ...(typeof actor === 'string' && { by: actor }),
  };
}

function factsIn(text: unknown): StepFacts {
  if (typeof text !== 'string') return {};
  try {
    return JSON.parse(text) as StepFacts;
  } catch {
    return {};
  }
}

/** What a person has found, as a step; undefined where that is nothing. */
export function verdictStep(
  { verdict, note = '', by = '' }: PersonVerdict,
  time: number,
): NotedStep | undefined {
  if (verdict === undefined && note === '' && by === '') return undefined;
  return {
    time,
    step: 'verdict',
    ...(verdict !== undefined && { verdict }),
    ...(note !== '' && { note }),
    ...(by !== '' && { by: cutText(by, MOST_OF_NAME) }),
  };
}

/** The end of an event of which no more is known than what has become of it, and that it is now. */
export function endStep(state: 'delivered' | 'dead'): NotedStep {
  return { time: Date.now(), step: state === 'dead' ? 'rejected' : 'settled' };
}
