import type { InboxState, QuarantinedMessage, QuarantineSum } from './inbox';
import type { PatientReading } from './patient-reading';
import type { AnyStore } from './store/port';
import { messageOfRow, quarantinedRow, quarantineSum } from './store/quarantined-row';

/** The messages that nothing proved, in the store. */
export class Quarantine {
  #key: Promise<Uint8Array> | undefined;

  constructor(
    private readonly store: AnyStore,
    private readonly reading: PatientReading,
    private readonly state: () => InboxState,
  ) {}

  add(message: QuarantinedMessage): void {
    // What waits for a store that hangs must have a bound.
    if (this.state().durable === false) return;
    this.store.call('quarantine', quarantinedRow(message)).catch(() => undefined);
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
