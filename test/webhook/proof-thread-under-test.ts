import crypto from 'node:crypto';
import { mock } from 'node:test';
import type { CancelToken } from '../../lib/concurrency/signals';
import type { RawMessage } from '../../lib/webhook/proof/authenticate';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';

/** The thread, behind a gate. */
export class GatedThread extends ProofThread {
  /** Messages that are at the gate, or behind it. */
  asked = 0;
  open: () => void = () => undefined;
  readonly #opened = new Promise<void>((resolve) => (this.open = resolve));

  override async prove(
    message: Pick<RawMessage, 'body' | 'authorization'>,
    stations: readonly ReceivingStation[],
    ending: CancelToken,
  ): ReturnType<ProofThread['prove']> {
    this.asked += 1;
    await this.#opened;
    return super.prove(message, stations, ending);
  }
}

/** What the main thread has asked of node:crypto and of JSON while something was done. */
export interface Work {
  hmacs: number;
  comparisons: number;
  /** Bytes that went into HMACs. */
  hashed: number;
  parsed: string[];
}

export async function workOf(work: () => unknown): Promise<Work> {
  const hmac = mock.method(crypto, 'createHmac');
  const update = mock.method(crypto.Hmac.prototype, 'update');
  const compare = mock.method(crypto, 'timingSafeEqual');
  const parse = mock.method(JSON, 'parse');
  try {
    await work();
    return {
      hmacs: hmac.mock.callCount(),
      comparisons: compare.mock.callCount(),
      hashed: update.mock.calls.reduce((sum, { arguments: [data] }) => sum + Buffer.from(data).length, 0),
      parsed: parse.mock.calls.map(({ arguments: [text] }) => text),
    };
  } finally {
    mock.restoreAll();
  }
}
