import { RvmError } from '../../../lib/error';
import type { Inbox } from '../../../lib/inbox/inbox';
import { readyStations, type ReceivingStation } from '../../../lib/webhook/proof/receiving-station';
import { isScheduledSelfTest, PendingSelfTests, selfTest } from '../../../lib/webhook/self-test';
import type { SelfTestReport } from '../../../lib/webhook/self-test-steps';

/** For connection and answer, in milliseconds. */
const TIMEOUT = 10_000;

export interface OwnSelfTestOptions {
  inbox: Inbox;
  stations: () => readonly ReceivingStation[];
  /** The address that is registered with the service; undefined where there is none yet. */
  url: () => string | undefined;
}

/** The self-tests of one *webhook in*. */
export class OwnSelfTest {
  readonly #pending = new PendingSelfTests();

  constructor(private readonly options: OwnSelfTestOptions) {}

  /** @throws RvmError CONFIG_MISSING where the node, or its station, could not take it */
  async run(isScheduled: boolean): Promise<SelfTestReport> {
    const [station] = readyStations(this.options.stations()).ready;
    const url = this.options.url();
    if (station === undefined || url === undefined) {
      throw new RvmError(
        'CONFIG_MISSING',
        'This webhook cannot take messages yet: the status of the node says why. Deploy it first.',
      );
    }
    const { scheme, secret: phrase, key } = station;
    return selfTest({
      url,
      scheme,
      phrase,
      pending: this.#pending,
      isElsewhere: (messageId) => this.#isElsewhere(key, messageId),
      timeoutMs: TIMEOUT,
      isScheduled,
    });
  }

  /** @returns false where no output is to tell of the message: nobody has asked for that test */
  came(messageId = ''): boolean {
    this.#pending.came(messageId);
    return !isScheduledSelfTest(messageId);
  }

  /** In an inbox of this Node-RED alone, what did not come to this node came to another one of it. @throws RvmError STORE_FAILED */
  async #isElsewhere(station: string, messageId: string): Promise<boolean> {
    const { inbox } = this.options;
    const instances = await inbox.instances();
    return instances.length > 1 && inbox.isKnown(station, messageId);
  }
}
