import type { ActOn, Finish, Progress, StoreCalls } from '../store/protocol';
import { MOST_STEPS, type NotedStep } from '../store/step';
import { isDeadState, isOpenState } from '../store/stored-message';

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
export function isExhausted({ state, again }: Progress): boolean {
  return state === 'dead' && again === 'attempts';
}
