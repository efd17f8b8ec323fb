import { withTimeout } from '../../concurrency/timers';
import { DISK_FULL, reasonOf, storeFailed, type StorePort } from '../store/port';
import type { Spilling } from './spilling';
import { broughtMessage, type SpilledMessage } from './spilled-message';
import { readFrame } from './segment';

/** Messages that enter together. */
const BATCH = 100;
/** Before what the inbox would not have is offered to it again, in milliseconds. */
const OFFER_AGAIN = 60_000;

export interface BringingWork {
  /** Time for the inbox to take a batch, in milliseconds: then the flow has what is in it from beside the inbox again. */
  patience: number;
  /** So many more of an endpoint wait in the inbox, or fewer. */
  counts(endpoint: string, change: number): void;
  /** One more message of a node is in the inbox, and nowhere else. */
  entered(node: string): void;
  /** The inbox works, and would not have so many: they stay where they are. */
  refused(count: number): void;
  /** It is to be looked whether they can enter. */
  lookAgain(): void;
}

/** What is spilled, with what has to be read of it. */
interface ReadMessage {
  spilled: SpilledMessage;
  /** False where it could not be written: then nobody was told that it was. */
  isKept: boolean;
  /** Absent where its file cannot be read any more. */
  bytes?: Uint8Array | undefined;
  /** The delivery id of its row, where the inbox took it after all. */
  lateId?: string;
}

/** Takes what is spilled into the inbox, in the state it has: what the flow has at work goes on under its delivery id. */
export class Bringing {
  #isBringing: Promise<void> | undefined;
  /** Messages that were refused since they were last offered again. */
  #refusals = 0;

  constructor(
    private readonly main: StorePort,
    private readonly spilling: Spilling,
    private readonly work: BringingWork,
  ) {}

  /**
   * Asked again meanwhile, it is the same work.
   * @throws RvmError STORE_FAILED; what has not entered stays
   */
  all(): Promise<void> {
    this.#isBringing ??= this.#all().finally(() => {
      this.#isBringing = undefined;
    });
    return this.#isBringing;
  }

  /** Settles when nothing is under way. */
  async ended(): Promise<void> {
    await this.#isBringing?.catch(() => undefined);
  }

  async #all(): Promise<void> {
    await this.spilling.takeMore();
    await this.#tellSettlements();
    const pending = this.spilling.pending();
    for (let at = 0; at < pending.length; at += BATCH) {
      // In the order of receipt: an end that entered first would be the beginning of its alarm.
      await this.#move(await Promise.all(pending.slice(at, at + BATCH).map((each) => this.#read(each))));
    }
    await this.spilling.drop();
    if (this.#refusals > 0) this.work.refused(this.#refusals);
  }

  async #tellSettlements(): Promise<void> {
    for (const settlement of this.spilling.settlements()) {
      const { deliveryId, state, step } = settlement;
      const finished = await this.main.call('finish', { deliveryId, state, give: false, step });
      if (finished?.was === 'received') this.work.counts(finished.endpoint, -1);
      this.spilling.settled(settlement);
    }
  }

  async #read(spilled: SpilledMessage): Promise<ReadMessage> {
    const isKept = await spilled.kept.then(
      () => true,
      () => false,
    );
    if (!isKept) return { spilled, isKept };
    const lateId = await spilled.late;
    return { spilled, isKept, bytes: await this.#bytesOf(spilled), ...(lateId !== undefined && { lateId }) };
  }

  /** Nothing is asked of them meanwhile. @throws RvmError STORE_FAILED */
  async #move(batch: readonly ReadMessage[]): Promise<void> {
    const messages = batch.map(({ spilled }) => spilled);
    // Leased in the inbox, and held by nobody yet, it would be given back there.
    const leasing = (): Promise<void>[] => messages.flatMap((spilled) => spilled.leasing ?? []);
    while (leasing().length > 0) await Promise.all(leasing());
    const moving = this.#moveInTime(batch);
    const moved = moving.catch(() => undefined);
    for (const spilled of messages) spilled.moving = moved;
    try {
      await moving;
    } finally {
      const left = messages.filter(
        (each) => each.moving === moved && this.spilling.store.has(each.deliveryId),
      );
      for (const spilled of left) spilled.moving = undefined;
      this.spilling.release(left);
    }
  }

  /** What an inbox takes that does not answer is offered again all the same: it knows it then. */
  async #moveInTime(batch: readonly ReadMessage[]): Promise<void> {
    const { patience } = this.work;
    const entered: ReadMessage[] = [];
    try {
      if (!(await withTimeout(this.#enterAll(batch, entered), patience)))
        throw storeFailed('it answers too slowly');
    } finally {
      const noting = this.#entered([...entered]);
      // Also where that takes long: what becomes of them from now on is known in the inbox.
      for (const { spilled } of entered) spilled.moving = noting;
      await withTimeout(noting, patience);
    }
  }

  /** What could not be read any more has gone from its place all the same. */
  #entered(batch: readonly ReadMessage[]): Promise<void> {
    for (const { spilled, bytes } of batch) if (bytes !== undefined) this.work.entered(spilled.node);
    return this.spilling.entered(batch.map(({ spilled }) => spilled));
  }

  /** @throws RvmError STORE_FAILED where the inbox stores nothing */
  async #enterAll(batch: readonly ReadMessage[], entered: ReadMessage[]): Promise<true> {
    const entering = await Promise.allSettled(
      batch.map(async (read) => {
        if (await this.#enter(read)) entered.push(read);
      }),
    );
    for (const result of entering) if (result.status === 'rejected') throw result.reason;
    return true;
  }

  /** True where it has entered. */
  async #enter({ spilled, isKept, bytes, lateId }: ReadMessage): Promise<boolean> {
    if (!isKept) return false;
    if (bytes === undefined) return true;
    const brought = { ...broughtMessage(spilled, bytes), ...(lateId !== undefined && { lateId }) };
    spilled.wasBrought ||= spilled.progress.state !== 'received';
    const bring = async (): Promise<true> => {
      // Its endpoint may have become another one since it was refused.
      const { endpoint } = spilled.columns;
      const message = { ...brought.message, endpoint };
      this.work.counts(endpoint, await this.main.call('bring', { ...brought, message }));
      return true;
    };
    try {
      return await bring();
    } catch {
      // One that cannot be stored must not keep those behind it; unless nothing can be.
      await this.main.call('ping', undefined);
    }
    return bring().catch((error: unknown) => {
      // It has room for a ping, and for none of them.
      if (reasonOf(error).startsWith(DISK_FULL)) throw error;
      return this.#refuse(spilled);
    });
  }

  /** Undefined where its file cannot be read any more, which is then kept. */
  async #bytesOf({ bytes, place }: SpilledMessage): Promise<Uint8Array | undefined> {
    if (bytes !== undefined || place === undefined) return bytes;
    const frame = await readFrame(place.segment, place);
    if (frame?.kind === 'message') return frame.message.bytes;
    place.segment.isDamaged = true;
    return undefined;
  }

  /** A fault that passes may be the reason, or a disk that has room for less: it stays where it is, and goes to the flow from there. */
  #refuse(spilled: SpilledMessage): false {
    spilled.isRefused = true;
    this.#refusals += 1;
    if (this.#refusals === 1) setTimeout(() => this.#offerAgain(), OFFER_AGAIN).unref();
    return false;
  }

  #offerAgain(): void {
    this.#refusals = 0;
    if (this.spilling.retryRefused()) this.work.lookAgain();
  }
}
