import { TimeoutBreaker, withTimeout } from '../../concurrency/timers';
import type { OutageLog } from '../incidents';
import type { MessageState } from '../model';
import type { EventQueues } from '../queue/event-queues';
import type { StoreHealth } from '../store-health';
import {
  DISK_FULL,
  endStep,
  type KeptMessage,
  reasonOf,
  type SpareRecord,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import { isOpenState, messageKeyOf } from '../store/stored-message';
import type { Spare } from './spare';

/** Messages that enter, or of which is asked, together. */
const BATCH = 100;

interface DrainOptions {
  queues: EventQueues;
  health: Pick<StoreHealth, 'lookLater'>;
  /** Told what enters the inbox; absent where another spare is filled, which counts what waits in it. */
  outages?: Pick<OutageLog, 'entered'>;
  /** Time to take a batch, in milliseconds. */
  timeoutMs: number;
}

/** A batch on its way. */
interface Entry {
  spare: Spare;
  entered: SpareRecord[];
  /** Its time is over: what has not entered is brought with the next one. */
  isOver: boolean;
}

/**
 * Moves what a spare has into the inbox, in order, in the state it has: what the flow has at work goes on under its delivery id.
 * A message is in both between the commit there and its removal here; brought again it is known by its delivery id, and
 * whichever has come further counts.
 */
export class SpareDrain {
  /** Counts the messages that have left for the inbox. */
  moves = 0;

  constructor(
    private readonly main: Pick<StorePort, 'call'>,
    private readonly options: DrainOptions,
  ) {}

  /** @throws RvmError STORE_FAILED of the inbox; what has not entered stays. A spare that cannot be read is stuck */
  async run(spare: Spare): Promise<void> {
    const { queues, health } = this.options;
    await this.#tellEnds(spare);
    for (let after = 0; ;) {
      const last = await spare.alone(() => this.#moveBatch(spare, after));
      if (spare.isStuck) await this.#doubtTwins(spare);
      // What was asked of them meanwhile may be asked again.
      for (const endpoint of spare.endpointsWaiting) queues.waitsBeside(endpoint);
      if (spare.endpointsWaiting.length > 0) health.lookLater();
      if (last === undefined) return;
      after = last;
    }
  }

  /** What the inbox has taken after all, or too late, goes to the flow from there, too: nobody can say now how far it has come here. */
  async #doubtTwins(spare: Spare): Promise<void> {
    const late = await Promise.all(spare.late.values());
    await this.main.call('doubt', [...spare.deliveryIds, ...late.filter((id) => id !== undefined)]);
  }

  async #tellEnds(spare: Spare): Promise<void> {
    for (const { deliveryId, state, step = endStep(state) } of spare.ends.values()) {
      const finished = await this.main.call('finish', { deliveryId, state, give: false, step });
      if (finished?.was === 'received') this.#count(finished.endpoint, -1);
      await spare.dropEnd(deliveryId);
    }
  }

  /** So many more of an endpoint wait in the inbox, or fewer. */
  #count(endpoint: string, change: number): void {
    if (this.options.outages !== undefined) this.options.queues.of(endpoint).count(change);
  }

  /** @returns the last sequence; undefined where there are no more. @throws RvmError STORE_FAILED */
  async #moveBatch(spare: Spare, after: number): Promise<number | undefined> {
    const isThere = await spare.takeBack();
    const reading = isThere ? spare.call('carry', { after, limit: BATCH }) : undefined;
    const batch = await reading?.catch(() => undefined);
    spare.wasRead(batch !== undefined);
    if (batch === undefined) return undefined;
    const { outages, timeoutMs } = this.options;
    const entry: Entry = { spare, entered: [], isOver: false };
    try {
      // What an inbox takes that does not answer is offered again all the same: it knows it then.
      const entering = this.#enterAll(entry, batch).then(() => true);
      if ((await withTimeout(entering, timeoutMs)) === undefined) throw storeFailed(TOO_SLOW);
    } finally {
      entry.isOver = true;
      const done = [...entry.entered];
      this.moves += done.length;
      for (const { node, endpoint } of done) outages?.entered(node ?? endpoint);
      await withTimeout(spare.gone(done.map(idOf)), timeoutMs);
    }
    return batch.at(-1)?.sequence;
  }

  /** @throws RvmError STORE_FAILED where the inbox stores nothing */
  async #enterAll(entry: Entry, batch: readonly SpareRecord[]): Promise<void> {
    const ids = await Promise.all(batch.map(async (record) => entry.spare.late.get(idOf(record))));
    const entering = batch.map(async (record, index) => {
      if (await this.#enter(entry, record, ids[index])) entry.entered.push(record);
    });
    for (const outcome of await Promise.allSettled(entering))
      if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** True where it has entered. @throws RvmError STORE_FAILED where the inbox stores nothing */
  async #enter(entry: Entry, record: SpareRecord, lateId: string | undefined): Promise<boolean> {
    const { spare } = entry;
    const deliveryId = idOf(record);
    if (entry.isOver || !spare.has(deliveryId)) return false;
    if (spare.refused.has(deliveryId) || spare.unclaimed.has(deliveryId)) return false;
    const wasBrought = spare.isBroughtAgain(deliveryId, record.state);
    const take = { record, ...(wasBrought && { wasBrought }), ...(lateId !== undefined && { lateId }) };
    const bring = async (): Promise<true> => {
      this.#count(record.endpoint, await this.main.call('bring', take));
      return true;
    };
    try {
      return await bring();
    } catch (error) {
      if (entry.isOver) throw error;
      // One that cannot be stored must not keep those behind it; unless nothing can be.
      await this.main.call('ping', undefined);
      if (entry.isOver) throw error;
    }
    return bring().catch(async (error: unknown) => {
      // It has room for a ping, and for none of them.
      if (entry.isOver || reasonOf(error).includes(DISK_FULL)) throw error;
      // Taken the first time without an answer, it would go to the flow from there, too.
      if ((await this.main.call('stateOf', deliveryId)) !== undefined) throw error;
      spare.refused.add(deliveryId);
      return false;
    });
  }
}

function idOf(record: SpareRecord): string {
  return record.delivery_id;
}

/**
 * What a former process has left may have entered the inbox, and been settled there, where it could not remove it here any more:
 * so the inbox is asked before it goes to the flow. Where that does not tell, an event that the flow has not had says that it
 * may come twice; one that it has had says so anyway.
 * What came to two processes goes to the flow twice: both say so. Fails never.
 * @param kept what is in it
 * @param timeoutMs time for the inbox to tell of a batch, in milliseconds; at a start it is to be opened first
 */
export async function settleDoubt(
  spare: Spare,
  kept: readonly KeptMessage[],
  { others, main, timeoutMs }: { others: readonly Spare[]; main: StorePort; timeoutMs: number },
): Promise<void> {
  for (const other of others)
    await markTwins(spare, kept, other).catch(() => [spare, other].forEach((each) => each.cannotTell()));
  const open = kept.filter(({ state }) => isOpenState(state));
  const breaker = new TimeoutBreaker();
  for (let at = 0; at < open.length; at += BATCH) {
    const batch = open.slice(at, at + BATCH);
    const asking = breaker.isOpen ? [] : batch.map((row) => isInside(main, row));
    const answers = (await breaker.within(Promise.all(asking), timeoutMs))?.give ?? [];
    const having = (answer: boolean | undefined): KeptMessage[] =>
      batch.filter((_row, index) => answers[index] === answer);
    const unsure = having(undefined).filter(({ attempt }) => attempt === 0);
    const inside = having(true);
    try {
      if (unsure.length > 0) await spare.call('doubt', unsure.map(keptId));
      if (inside.length > 0) await removeOpen(spare, inside.map(keptId));
    } catch {
      spare.cannotTell();
    }
  }
}

/** Not one of which somebody has said meanwhile that it is settled. @throws RvmError STORE_FAILED */
async function removeOpen(spare: Spare, deliveryIds: readonly string[]): Promise<void> {
  const isRemoved = await spare.alone(async () => {
    const states = await Promise.all(deliveryIds.map((id) => spare.call('stateOf', id)));
    const isOpen = (state: MessageState | undefined): boolean => state !== undefined && isOpenState(state);
    await spare.gone(deliveryIds.filter((_id, index) => isOpen(states[index])));
    return true;
  });
  if (isRemoved !== true) throw storeFailed(TOO_SLOW);
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

async function markTwins(spare: Spare, kept: readonly KeptMessage[], other: Spare): Promise<void> {
  for (const row of kept) {
    const { outcome, deliveryId } = await other.call('look', messageKeyOf(row));
    if (outcome !== 'repeat' || deliveryId === undefined) continue;
    await Promise.all([spare.call('doubt', [row.deliveryId]), other.call('doubt', [deliveryId])]);
  }
}

function keptId({ deliveryId }: KeptMessage): string {
  return deliveryId;
}
