import { forEachTimeSliced } from '../../concurrency/iteration';
import type { ListQuery } from '../inbox';
import type { LeasedMessage } from '../store/protocol';
import { isListed } from '../store/stored-message';
import { leasedMessage, type SpilledMessage } from './spilled-message';
import type { SpilledMessages } from './spilled-messages';

/** A spilled message as it is at the moment of a list. */
export interface SpilledRow {
  spilled: SpilledMessage;
  row: LeasedMessage;
}

/** What is spilled of a list, newest first, at one moment: that in which it resolves. */
export async function listSpilled(messages: SpilledMessages, query: ListQuery): Promise<SpilledRow[]> {
  const { state, since = 0, until = Infinity, limit } = query;
  if (messages.size === 0) return [];
  const newest = new Newest(limit);
  // The newest first: then most of the others are seen to be older than the last that there is room for.
  // One that is not on the disk was not accepted yet.
  const isWanted = ({ place, progress }: SpilledMessage): boolean =>
    place !== undefined && isListed(state, progress);
  await forEachTimeSliced(messages.all().reverse(), (spilled) => {
    const { received } = spilled.columns;
    if (received >= since && received < until && isWanted(spilled) && isMeant(spilled, query))
      newest.offer(spilled);
  });
  return newest
    .all()
    .filter((spilled) => isWanted(spilled) && messages.find(spilled.deliveryId) === spilled)
    .map((spilled) => ({ spilled, row: leasedMessage(spilled) }));
}

/** Where one message, or one alarm, is asked for. */
function isMeant({ deliveryId, columns }: SpilledMessage, { deliveryId: one, alarm }: ListQuery): boolean {
  if (one !== undefined) return deliveryId === one;
  return alarm === undefined || (columns.station === alarm.station && columns.alarm === alarm.alarmId);
}

/** The newest of many, so many at most. */
class Newest {
  readonly #kept: SpilledMessage[] = [];
  /** The last that there is room for; undefined while there is room for more. */
  #last: SpilledMessage | undefined;

  constructor(private readonly limit: number) {}

  offer(spilled: SpilledMessage): void {
    if (this.#last !== undefined && newestFirst(spilled, this.#last) > 0) return;
    this.#kept.push(spilled);
    if (this.#kept.length >= 2 * this.limit) this.#cut();
  }

  all(): SpilledMessage[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept.sort(newestFirst).splice(this.limit);
    if (this.#kept.length === this.limit) this.#last = this.#kept.at(-1);
  }
}

/** In the order of the inbox: what is spilled has no sequence, but an order of its own. */
function newestFirst(one: SpilledMessage, other: SpilledMessage): number {
  return other.columns.received - one.columns.received || other.order - one.order;
}
