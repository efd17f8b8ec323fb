import { chosenFolder } from './chosen-folder';
import type { ClipPlace } from './clip-file';
import { clipName, type ClipSubject } from './clip-name';
import { removeOldFiles } from './old-files';

export interface ClipFolderOptions {
  folder: string;
  /** Days after which clips are removed; 0 for never. */
  keepDays: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Milliseconds between two looks for what is too old. */
const PAUSE = 60 * 60 * 1000;

/** A folder that a user chose for clips. It never grows for ever, where that is wished, and keeps no half clips. */
export class ClipFolder {
  readonly #options: ClipFolderOptions;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #tidying: Promise<void> = Promise.resolve();

  constructor(options: ClipFolderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Where a clip is to stand; to be asked before anything is opened for it. Nothing is made yet.
   * @param below a folder in this one that a message chose; empty for none
   * @throws RvmError BAD_INPUT for a folder that does not exist, is none, cannot be written to, or lies outside
   */
  async place(subject: ClipSubject, below = ''): Promise<ClipPlace> {
    const folder = await chosenFolder(this.#options.folder, below);
    this.#tidy();
    return { folder, name: clipName(subject) };
  }

  /** Resolves once nothing is being removed. */
  tidied(): Promise<void> {
    return this.#tidying;
  }

  /** Beside the work: a folder with many files takes its time. */
  #tidy(): void {
    const now = this.#now();
    if (now - this.#lookedAt < PAUSE) return;
    this.#lookedAt = now;
    const { folder, keepDays } = this.#options;
    this.#tidying = this.#tidying.then(() => removeOldFiles(folder, { keepDays, now }));
  }
}
