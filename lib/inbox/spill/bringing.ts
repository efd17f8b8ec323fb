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
      const moved = await Promise.allSettled(pending.slice(at, at + BATCH).map((each) => this.#move(each)));
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

  /** True where it has entered. */
  async #move(spilled: SpilledMessage): Promise<boolean> {
    const entering = this.#enter(spilled)
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

  async #enter(spilled: SpilledMessage): Promise<boolean> {
    const isKept = await spilled.kept.then(
      () => true,
      () => false,
    );
    if (!isKept) return false;
    const lateId = await spilled.late;
    const bytes = await this.#bytesOf(spilled);
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
