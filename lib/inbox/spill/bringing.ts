import type { StorePort } from '../store/port';
import type { Spilling } from './spilling';
import type { SpilledMessage } from './spilled-message';
import { readFrame } from './segment';

/** Messages that enter together. */
const BATCH = 100;

export interface BringingWork {
  /** So many more of an endpoint wait in the inbox, or fewer. */
  counts(endpoint: string, change: number): void;
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
  #isBringing: Promise<number> | undefined;

  constructor(
    private readonly main: StorePort,
    private readonly spilling: Spilling,
    private readonly work: BringingWork,
  ) {}

  /**
   * Asked again meanwhile, it is the same work.
   * @returns how many messages have entered
   * @throws RvmError STORE_FAILED; what has not entered stays
   */
  all(): Promise<number> {
    this.#isBringing ??= this.#all().finally(() => {
      this.#isBringing = undefined;
    });
    return this.#isBringing;
  }

  /** Settles when nothing is under way. */
  async ended(): Promise<void> {
    await this.#isBringing?.catch(() => undefined);
  }

  async #all(): Promise<number> {
    await this.spilling.loaded();
    await this.#tellSettlements();
    const pending = this.spilling.pending();
    let count = 0;
    for (let at = 0; at < pending.length; at += BATCH) {
      const batch = await Promise.all(pending.slice(at, at + BATCH).map((each) => this.#read(each)));
      // In the order of receipt: an end that entered first would be the beginning of its alarm.
      const moved = await Promise.allSettled(batch.map((each) => this.#move(each)));
      for (const result of moved) if (result.status === 'rejected') throw result.reason;
      count += moved.filter((result) => result.status === 'fulfilled' && result.value).length;
    }
    await this.spilling.drop();
    return count;
  }

  async #tellSettlements(): Promise<void> {
    for (const settlement of this.spilling.settlements()) {
      const { deliveryId, state } = settlement;
      const finished = await this.main.call('finish', { deliveryId, state, give: false });
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

  /** True where it has entered. */
  async #move(read: ReadMessage): Promise<boolean> {
    const { spilled } = read;
    const entering = this.#enter(read)
      .then((entered) => {
        if (entered) this.spilling.store.messages.remove(spilled);
        return entered;
      })
      .finally(() => {
        spilled.moving = undefined;
      });
    spilled.moving = entering.then(
      () => undefined,
      () => undefined,
    );
    return entering;
  }

  async #enter({ spilled, isKept, bytes, lateId }: ReadMessage): Promise<boolean> {
    if (!isKept) return false;
    if (bytes === undefined) return true;
    const { columns, deliveryId, progress } = spilled;
    const brought = { message: { ...columns, bytes }, deliveryId, progress };
    try {
      const change = await this.main.call('bring', { ...brought, ...(lateId !== undefined && { lateId }) });
      this.work.counts(columns.endpoint, change);
      return true;
    } catch {
      // One that cannot be stored must not keep those behind it; unless nothing can be.
      await this.main.call('ping', undefined);
      this.#refuse(spilled);
      return false;
    }
  }

  /** Undefined where its file cannot be read any more, which is then kept. */
  async #bytesOf({ bytes, place }: SpilledMessage): Promise<Uint8Array | undefined> {
    if (bytes !== undefined || place === undefined) return bytes;
    const frame = await readFrame(place.segment, place);
    if (frame?.kind === 'message') return frame.message.bytes;
    place.segment.isDamaged = true;
    return undefined;
  }

  #refuse(spilled: SpilledMessage): void {
    spilled.isRefused = true;
    if (spilled.place !== undefined) spilled.place.segment.isDamaged = true;
  }
}
