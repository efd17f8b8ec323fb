import type { QuarantinedMessage } from '../inbox/inbox';
import { Allowance } from './allowance';
import type { ClockGuard } from './clock-guard';
import type { Endpoint } from './endpoint';
import { pause } from './hold';
import { courtOf, judge, type Arrival } from './judge';
import { quarantinedMessage, receivedAgain } from './quarantine';
import type { Reporter } from './reporter';
import { judgesAmong, type ReceivingStation } from './station';
import type { Received } from './verify';

export interface QuarantineDeskOptions {
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  clockGuard: ClockGuard;
  reporter: Reporter;
}

/** Unproven messages of one endpoint that are looked at in a second: reading them costs time. */
const PER_SECOND = 20;

/** Keeps what nothing proved, for the day on which the phrase is corrected, and judges it again then. */
export class QuarantineDesk {
  readonly #allowance: Allowance;
  #closed = false;

  constructor(private readonly options: QuarantineDeskOptions) {
    this.#allowance = new Allowance(PER_SECOND, options.steady);
  }

  /** Keeps a copy, where another phrase could prove it. Nobody waits for it: the sender has its answer already. */
  keep(endpoint: Endpoint, proof: Received, { received, sender }: Arrival): void {
    if (!this.#allowance.pass(endpoint.id)) return;
    const request = {
      endpointId: endpoint.id,
      receivedTime: received.toISOString(),
      ...(sender !== undefined && { remoteAddress: sender }),
    };
    endpoint.inbox.quarantineKey().then(
      (key) => {
        const message = quarantinedMessage(proof, request, key);
        if (message !== undefined) endpoint.inbox.quarantine(message);
      },
      () => {
        // Without the store nothing is kept; a real alarm has more right to what is left of it.
      },
    );
  }

  /**
   * Judges once more, with the current phrases, what nothing had proved when it arrived at an endpoint: a phrase may have
   * been wrong on our side. What is proven now is accepted as of its arrival.
   * @returns how many were accepted
   * @throws RvmError STORE_FAILED
   */
  async judgeAgain(endpoint: Endpoint): Promise<number> {
    const { able } = judgesAmong(endpoint.stations());
    const messages = able.length === 0 ? [] : await endpoint.inbox.quarantined(endpoint.id);
    if (messages.length === 0) return 0;
    const key = await endpoint.inbox.quarantineKey();
    let count = 0;
    for (const message of messages) {
      // One by one: an alarm that arrives must not wait for all of them.
      await pause(0);
      if (this.#closed) return count;
      if (await this.#acceptIfProven(endpoint, message, { able, key })) count++;
    }
    if (count > 0)
      this.options.reporter.log(
        `proven ${endpoint.id}`,
        `${count} webhook messages that nothing had proved are proved by a phrase that was corrected, and were accepted.`,
      );
    return count;
  }

  close(): void {
    this.#closed = true;
  }

  async #acceptIfProven(
    endpoint: Endpoint,
    message: QuarantinedMessage & { id: number },
    { able, key }: { able: readonly ReceivingStation[]; key: Uint8Array },
  ): Promise<boolean> {
    const { clockGuard, reporter } = this.options;
    const arrival = { received: new Date(message.receivedTime), sender: message.remoteAddress };
    const court = { ...courtOf(endpoint, able, arrival), clockGuard };
    const judgement = judge(receivedAgain(message, able, key), court);
    if (judgement.kind === 'unauthentic') return false;
    const record = judgement.kind === 'usable' ? judgement.message : judgement.letter;
    const acceptance = await endpoint.inbox.accept(record);
    await endpoint.inbox.release([message.id]);
    reporter.accepted(endpoint, record, acceptance, message.body.byteLength);
    return acceptance.outcome !== 'repeat';
  }
}
