import { withTimeout } from '../../concurrency/timers';
import type { MessageState } from '../model';
import type { KeptMessage, StorePort } from '../store/port';
import { isOpenState, messageKeyOf } from '../store/stored-message';
import type { Spare } from './spare';

/** Messages of which is asked together. */
const BATCH = 100;

/**
 * What a former process has left may have entered the inbox, and been settled there, where it could not remove it here any more:
 * so the inbox is asked before it goes to the flow. Where that does not tell, an event that the flow has not had says that it
 * may come twice; one that it has had says so anyway.
 * @param timeoutMs time for the inbox to tell of a batch, in milliseconds; at a start it is to be opened first
 */
export async function settleDoubt(
  spare: Spare,
  kept: readonly KeptMessage[],
  main: StorePort,
  timeoutMs: number,
): Promise<void> {
  const open = kept.filter(({ state }) => isOpenState(state));
  let isAnswered = true;
  for (let at = 0; at < open.length; at += BATCH) {
    const batch = open.slice(at, at + BATCH);
    const asking = Promise.all(batch.map((row) => isInside(main, row)));
    const answers: (boolean | undefined)[] | undefined = isAnswered
      ? await withTimeout(asking, timeoutMs)
      : undefined;
    isAnswered = answers !== undefined;
    const having = (answer: boolean | undefined): string[] =>
      batch.filter((_row, index) => answers?.[index] === answer).map(({ deliveryId }) => deliveryId);
    const unknown = new Set(having(undefined));
    const unsure = batch.filter(({ deliveryId, attempt }) => attempt === 0 && unknown.has(deliveryId));
    if (unsure.length > 0)
      await spare
        .call(
          'doubt',
          unsure.map(({ deliveryId }) => deliveryId),
        )
        .catch(() => undefined);
    await removeOpen(spare, having(true));
  }
}

/** Not one of which somebody has said meanwhile that it is settled. */
function removeOpen(spare: Spare, deliveryIds: readonly string[]): Promise<void> {
  return spare.alone(async () => {
    const states = await Promise.all(deliveryIds.map((id) => spare.call('stateOf', id)));
    const isOpen = (state: MessageState | undefined): boolean => state !== undefined && isOpenState(state);
    await spare.gone(deliveryIds.filter((_id, index) => isOpen(states[index])));
  });
}

/** Whether the inbox has it, and need not be told of it; undefined where it cannot tell. */
async function isInside(main: StorePort, row: KeptMessage): Promise<boolean | undefined> {
  try {
    if (row.attempt === 0) return (await main.call('look', messageKeyOf(row))).outcome === 'repeat';
    const state = await main.call('stateOf', row.deliveryId);
    return state !== undefined && !isOpenState(state);
  } catch {
    return undefined;
  }
}

/** What came to two processes goes to the flow twice: both say so. */
export async function markTwins(
  spare: Spare,
  kept: readonly KeptMessage[],
  others: readonly Spare[],
): Promise<void> {
  for (const other of others)
    for (const row of kept) {
      const { outcome, deliveryId } = await other.call('look', messageKeyOf(row));
      if (outcome !== 'repeat' || deliveryId === undefined) continue;
      await Promise.all([spare.call('doubt', [row.deliveryId]), other.call('doubt', [deliveryId])]);
    }
}
