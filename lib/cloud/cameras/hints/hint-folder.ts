import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { HintFile } from '../../../files';

/** Where what was learned is kept from one run to the next. */
export interface HintOptions {
  /** Made when there is something to be kept; nothing else should lie in it. */
  readonly folder: string;
  /** Hears once that nothing can be kept: that costs the hints, and nothing else. */
  readonly onFault: (error: Error) => void;
}

/** Of the links that were learned, and of the pages on which the cameras stand. */
type Kind = 'links' | 'pages';

const OURS = /^[0-9a-f]{32}\.(?:links|pages)(?:\.new)?$/;
/** Milliseconds: files that no run has touched for so long belong to a cloud or an Agent User that is gone. */
const LONGEST_UNUSED_MS = 30 * 24 * 3600_000;

/** The files of one Agent User at one cloud. Their names are a digest, so that they tell neither. */
export class HintFolder {
  readonly #folder: string;
  readonly #owner: string;

  constructor(folder: string, system: URL, username: string) {
    this.#folder = folder;
    this.#owner = createHash('sha256')
      .update(JSON.stringify([system.href, username]))
      .digest('hex')
      .slice(0, 32);
  }

  file(kind: Kind): HintFile {
    return new HintFile(path.join(this.#folder, `${this.#owner}.${kind}`), `${this.#owner} ${kind}`);
  }

  /** Removes the files of those that are gone. */
  async tidy(): Promise<void> {
    const names = await fs.readdir(this.#folder).catch(() => []);
    const before = Date.now() - LONGEST_UNUSED_MS;
    for (const name of names.filter((candidate) => OURS.test(candidate))) {
      const file = path.join(this.#folder, name);
      const { mtimeMs } = await fs.stat(file).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < before) await fs.rm(file, { force: true }).catch(() => undefined);
    }
  }
}
