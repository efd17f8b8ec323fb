import type { MovedMessage } from './moved-message';
import type { MoveProgress } from './move-progress';
import { newThere } from './new-there';
import type { SourceFile } from './source-file';
import type { Target } from './target';

/** Brings all messages of a file that are not there yet; no inbox delivers them for it. Where it was ended before its end, it goes on. */
export class Copying {
  #progress: MoveProgress;

  /**
   * @param progress how far it has come
   * @param isAnew the file may have changed since: what an earlier run has brought is brought once more
   * @param told how many messages of the file have been seen to
   */
  constructor(
    private readonly source: SourceFile,
    private readonly target: Target,
    progress: MoveProgress,
    private readonly isAnew: boolean,
    private readonly told: (count: number) => void,
  ) {
    this.#progress = progress;
  }

  /** @throws Error of `pg`, and of SQLite */
  async run(): Promise<MoveProgress> {
    if (this.isAnew) await this.#dropUnfinished();
    let count = this.source.countUpTo(this.#progress.copied);
    for (const batch of this.source.messages(this.#progress.copied)) {
      await this.#copy(batch);
      count += batch.length;
      this.told(count);
    }
    return this.#progress;
  }

  #dropUnfinished(): Promise<void> {
    const { session } = this.target;
    return session.transaction(false, () => this.target.dropUnfinished(this.source.id));
  }

  /** What was copied and that it was are one transaction: nothing of it is lost or done twice. */
  async #copy(batch: readonly MovedMessage[]): Promise<void> {
    const { target, source } = this;
    const { before, clock, copied } = this.#progress;
    const progress = { ...this.#progress, copied: batch.at(-1)?.sequence ?? copied };
    await target.session.transaction(false, async () => {
      await target.lock(batch);
      await target.drop(batch, before);
      const there = await target.there(batch);
      await target.add(
        source.id,
        newThere(batch, there, (deliveryId) => source.has(deliveryId)),
        clock,
      );
      await target.setProgress(source.id, progress);
    });
    this.#progress = progress;
  }
}
