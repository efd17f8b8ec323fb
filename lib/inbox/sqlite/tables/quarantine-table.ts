import type { Quarantined, QuarantinedSum } from '../../store/protocol';
import type { Statements } from './statements';

/** Messages kept of one address, and of all: a flood of forgeries from one place leaves room for others. */
const MAX_OF_ADDRESS = 200;
const MAX_MESSAGES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Messages that nothing proved, the oldest of which make room for new ones. */
export class QuarantineTable {
  #bytes: number;

  /** @param clock the clock of the file, in milliseconds */
  constructor(
    private readonly statements: Statements,
    private readonly clock: () => number,
  ) {
    this.#bytes = this.#measure().bytes;
  }

  add({ endpoint, address, facts, bytes }: Quarantined): void {
    this.statements.quarantine.run(endpoint, address, facts, bytes, Math.round(this.clock()));
    this.statements.trimAddress.run(address, MAX_OF_ADDRESS);
    this.statements.trim.run(MAX_MESSAGES);
    this.#bytes += bytes.byteLength;
    // Measured anew only when it may be too much: what was trimmed is counted out then, too.
    while (this.#bytes > MAX_BYTES) {
      const { count, bytes: held } = this.#measure();
      this.#bytes = held;
      if (held > MAX_BYTES) this.statements.trim.run(Math.floor(count * 0.9));
    }
  }

  ofEndpoint(endpoint: string): (Quarantined & { id: number })[] {
    return this.statements.quarantined.all(endpoint).map((row) => ({
      id: Number(row['id']),
      endpoint: String(row['endpoint']),
      address: String(row['address']),
      facts: String(row['facts']),
      bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
    }));
  }

  sums(): QuarantinedSum[] {
    return this.statements.quarantinedSums.all().map((row) => ({
      endpoint: String(row['endpoint']),
      count: Number(row['count']),
      id: Number(row['id']),
      facts: String(row['facts']),
    }));
  }

  releaseUpTo(endpoint: string, id: number): void {
    this.statements.releaseUpTo.run(endpoint, id);
  }

  release(ids: readonly number[]): void {
    for (const id of ids) this.statements.release.run(id);
  }

  /** @param before what was stored before this time, in milliseconds of the clock of the file, goes */
  tidy(before: number): void {
    this.statements.releaseOld.run(before);
  }

  #measure(): { count: number; bytes: number } {
    const row = this.statements.quarantineSize.get();
    return { count: Number(row?.['count'] ?? 0), bytes: Number(row?.['bytes'] ?? 0) };
  }
}
