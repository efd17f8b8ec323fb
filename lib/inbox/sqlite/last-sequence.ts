import fs from 'node:fs';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';

/** The newest message of an inbox: its sequence, and when it was received, in milliseconds since 1970. */
export interface LastMessage {
  sequence: number;
  received: number;
}

/** Between two writings while messages come, in milliseconds. */
const WRITE_EVERY = 1000;

/**
 * The newest message of an inbox, remembered where no copy of its folder takes it along. One that is behind, after a crash,
 * tells less than it could and nothing that is wrong; so it is written now and then, and not synced.
 */
export class LastSequence {
  #known: LastMessage | undefined;
  #writtenAt = -Infinity;

  constructor(private readonly file: string) {
    this.#known = read(file);
  }

  get known(): LastMessage | undefined {
    return this.#known;
  }

  get isDue(): boolean {
    return performance.now() - this.#writtenAt >= WRITE_EVERY;
  }

  /** @param last as the inbox has it on its disk */
  keep(last: LastMessage): void {
    if (last.sequence === this.#known?.sequence) return;
    this.#known = last;
    this.#writtenAt = performance.now();
    const coming = `${this.file}.new`;
    try {
      ensurePrivateFolder(path.dirname(this.file));
      fs.writeFileSync(coming, `${JSON.stringify(last)}\n`, { mode: 0o600 });
      fs.renameSync(coming, this.file);
    } catch {
      // On a full disk: then an older copy would not be noticed.
    }
  }
}

function read(file: string): LastMessage | undefined {
  try {
    const { sequence, received } = JSON.parse(fs.readFileSync(file, 'utf8')) as LastMessage;
    return Number.isSafeInteger(sequence) && Number.isSafeInteger(received)
      ? { sequence, received }
      : undefined;
  } catch {
    return undefined;
  }
}
