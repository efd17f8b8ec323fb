import type { MoveProgress } from './move-progress';
import { KEYS, type KeyName, type SourceFile } from './source-file';
import { storeFailed } from '../store/port';
import type { Target } from './target';
import type { MovedSlotCounts } from './target-slots';

/** What the database has taken over besides the messages that are final. */
export interface SwitchOver extends MovedSlotCounts {
  /** Events that wait there now. */
  waiting: number;
  /** Dead letters that can be had again. */
  dead: number;
  quarantined: number;
  /** What the keys that it had already are for: of the file, they are of no use there. */
  ownKeys: KeyName[];
}

/**
 * The database takes over, in one transaction: before it the file counts, after it the database.
 * @throws Error of `pg`, and of SQLite; RvmError STORE_FAILED where what flows keep is not there as it is in the file
 */
export function switchOver(source: SourceFile, target: Target, progress: MoveProgress): Promise<SwitchOver> {
  return target.session.transaction(true, async () => {
    const unfinished = await target.handOver(source.id);
    await target.addEndpoints(source.endpoints());
    const quarantine = source.quarantine();
    await target.addQuarantine(quarantine, progress.clock);
    const ownKeys: KeyName[] = [];
    for (const name of KEYS) {
      const key = source.meta(name);
      if (key !== undefined && !(await target.addKey(name, key))) ownKeys.push(name);
    }
    const slots = await moveSlots(source, target);
    await target.setProgress(source.id, { ...progress, isDone: true });
    return { ...unfinished, ...slots, quarantined: quarantine.length, ownKeys };
  });
}

async function moveSlots(source: SourceFile, target: Target): Promise<MovedSlotCounts> {
  const sum = { slots: 0, ownSlots: 0 };
  for (const batch of source.slots()) {
    const moved = await target.slots.add(source.id, batch);
    if (moved === undefined)
      throw storeFailed(
        'a value that flows keep is not in the database as it is in the file: run this again',
      );
    sum.slots += moved.slots;
    sum.ownSlots += moved.ownSlots;
  }
  return sum;
}
