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

/** Characters of a text that takes time to parse. */
const LONG = 50_000;

/** How often the main thread has made an HMAC, or parsed a long text, while something was done. */
export async function workOfMainThread(
  work: () => Promise<unknown>,
): Promise<{ hmacs: number; parsed: number }> {
  const hmac = mock.method(crypto, 'createHmac');
  const parse = mock.method(JSON, 'parse');
  try {
    await work();
    const parsed = parse.mock.calls.filter(({ arguments: [text] }) => text.length > LONG).length;
    return { hmacs: hmac.mock.callCount(), parsed };
  } finally {
    mock.restoreAll();
  }
}
