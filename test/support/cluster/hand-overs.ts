import fs from 'node:fs';

/** An event in the moment in which an instance hands it to its flow. */
export interface HandOver {
  /** Name of the instance. */
  instance: string;
  messageId: string;
  deliveryId: string;
  attempt: number;
  again?: 'lease' | 'restart' | 'retry';
  /** Milliseconds of `steadyNow`. */
  at: number;
}

/** What hand-over-log.js has written for one instance, over all lives of its process. */
export class HandOverLog {
  readonly #entries: HandOver[] = [];
  #read = 0;
  #rest = '';

  constructor(
    readonly file: string,
    private readonly instance: string,
  ) {
    fs.writeFileSync(file, '');
  }

  /** Oldest first; what was added since the last look is read. */
  all(): readonly HandOver[] {
    const size = fs.statSync(this.file).size;
    if (size > this.#read) this.#take(this.#piece(size));
    return this.#entries;
  }

  /** Those after a moment of `steadyNow`. */
  since(moment: number): readonly HandOver[] {
    const all = this.all();
    return all.slice(all.findLastIndex(({ at }) => at <= moment) + 1);
  }

  #piece(size: number): string {
    const bytes = Buffer.alloc(size - this.#read);
    const file = fs.openSync(this.file, 'r');
    fs.readSync(file, bytes, 0, bytes.length, this.#read);
    fs.closeSync(file);
    this.#read = size;
    return bytes.toString();
  }

  #take(piece: string): void {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines)
      this.#entries.push({ ...(JSON.parse(line) as Omit<HandOver, 'instance'>), instance: this.instance });
  }
}
