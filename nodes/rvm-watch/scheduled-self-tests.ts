import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import type { WebhookFacts } from '../../lib/watch/findings';
import { webhookIds } from '../rvm-webhook-in/problem-registry';
import { findWebhook } from '../rvm-webhook-in/webhook-node';
import { faultOf } from '../support/admin-routes';

/** With its namespace: these texts are those of *webhook in*. */
const FAULT = '@rvm/node-red-remote-monitoring/rvm-webhook-in:rvm-webhook-in.test.fault';
/** After a start others may come first; one that failed is tried again before it is told, and until it works. Milliseconds. */
const FIRST = 5000;
const AGAIN = 20_000;
const LONGEST_WAIT = 60_000;
/** A failure that is over at the next try says nothing. */
const FAILURES = 2;

interface Tested {
  /** As of `performance.now()`. */
  nextAt: number;
  failures: number;
  result: Exclude<WebhookFacts['selfTest'], undefined>;
}

/** Self-tests of all *webhook in* nodes, one after the other, every so often. */
export class ScheduledSelfTests {
  readonly #tested = new Map<string, Tested>();
  #isTesting = false;

  /** @param every milliseconds; 0 = never */
  constructor(
    private readonly RED: NodeAPI,
    private readonly every: number,
  ) {}

  resultOf(webhookId: string): WebhookFacts['selfTest'] {
    return this.every === 0 ? undefined : (this.#tested.get(webhookId)?.result ?? 'unknown');
  }

  /** Tests those whose time has come. */
  testInTime(): void {
    if (this.every === 0 || this.#isTesting) return;
    this.#isTesting = true;
    void this.#testAll().finally(() => (this.#isTesting = false));
  }

  async #testAll(): Promise<void> {
    const ids = webhookIds();
    for (const id of this.#tested.keys()) if (!ids.includes(id)) this.#tested.delete(id);
    for (const id of ids) {
      const tested = this.#tested.get(id) ?? this.#begun(id);
      if (performance.now() >= tested.nextAt) await this.#test(id, tested);
    }
  }

  #begun(id: string): Tested {
    const tested: Tested = { nextAt: performance.now() + FIRST, failures: 0, result: 'unknown' };
    this.#tested.set(id, tested);
    return tested;
  }

  async #test(id: string, tested: Tested): Promise<void> {
    const reason = await this.#failureOf(id);
    tested.failures = reason === undefined ? 0 : tested.failures + 1;
    if (reason === undefined) tested.result = 'well';
    else if (tested.failures >= FAILURES) tested.result = { reason };
    const pause = [this.every, AGAIN, LONGEST_WAIT][Math.min(tested.failures, FAILURES)] ?? LONGEST_WAIT;
    tested.nextAt = performance.now() + Math.min(this.every, pause);
  }

  /** Undefined where the message has come in. */
  async #failureOf(id: string): Promise<string | undefined> {
    try {
      const failed = (await findWebhook(this.RED, id)?.selfTest(true))?.failed;
      return failed && this.RED._(`${FAULT}.${failed.fault}`, { seen: failed.seen });
    } catch (error) {
      return error instanceof RvmError ? error.message : faultOf(error);
    }
  }
}
