import type { QuarantinedMessage, QuarantineSum } from './model';
import type { PatientReading } from './stores';
import type { AnyStore } from './store/port';
import type { StoreHealth } from './store-health';
import { messageOfRow, quarantinedRow, quarantineSum } from './store/stored-message';

/** Bytes of bodies on their way into the store at which no more go there: as many as it keeps. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The messages that nothing proved, in the store. */
export class InboxQuarantine {
  #key: Promise<Uint8Array> | undefined;
  #bytes = 0;

  constructor(
    private readonly store: AnyStore,
    private readonly reading: PatientReading,
    private readonly health: StoreHealth,
  ) {}

  add(message: QuarantinedMessage): void {
    // What waits for a store that hangs must have a bound, also as long as nobody knows that it does.
    const size = message.body.byteLength;
    if (this.health.state.durable === false || this.#bytes + size > MOST_BYTES) return;
    this.#bytes += size;
    this.store
      .call('quarantine', quarantinedRow(message))
      .catch(() => undefined)
      .finally(() => (this.#bytes -= size));
  }

  /** Those of an endpoint. @throws RvmError STORE_FAILED */
  async of(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    return (await this.store.call('quarantined', endpointId)).map(messageOfRow);
  }

  /** @throws RvmError STORE_FAILED */
  async sums(): Promise<QuarantineSum[]> {
    return (await this.reading.read('quarantinedSums', undefined)).map(quarantineSum);
  }

  /** Read once. @throws RvmError STORE_FAILED */
  key(): Promise<Uint8Array> {
    this.#key ??= this.store.call('quarantineKey', undefined).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }
}
