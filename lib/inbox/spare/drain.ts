import { withTimeout } from '../../concurrency/timers';
import {
  DISK_FULL,
  endStep,
  reasonOf,
  type SpareRecord,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import type { Spare } from './spare';

/** Messages that enter together. */
const BATCH = 100;

/** Told what enters the inbox. */
export interface DrainEvents {
  /** So many more of an endpoint wait in it, or fewer. */
  counts(endpoint: string, change: number): void;
  /** One more message of a node is in it, and nowhere else. */
  entered(node: string): void;
  /** It works, and will not have one. */
  refused(): void;
  /** What was asked of an endpoint meanwhile may be asked again. */
  waits(endpoint: string): void;
}

/**
 * Moves what a spare has into the inbox, in order, in the state it has: what the flow has at work goes on under its delivery id.
 * A message is in both between the commit there and its removal here; brought again it is known by its delivery id, and
 * whichever has come further counts.
 * @param timeoutMs time for the inbox to take a batch, in milliseconds
 * @throws RvmError STORE_FAILED of the inbox; what has not entered stays. A spare that cannot be read is stuck
 */
export async function drain(
  spare: Spare,
  main: Pick<StorePort, 'call'>,
  events: DrainEvents,
  timeoutMs: number,
): Promise<void> {
  await tellEnds(spare, main, events);
  for (let after = 0; ;) {
    const last = await spare.alone(() => moveBatch(spare, main, events, { after, timeoutMs }));
    if (spare.isStuck) await doubtTwins(spare, main);
    for (const endpoint of spare.endpointsWaiting) events.waits(endpoint);
    if (last === undefined) return;
    after = last;
  }
}

/** What the inbox has taken after all, or too late, goes to the flow from there, too: nobody can say now how far it has come here. */
async function doubtTwins(spare: Spare, main: Pick<StorePort, 'call'>): Promise<void> {
  const late = await Promise.all(spare.late.values());
  await main.call('doubt', [...spare.deliveryIds, ...late.filter((id) => id !== undefined)]);
}

async function tellEnds(spare: Spare, main: Pick<StorePort, 'call'>, events: DrainEvents): Promise<void> {
  for (const { deliveryId, state, step = endStep(state) } of spare.ends.values()) {
    const finished = await main.call('finish', { deliveryId, state, give: false, step });
    if (finished?.was === 'received') events.counts(finished.endpoint, -1);
    await spare.dropEnd(deliveryId);
  }
}

/** @returns the last sequence; undefined where there are no more. @throws RvmError STORE_FAILED */
async function moveBatch(
  spare: Spare,
  main: Pick<StorePort, 'call'>,
  events: DrainEvents,
  { after, timeoutMs }: { after: number; timeoutMs: number },
): Promise<number | undefined> {
  const batch = await spare.call('carry', { after, limit: BATCH }).catch(() => undefined);
  spare.isStuck = batch === undefined;
  if (batch === undefined) return undefined;
  const entered: SpareRecord[] = [];
  try {
    // What an inbox takes that does not answer is offered again all the same: it knows it then.
    const entering = enterAll(spare, main, events, { batch, entered });
    if ((await withTimeout(entering, timeoutMs)) === undefined) throw storeFailed(TOO_SLOW);
  } finally {
    const done = [...entered];
    // What could not be read any more has gone from its place all the same: its file is kept.
    for (const record of done) if (isReadable(record)) events.entered(record.node ?? record.endpoint);
    await withTimeout(spare.gone(done.map(idOf)), timeoutMs);
  }
  return batch.at(-1)?.sequence;
}

/** @throws RvmError STORE_FAILED where the inbox stores nothing */
async function enterAll(
  spare: Spare,
  main: Pick<StorePort, 'call'>,
  events: DrainEvents,
  { batch, entered }: { batch: readonly SpareRecord[]; entered: SpareRecord[] },
): Promise<true> {
  const ids = await Promise.all(batch.map(async (record) => spare.late.get(idOf(record))));
  const entering = batch.map(async (record, index) => {
    if (await enter(spare, main, events, { record, lateId: ids[index] })) entered.push(record);
  });
  for (const outcome of await Promise.allSettled(entering))
    if (outcome.status === 'rejected') throw outcome.reason;
  return true;
}

/** True where it has entered. @throws RvmError STORE_FAILED where the inbox stores nothing */
async function enter(
  spare: Spare,
  main: Pick<StorePort, 'call'>,
  events: DrainEvents,
  { record, lateId }: { record: SpareRecord; lateId: string | undefined },
): Promise<boolean> {
  const deliveryId = idOf(record);
  if (!spare.has(deliveryId) || spare.isRefused(deliveryId)) return false;
  if (!isReadable(record)) return true;
  const wasBrought = spare.isBroughtAgain(deliveryId, record.state);
  const take = { record, ...(wasBrought && { wasBrought }), ...(lateId !== undefined && { lateId }) };
  const bring = async (): Promise<true> => {
    events.counts(record.endpoint, await main.call('bring', take));
    return true;
  };
  try {
    return await bring();
  } catch {
    // One that cannot be stored must not keep those behind it; unless nothing can be.
    await main.call('ping', undefined);
  }
  return bring().catch(async (error: unknown) => {
    // It has room for a ping, and for none of them.
    if (reasonOf(error).startsWith(DISK_FULL)) throw error;
    // Taken the first time without an answer, it would go to the flow from there, too.
    if ((await main.call('stateOf', deliveryId)) !== undefined) throw error;
    spare.refuse(deliveryId);
    events.refused();
    return false;
  });
}

function idOf(record: SpareRecord): string {
  return record.delivery_id;
}

/** False where its body cannot be read any more. */
function isReadable({ facts, bytes }: SpareRecord): boolean {
  return facts !== null && bytes !== null;
}
