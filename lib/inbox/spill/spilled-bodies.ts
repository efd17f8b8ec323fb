import { withTimeout } from '../../concurrency/timers';
import { MAX_LISTED } from '../store/stored-message';
import { readFrames, type Segment } from './segment';
import type { SpilledRow } from './spilled-list';

/** Reads the bodies that a list shows of messages which need not be in memory any more. */
export class SpilledBodies {
  /** Reads of a disk that has not answered: nothing else is read from it until it does. */
  #hanging = 0;

  /** @param patience time for the disk to give one, in milliseconds */
  constructor(private readonly patience: number) {}

  /** Adds them, as far as there is room, and as they can be read. Fails never. */
  async addTo(rows: readonly SpilledRow[]): Promise<void> {
    if (this.#hanging > 0) return;
    // All files at once: what enters the inbox meanwhile leaves none behind, but one that is open can be read.
    await Promise.all([...bySegment(rows)].map(([segment, inSegment]) => this.#read(segment, inSegment)));
  }

  async #read(segment: Segment, rows: readonly SpilledRow[]): Promise<void> {
    const places = rows.map(({ spilled }) => spilled.place).filter((place) => place !== undefined);
    const frames = readFrames(segment, places);
    for (const { spilled, row } of rows) {
      const reading = frames.next();
      const next = await withTimeout(reading, this.patience);
      if (next === undefined) return this.#hangs(reading, frames);
      const frame = next.done === true ? undefined : next.value;
      if (frame?.kind === 'message' && frame.deliveryId === spilled.deliveryId)
        row.bytes = frame.message.bytes;
    }
    await frames.return(undefined);
  }

  /** The file is closed when the disk has answered. */
  #hangs(reading: Promise<unknown>, frames: AsyncGenerator): void {
    this.#hanging += 1;
    void frames.return(undefined);
    void reading.then(() => (this.#hanging -= 1));
  }
}

/** Those that are not in memory, by the file that has them. */
function bySegment(rows: readonly SpilledRow[]): Map<Segment, SpilledRow[]> {
  const found = new Map<Segment, SpilledRow[]>();
  let bytes = 0;
  for (const each of rows) {
    const { place } = each.spilled;
    if (each.row.bytes !== undefined || place === undefined) continue;
    if (bytes > MAX_LISTED) break;
    bytes += place.length;
    const inSegment = found.get(place.segment) ?? [];
    found.set(place.segment, inSegment);
    inSegment.push(each);
  }
  return found;
}
