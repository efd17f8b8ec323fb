import type { Finish, Progress, StoreCalls } from '../store/protocol';
import { isDeadState, isOpenState } from '../store/stored-message';

/** The flow has it, once more. As all that follow, it gives how far the event has come then, and changes nothing itself. */
export function handedOver(progress: Progress): Progress {
  return { ...progress, state: 'leased', attempt: progress.attempt + 1, atFlow: true };
}

/** As if never leased: the flow did not get it. Undefined where its lease had ended before: then the flow has had it. */
export function notSent(progress: Progress): Progress | undefined {
  if (!progress.atFlow) return undefined;
  return { ...progress, state: 'received', attempt: progress.attempt - 1, atFlow: false };
}

/** What the flow had may have been acted on: its next delivery is a further attempt, which does not count. */
export function cutOff(progress: Progress): Progress {
  if (progress.state !== 'leased') return progress;
  return {
    ...progress,
    state: 'received',
    atFlow: false,
    ...(progress.atFlow && { cutOff: progress.cutOff + 1, again: 'restart' }),
  };
}

/**
 * Its lease has ended without settlement.
 * @returns counted: attempts so far, without those that were cut off
 */
export function lapsed(
  progress: Progress,
  { again, maxAttempts }: Omit<StoreCalls['lapse']['take'], 'deliveryId'>,
): { progress: Progress; dead: boolean; counted: number } {
  const counted = progress.attempt - progress.cutOff;
  const dead = counted >= maxAttempts;
  const end = dead ? ({ state: 'dead', again: 'attempts' } as const) : ({ state: 'leased', again } as const);
  return { progress: { ...progress, ...end, atFlow: false }, dead, counted };
}

/** That the flow has had it is enough. Undefined where it has come to an end before. */
export function delivered(progress: Progress): Progress | undefined {
  return isOpenState(progress.state) ? { ...progress, state: 'delivered', atFlow: false } : undefined;
}

/** The flow has settled it. Undefined where it has come to an end before, other than for want of attempts. */
export function finished(progress: Progress, state: Finish['state']): Progress | undefined {
  if (!isOpenState(progress.state) && !isExhausted(progress)) return undefined;
  return { ...progress, state, atFlow: false, again: undefined };
}

/** A dead letter for want of attempts waits again, with all its attempts. Undefined for any other. */
export function revived(progress: Progress): Progress | undefined {
  if (!isExhausted(progress)) return undefined;
  return { ...progress, state: 'received', cutOff: progress.attempt, again: 'retry' };
}

/** Nobody wants to see it among the dead ones any more. Undefined where it is none of them. */
export function dismissed(progress: Progress): Progress | undefined {
  return isDeadState(progress.state) ? { ...progress, again: 'dismissed' } : undefined;
}

/** A dead letter that nobody settled: it can be had again. */
export function isExhausted({ state, again }: Progress): boolean {
  return state === 'dead' && again === 'attempts';
}
