import type { MoveProgress } from './move-progress';
import { KEYS, type KeyName, type SourceFile } from './source-file';
import type { Target } from './target';

/** What the database has taken over besides the messages that are final. */
export interface HandedOver {
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
 * @throws Error of `pg`, and of SQLite
 */
export function handOver(source: SourceFile, target: Target, progress: MoveProgress): Promise<HandedOver> {
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
    await target.setProgress(source.id, { ...progress, isDone: true });
    return { ...unfinished, quarantined: quarantine.length, ownKeys };
  });
}
